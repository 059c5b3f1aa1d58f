"""Ensembles: several trained networks, whose probabilities are averaged.

Hansen and Salamon, "Neural Network Ensembles", 1990. The networks may differ in
all but their classes and the size of their images.
"""

import contextlib
from typing import NamedTuple, Tuple

from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble_processes
from cifar10.infer import predictions
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints

_SHARED = ('classes', 'layout', 'flip')  # Of all networks' data sets.


class Counts(NamedTuple):
  """The result of an evaluation."""

  correct: int  # Images that the ensemble labels right.
  total: int  # All images.
  # For each network, images that it labels right and images that it has
  # labeled: fewer than all if it was lost.
  by_network: Tuple[Tuple[int, int], ...]


@contextlib.contextmanager
def loaded(settings):
  """The ensemble that the settings name, a Predictor or Processes.

  Raises UserError if a network cannot be loaded, is an export, or has other
  classes or images than the first.
  """
  found = newest(settings.networks)
  data, networks = None, []
  for member, checkpoint in zip(settings.networks, found):
    other = restore.describe(member)
    data = data or other
    if any(getattr(other, name) != getattr(data, name) for name in _SHARED):
      raise UserError(
          f'{member.checkpoint_dir}: has other classes or images than '
          f'{networks[0].settings.checkpoint_dir}; expected networks of one '
          'data set')
    networks.append(predictions.Network(member, checkpoint))
  form = ensemble_processes.Processes
  if settings.ensemble == 'graph':
    form = predictions.Predictor
  with contextlib.closing(form(data, *networks)) as predictor:
    yield predictor


def newest(networks):
  """The newest checkpoint of each network: a list, for a list of Settings.

  Raises UserError if one is an export, or holds no checkpoint.
  """
  folders = [member.checkpoint_dir for member in networks]
  for folder in folders:
    if predictions.is_export(folder):
      raise UserError(
          f'{folder}: is an export; expected the --train_dir of a run, as an '
          'ensemble is made of runs')
  return [checkpoints.find(folder) for folder in folders]


def evaluate(networks, paths, batch_size):
  """The Counts of an ensemble from `loaded`, for files of records.

  It labels `batch_size` records at a time. Raises UserError if all networks are
  lost.
  """
  records = records_lib.load(paths, networks.layout)
  correct, by_network = 0, [(0, 0)] * len(networks.folders)
  for batch in predictions.batches(records, batch_size):
    labels = ranking.labels_of(batch, networks.layout)
    answers = networks.answers(batch)
    correct += ranking.count_right(answers.mean, labels)
    for i, probabilities in answers.by_network.items():
      right, labeled = by_network[i]
      right += ranking.count_right(probabilities, labels)
      by_network[i] = right, labeled + len(batch)
  return Counts(correct, len(records), tuple(by_network))
