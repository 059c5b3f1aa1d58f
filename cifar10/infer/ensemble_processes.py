"""An ensemble of networks in processes of their own.

Each network asks a queue of this process's server for records, and puts its
probabilities into another one:

      questions_0  -->  network 0  --+
      questions_1  -->  network 1  --+-->  answers
      questions_2  -->  network 2  --+

A network may be lost: the others still answer.
"""

import contextlib
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
from cifar10.infer import ensemble_graph
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
      self._question = (
        tf.placeholder(tf.int64, []),
        tf.placeholder(tf.uint8, [None, None]),
      )
      self._answer = (
        tf.placeholder(tf.int64, []),
        tf.placeholder(tf.int64, []),
        tf.placeholder(tf.float32, [None, None]),
      )
      questions = [
        self._queue(self._question, 'questions_%d' % i) for i in range(count)
      ]
      answers = self._queue(self._answer, 'answers')
      self._ask = [queue.enqueue(self._question) for queue in questions]
      self._asked = [queue.dequeue() for queue in questions]
      self._put = answers.enqueue(self._answer)
      self._taken = answers.dequeue()
      self._session = tf.Session(target, graph=graph)

  def _queue(self, tensors, name):
    return tf.FIFOQueue(-1, [t.dtype for t in tensors], shared_name=name)

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

    Raises:
      tf.errors.DeadlineExceededError: none comes within _ANSWER_SECS.
    """
    options = tf.RunOptions(timeout_in_ms=_ANSWER_SECS * 1000)
    return self._session.run(self._taken, options=options)


def _compute(parent, target, index, count, settings):
  """The work of a process: one network, until the server is gone.

  Args:
    parent: number of the process that has started this one.
    target: where its server is.
    index: number of the network.
    count: how many there are.
    settings: settings.Settings of the network.
  """
  signal.signal(signal.SIGTERM, signal.SIG_DFL)
  threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
  session_settings.start_threads(settings)
  sys.argv[0] = 'network %d' % index
  with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
    sys.exit(
      console.guarded(lambda: _answer_all(target, index, count, settings))
    )


def _end_with(parent):
  """Ends this process when its parent is gone; TensorFlow may not notice."""
  while os.getppid() == parent:
    time.sleep(_LOOK_SECS)
  os._exit(1)


def _answer_all(target, index, count, settings):
  proto = session_settings.config_proto(
    settings, use_gpu=settings.eval_device == 'gpu'
  )
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    predictor = predictions.load(
      session, settings, default_data_dir=settings.data_dir
    )
    with contextlib.suppress(tf.errors.OpError):  # When the server is gone.
      queues = _Queues(target, count)
      queues.answer(_READY, index)
      while True:
        number, records = queues.asked(index)
        queues.answer(number, index, predictor.probabilities(records))


class Processes:
  """Networks in processes of their own, and the server between them.

  Attributes:
    classes: names of the classes, a tuple.
    layout: records.Layout of the records.
    folders: the folders of the networks, a list.
  """

  def __init__(self, data, networks):
    """Starts the processes and waits until all have loaded their networks.

    Args:
      data: datasets.DataSet of all of them.
      networks: list of ensemble_graph.Network.

    Raises:
      UserError: a network cannot be loaded.
    """
    self.classes, self.layout = data.classes, data.layout
    self.folders = [network.folder for network in networks]
    with log_suppression.stderr_held_back():
      self._server = tf.train.Server.create_local_server(
        # The networks may need the memory of the GPUs.
        session_settings.config_proto(networks[0].settings, use_gpu=False)
      )
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
          daemon=True,
        )
        process.start()
        self._processes[i] = process
    self._watcher = threading.Thread(
      target=_watch, args=(self._server.target, dict(self._processes))
    )
    self._watcher.start()
    started = self._collect(_READY)
    # One that has started may have ended while the others did.
    for i in set(range(count)) - (set(started) & set(self._processes)):
      raise UserError(
        '%s: this network ended before all had started; what it says is above'
        % self.folders[i]
      )

  def _collect(self, number):
    """Waits for the answers to a question.

    Args:
      number: number of the question.

    Returns:
      Dict of arrays by the number of the network; those that end without an
      answer are no longer in `_processes`.
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
    """The answers of all networks that are left.

    Args:
      records: uint8 array, [n, record_bytes], n above 0.

    Returns:
      ensemble_graph.Answers.

    Raises:
      UserError: all networks are lost.
    """
    self._number += 1
    before = set(self._processes)
    for network in before:
      self._queues.ask(network, self._number, records)
    found = self._collect(self._number)
    for network in before - set(self._processes):
      print(
        'WARNING: %s: this network is lost; %d of %d are left.'
        % (self.folders[network], len(self._processes), len(self.folders)),
        file=sys.stderr,
      )
    if not found:
      raise UserError('all %d networks are lost' % len(self.folders))
    return ensemble_graph.Answers(np.mean(list(found.values()), axis=0), found)

  def probabilities(self, records):
    """The mean in `answers`."""
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
