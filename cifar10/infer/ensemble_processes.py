"""An ensemble of networks in processes of their own.

Each network asks a queue of this process's server for records, and puts its
probabilities into another one:

      questions_0  -->  network 0  --+
      questions_1  -->  network 1  --+-->  answers
      questions_2  -->  network 2  --+

A network may be lost: the others still answer.
"""

import contextlib
import functools
import multiprocessing
from multiprocessing import connection
import os
import signal
import sys
import threading
import time

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.util import console
from cifar10.util import log_suppression
from cifar10.util import session_settings

# Numbers of messages that answer no question: a network has started, or ended.
_READY, _LOST = -1, -2

# A network that takes longer for a batch, or to start, counts as lost.
_ANSWER_SECS = 120

_LOOK_SECS = 1  # Between looks whether the parent is still there.

_END_SECS = 5  # How long a process may take to end.


class _Queues:
  """The queues, as a client of the server sees them, and its session.

  A question has a number and records; an answer has the number of the question,
  that of the network, and probabilities.
  """

  def __init__(self, target, count):
    """Connects to the server `target` of an ensemble of `count` networks."""
    with tf.Graph().as_default() as graph, tf.device('/cpu:0'):
      number, network = (tf.placeholder(tf.int64, []) for _ in range(2))
      records = tf.placeholder(tf.uint8, [None, None])
      probabilities = tf.placeholder(tf.float32, [None, None])
      self._question = number, records
      self._answer = number, network, probabilities

      def fifo(tensors, name):
        return tf.FIFOQueue(-1, [t.dtype for t in tensors], shared_name=name)

      names = [f'questions_{i}' for i in range(count)]
      questions = [fifo(self._question, name) for name in names]
      answers = fifo(self._answer, 'answers')
      self._ask = [queue.enqueue(self._question) for queue in questions]
      self._asked = [queue.dequeue() for queue in questions]
      self._put = answers.enqueue(self._answer)
      self._taken = answers.dequeue()
      self._session = tf.Session(target, graph=graph)

  def ask(self, network, number, records):
    """Asks a network for the probabilities of records."""
    question = dict(zip(self._question, (number, records)))
    self._session.run(self._ask[network], question)

  def asked(self, network):
    """The next question to a network: its number and the records."""
    return self._session.run(self._asked[network])

  def answer(self, number, network, probabilities=((),)):
    """Puts an answer of a network into the queue."""
    answer = dict(zip(self._answer, (number, network, probabilities)))
    self._session.run(self._put, answer)

  def answered(self):
    """The next answer: its number, the network's, and the probabilities.

    Raises DeadlineExceededError if none comes within _ANSWER_SECS.
    """
    options = tf.RunOptions(timeout_in_ms=_ANSWER_SECS * 1000)
    return self._session.run(self._taken, options=options)


def _compute(parent, target, index, count, settings):
  """The work of a process: network `index` of `count`, with its settings.

  Ends with the server at `target` or with the process number `parent`, which
  has started this one.
  """
  signal.signal(signal.SIGTERM, signal.SIG_DFL)
  threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
  session_settings.start_threads(settings)
  sys.argv[0] = f'network {index}'
  answer = functools.partial(_answer_all, target, index, count, settings)
  with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
    sys.exit(console.guarded(answer))


def _end_with(parent):
  """Ends this process when its parent is gone; TensorFlow may not notice."""
  while os.getppid() == parent:
    time.sleep(_LOOK_SECS)
  os._exit(1)


def _answer_all(target, index, count, settings):
  predictor = predictions.load(settings, default_data_dir=settings.data_dir)
  with contextlib.closing(predictor):
    with contextlib.suppress(tf.errors.OpError):  # When the server is gone.
      queues = _Queues(target, count)
      queues.answer(_READY, index)
      while True:
        number, records = queues.asked(index)
        queues.answer(number, index, predictor.probabilities(records))


class Processes:
  """Networks in processes of their own, and the server between them.

  Has the attributes of predictions.Predictor.
  """

  def __init__(self, data, *networks):
    """Starts the processes and waits until all have loaded their networks.

    Takes the arguments of Predictor. Raises UserError if a network cannot be
    loaded.
    """
    self.classes, self.layout = data.classes, data.layout
    self.folders = [network.settings.checkpoint_dir for network in networks]
    with log_suppression.stderr_held_back():
      self._server = tf.train.Server.create_local_server(
          # The networks may need the memory of the GPUs.
          session_settings.config_proto(networks[0].settings, use_gpu=False))
    self._queues = _Queues(self._server.target, len(networks))
    self._number = 0
    self._processes = {}
    self._watcher = None
    try:
      self._start(networks)
    except BaseException:
      self.close()
      raise

  def _start(self, networks):
    context = multiprocessing.get_context('spawn')
    count = len(networks)
    with _without_interrupts():
      for i, network in enumerate(networks):
        process = context.Process(
            target=_compute,
            args=(os.getpid(), self._server.target, i, count, network.settings),
            daemon=True)
        process.start()
        self._processes[i] = process
    self._watcher = threading.Thread(
        target=_watch, args=(self._server.target, dict(self._processes)))
    self._watcher.start()
    started = self._collect(_READY)
    # One that has started may have ended while the others did.
    for i in set(range(count)) - (set(started) & set(self._processes)):
      raise UserError(
          f'{self.folders[i]}: this network ended before all had started; what '
          'it says is above')

  def _collect(self, number):
    """Waits for the answers to question `number`: arrays by network, a dict.

    Removes networks that end without an answer from `_processes`.
    """
    found = {}
    while set(self._processes) - set(found):
      try:
        answered, network, probabilities = self._queues.answered()
      except tf.errors.DeadlineExceededError:
        for network in set(self._processes) - set(found):
          self._processes.pop(network).kill()
        break
      if answered == _LOST:
        self._processes.pop(int(network), None)
      elif answered == number:
        found[int(network)] = probabilities
    return found

  def answers(self, records):
    """The Answers to uint8 records [n, record_bytes], n above 0.

    They are of the networks that are left. Raises UserError if all are lost.
    """
    self._number += 1
    before = set(self._processes)
    for network in before:
      self._queues.ask(network, self._number, records)
    found = self._collect(self._number)
    for network in before - set(self._processes):
      print(
          f'WARNING: {self.folders[network]}: this network is lost; '
          f'{len(self._processes)} of {len(self.folders)} are left.',
          file=sys.stderr)
    if not found:
      raise UserError(f'all {len(self.folders)} networks are lost')
    return predictions.Answers(np.mean(list(found.values()), axis=0), found)

  def probabilities(self, records):
    """The mean probabilities in `answers`."""
    return self.answers(records).mean

  def close(self):
    """Ends the processes."""
    for process in self._processes.values():
      process.terminate()
    for process in self._processes.values():
      process.join(_END_SECS)
      process.kill()
    if self._watcher:
      self._watcher.join(_END_SECS)


def _watch(target, processes):
  """Puts an answer for each process that ends, until all have."""
  queues = _Queues(target, len(processes))
  left = {process.sentinel: i for i, process in processes.items()}
  while left:
    for sentinel in connection.wait(list(left)):
      queues.answer(_LOST, left.pop(sentinel))


@contextlib.contextmanager
def _without_interrupts():
  """Lets processes that start meanwhile ignore Ctrl-C: this one ends them."""
  handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, handler)
