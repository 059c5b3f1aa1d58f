"""Ensembles: several trained networks, whose probabilities are averaged.

Hansen and Salamon, "Neural Network Ensembles", 1990. All networks have the same
classes and the same size of images; all else may differ. They share a graph, or
each has a process of its own.
"""

from concurrent import futures
import contextlib
import multiprocessing
import signal
import sys

import numpy as np

from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import precision
from cifar10.infer import predictions
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints
from cifar10.util import console
from cifar10.util import session_settings

_SHARED = ('classes', 'layout', 'flip')  # Of all networks' data sets.

# A network that takes longer to load, or for a batch, counts as lost.
_ANSWER_SECS = 120

# The other process is gone; in the middle of a message, it is a plain OSError.
_PIPE_ENDS = EOFError, OSError


def load(settings):
  """The ensemble that the settings name, in its graph or its processes.

  Returns a predictions.Predictor, or Processes. Raises UserError if a network
  cannot be loaded, is an export, or has other classes or images than the first.
  """
  networks = [*map(predictions.Network, settings.networks, newest(settings))]
  first, *others = settings.networks
  data = restore.describe_data(first)
  for member in others:
    other = restore.describe_data(member)
    if any(getattr(other, name) != getattr(data, name) for name in _SHARED):
      raise UserError(
          f'{member.checkpoint_dir}: has other classes or images than '
          f'{first.checkpoint_dir}; expected networks of one data set')
  if settings.ensemble == 'graph':
    return predictions.Predictor(data, *networks)
  return Processes(data, *networks)


def newest(settings):
  """The newest checkpoint of each network; UserError if one has none."""
  folders = [member.checkpoint_dir for member in settings.networks]
  for folder in folders:
    if predictions.is_export(folder):
      raise UserError(
          f'{folder}: is an export; expected the --train_dir of a run, as an '
          'ensemble is made of runs')
  return [checkpoints.find(folder) for folder in folders]


def evaluate(settings, output):
  """Reports the precision of the ensemble to `output`.

  Raises UserError if a network cannot be loaded, or all are lost on the way.
  """
  if settings.top_k:
    raise UserError(
        f'--top_k={settings.top_k}: an ensemble is evaluated for precision '
        '@ 1 only; leave it out')
  newest(settings)  # Raises before anything is fetched.
  paths = datasets.prepare(settings).files(settings.eval_data)
  with contextlib.closing(load(settings)) as networks:
    records = records_lib.load(paths, networks.layout)
    right, by_network = count_right(networks, records, settings.batch_size)
  precision.report_ensemble(right, len(records), by_network, settings, output)


def count_right(networks, records, batch_size):
  """Counts the images that an ensemble from `load` labels right.

  Returns the number, and by network its folder, its own number, and that of the
  images that it has labeled.
  """
  correct, by_network = 0, [(folder, 0, 0) for folder in networks.folders]
  for batch in records_lib.batches(records, batch_size):
    labels = records_lib.labels(batch, networks.layout)
    answers = networks.answers(batch)
    correct += ranking.count_right(answers.mean, labels)
    for i, probabilities in answers.by_network.items():
      folder, right, labeled = by_network[i]
      right += ranking.count_right(probabilities, labels)
      by_network[i] = folder, right, labeled + len(batch)
  return correct, by_network


class Processes:
  """Networks in processes, used as a predictions.Predictor.

  A pipe leads to each. A network may be lost: the others still answer. Has
  `classes`, `layout`, `folders`, `answers`, `probabilities`, `close`.
  """

  def __init__(self, data, *networks):
    """Starts the processes, and waits until all have loaded their networks."""
    self.classes, self.layout = data.classes, data.layout
    self.folders = [network.settings.checkpoint_dir for network in networks]
    self._processes, self._pipes = {}, {}  # By the numbers of the networks.
    # Each waits for one process; a process that hangs is ended after a while.
    self._threads = futures.ThreadPoolExecutor(len(networks))
    try:
      self._start(data, networks)
      _, late = self._gather(lambda pipe: pipe.recv())
      for i, folder in enumerate(self.folders):
        if i in late:
          raise UserError(
              f'{folder}: this network has not loaded within {_ANSWER_SECS} s; '
              '--ensemble=graph has no such limit')
        if i not in self._processes:
          raise UserError(f'{folder}: this network ended before all had '
                          'started; its error is above')
    except BaseException:
      self.close()
      raise

  def _start(self, data, networks):
    context = multiprocessing.get_context('spawn')
    # Processes that start now ignore Ctrl-C, too: this one ends them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
      for i, network in enumerate(networks):
        self._pipes[i], theirs = context.Pipe()
        process = context.Process(target=_compute, daemon=True,
                                  args=(theirs, data, network, i))
        process.start()
        self._processes[i] = process
        theirs.close()  # Else this end would outlive the process.
    finally:
      signal.signal(signal.SIGINT, handler)

  def _gather(self, work):
    """Calls `work` for all pipes at once: the results by network, a dict.

    Networks that end, or are late, leave `_processes`; also returns the numbers
    of the late ones.
    """
    submit, found, late = self._threads.submit, {}, []
    pending = {i: submit(work, self._pipes[i]) for i in self._processes}
    futures.wait(pending.values(), _ANSWER_SECS)
    for i, result in pending.items():
      try:
        found[i] = result.result(timeout=0)
      except futures.TimeoutError:  # First: from Python 3.11 on, an OSError.
        late.append(i)
        self._end(i)
      except _PIPE_ENDS:
        self._end(i)
    return found, late

  def answers(self, records):
    """The Answers of the networks that are left; UserError if all are lost."""

    def ask(pipe):
      pipe.send(records)
      return pipe.recv()

    before = list(self._processes)
    found, _ = self._gather(ask)
    left = f'{len(found)} of {len(self.folders)} are left'
    for i in before:
      if i not in found:
        print(f'WARNING: {self.folders[i]}: this network is lost; {left}.',
              file=sys.stderr)
    if not found:
      raise UserError(f'all {len(self.folders)} networks are lost')
    return predictions.Answers(np.mean([*found.values()], axis=0), found)

  def probabilities(self, records):
    """The mean probabilities in `answers`."""
    return self.answers(records).mean

  def close(self):
    """Ends the processes."""
    for i in list(self._processes):
      self._end(i)
    self._threads.shutdown()

  def _end(self, i):
    process = self._processes.pop(i)
    process.kill()
    process.join()


def _compute(pipe, data, network, index):
  """The work of a process: Network number `index` answers what a pipe brings.

  Ends with the process at the other end.
  """

  def answer_all():
    predictor = predictions.Predictor(data, network)
    with contextlib.closing(predictor), contextlib.suppress(*_PIPE_ENDS):
      pipe.send(None)  # It has started.
      while True:
        pipe.send(predictor.probabilities(pipe.recv()))

  session_settings.start_threads(network.settings)
  sys.argv[0] = f'network {index}'
  with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
    sys.exit(console.guarded(answer_all))
