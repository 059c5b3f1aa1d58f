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
import queue
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

# A question: its number, and records. An answer: numbers of the question and of
# the network, and probabilities.
_QUESTION = [tf.int64, tf.uint8]
_ANSWER = [tf.int64, tf.int64, tf.float32]

# Numbers of answers to no question: a network has started, or ended; no further
# one will come.
_READY, _LOST, _OVER = -1, -2, -3

# A network that takes longer for a batch, or to start, counts as lost.
_ANSWER_SECS = 120

_LOOK_SECS = 1  # How often a process looks whether its parent is still there.
_END_SECS = 5  # How long a process may take to end.


class _Queue:
  """A queue on the server `target`, as a client sees it."""

  def __init__(self, target, name, dtypes):
    with tf.Graph().as_default():
      fifo = tf.FIFOQueue(-1, dtypes, shared_name=name)
      self._values = [*map(tf.placeholder, dtypes)]
      self._enqueue = fifo.enqueue(self._values)
      self._dequeue = fifo.dequeue()
      self._session = tf.Session(target)

  def put(self, *values):
    self._session.run(self._enqueue, dict(zip(self._values, values)))

  def get(self):
    return self._session.run(self._dequeue)

  def close(self):
    self._session.close()


def _compute(parent, target, data, network, index):
  """The work of a process: a Network, number `index`, answers its questions.

  Ends with the server at `target` or with the process number `parent`, which
  has started this one.
  """

  def answer_all():
    predictor = predictions.Predictor(data, network)
    # An error of a queue: the server is gone.
    with contextlib.closing(predictor), contextlib.suppress(tf.errors.OpError):
      questions = _Queue(target, f'questions_{index}', _QUESTION)
      answers = _Queue(target, 'answers', _ANSWER)
      answers.put(_READY, index, ())
      while True:
        number, records = questions.get()
        try:
          probabilities = predictor.probabilities(records)
        except tf.errors.OpError as error:  # Such as too little memory.
          raise UserError(console.summary(error)) from error
        answers.put(number, index, probabilities)

  signal.signal(signal.SIGTERM, signal.SIG_DFL)
  threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
  session_settings.start_threads(network.settings)
  sys.argv[0] = f'network {index}'
  with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
    sys.exit(console.guarded(answer_all))


def _end_with(parent):
  """Ends this process when its parent is gone; TensorFlow may not notice."""
  while os.getppid() == parent:
    time.sleep(_LOOK_SECS)
  os._exit(1)


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
    session_settings.bypass_proxies()
    with log_suppression.stderr_held_back():
      self._server = tf.train.Server.create_local_server(
          # The networks may need the memory of the GPUs.
          session_settings.config_proto(networks[0].settings, use_gpu=False))
    target = self._server.target
    self._questions = [
        _Queue(target, f'questions_{i}', _QUESTION)
        for i in range(len(networks))
    ]
    self._answers = _Queue(target, 'answers', _ANSWER)
    self._arrived = queue.SimpleQueue()
    self._relay = threading.Thread(target=self._receive, daemon=True)
    self._relay.start()
    self._number = 0
    self._processes = {}
    self._watcher = None
    try:
      self._start(data, networks)
    except BaseException:
      self.close()
      raise

  def _start(self, data, networks):
    context, target = multiprocessing.get_context('spawn'), self._server.target
    # Processes that start now ignore Ctrl-C, too: this one ends them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
      for i, network in enumerate(networks):
        process = context.Process(target=_compute,
                                  args=(os.getpid(), target, data, network, i),
                                  daemon=True)
        process.start()
        self._processes[i] = process
    finally:
      signal.signal(signal.SIGINT, handler)
    self._watcher = threading.Thread(target=_watch,
                                     args=(target, dict(self._processes)))
    self._watcher.start()
    started = self._collect(_READY)
    # One that has started may have ended while the others did.
    for i in set(range(len(networks))) - (set(started) & set(self._processes)):
      raise UserError(
          f'{self.folders[i]}: this network ended before all had started; its '
          'error is above')

  def _receive(self):
    """Moves answers to a queue of Python, whose waits Ctrl-C ends."""
    answer = (None,)
    while answer[0] != _OVER:
      answer = self._answers.get()
      self._arrived.put(answer)

  def _collect(self, number):
    """Waits for the answers to question `number`: arrays by network, a dict.

    Removes networks that end without an answer from `_processes`.
    """
    found = {}
    while set(self._processes) - set(found):
      try:
        answered, network, probabilities = self._arrived.get(
            timeout=_ANSWER_SECS)
      except queue.Empty:
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

    Only networks that are left answer. Raises UserError if all are lost.
    """
    self._number += 1
    before = set(self._processes)
    for network in before:
      self._questions[network].put(self._number, records)
    found = self._collect(self._number)
    for network in before - set(self._processes):
      print(
          f'WARNING: {self.folders[network]}: this network is lost; '
          f'{len(self._processes)} of {len(self.folders)} are left.',
          file=sys.stderr)
    if not found:
      raise UserError(f'all {len(self.folders)} networks are lost')
    # In order: the rounding of a mean depends on it.
    mean = np.mean([found[i] for i in sorted(found)], axis=0)
    return predictions.Answers(mean, found)

  def probabilities(self, records):
    """The mean probabilities in `answers`."""
    return self.answers(records).mean

  def close(self):
    """Ends the processes."""
    for process in self._processes.values():
      process.terminate()
    try:
      for process in self._processes.values():
        process.join(_END_SECS)
    finally:  # After another Ctrl-C, too.
      for process in self._processes.values():
        process.kill()
    if self._watcher:
      self._watcher.join(_END_SECS)
    self._answers.put(_OVER, 0, ())
    self._relay.join(_END_SECS)
    for each in (*self._questions, self._answers):
      each.close()


def _watch(target, processes):
  """Puts an answer for each process that ends, until all have."""
  answers = _Queue(target, 'answers', _ANSWER)
  left = {process.sentinel: i for i, process in processes.items()}
  while left:
    for sentinel in connection.wait(list(left)):
      answers.put(_LOST, left.pop(sentinel), ())
