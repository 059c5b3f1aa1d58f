"""Ensembles: several trained networks, whose probabilities are averaged.

Hansen and Salamon, "Neural Network Ensembles", 1990. All networks have the same
classes and the same size of images; all else may differ.
"""

import contextlib

from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble_processes
from cifar10.infer import precision
from cifar10.infer import predictions
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints

_SHARED = ('classes', 'layout', 'flip')  # Of all networks' data sets.


def load(settings):
  """The ensemble that the settings name, in its graph or its processes.

  Returns a predictions.Predictor, or ensemble_processes.Processes. Raises
  UserError if a network cannot be loaded, is an export, or has other classes or
  images than the first.
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
  return ensemble_processes.Processes(data, *networks)


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
