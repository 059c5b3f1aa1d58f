"""Ensembles: several trained networks, whose probabilities are averaged.

Hansen and Salamon, "Neural Network Ensembles", 1990. The networks may differ in
all but their classes and the size of their images.
"""

import contextlib
from typing import NamedTuple, Tuple

from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble_graph
from cifar10.infer import ensemble_processes
from cifar10.infer import predictions
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints

_FORMS = {
  'graph': ensemble_graph.OneGraph,
  'processes': ensemble_processes.Processes,
}


class Counts(NamedTuple):
  """The result of an evaluation.

  Attributes:
    correct: images that the ensemble labels right.
    total: all images.
    by_network: for each network the images that it labels right, and those that
      it has labeled: fewer than all if it was lost.
  """

  correct: int
  total: int
  by_network: Tuple[Tuple[int, int], ...]


@contextlib.contextmanager
def loaded(settings):
  """The ensemble that the settings name.

  Yields:
    ensemble_graph.OneGraph or ensemble_processes.Processes.

  Raises:
    UserError: a network cannot be loaded, or is of other classes or images.
  """
  members, networks = settings.networks, []
  data = restore.describe(members[0])
  for member in members:
    folder = member.checkpoint_dir
    if predictions.is_export(folder):
      raise UserError(
        '%s: is an export; expected the --train_dir of a run, as an ensemble '
        'is made of runs' % folder
      )
    other = restore.describe(member)
    if (other.classes, other.layout, other.flip) != (
      data.classes,
      data.layout,
      data.flip,
    ):
      raise UserError(
        '%s: has other classes or images than %s; expected networks of one '
        'data set' % (folder, networks[0].folder)
      )
    networks.append(
      ensemble_graph.Network(folder, checkpoints.find(folder), member)
    )
  form = _FORMS[settings.ensemble]
  with contextlib.closing(form(data, networks)) as found:
    yield found


def evaluate(networks, paths, batch_size):
  """Counts what an ensemble, and each of its networks, labels right.

  Args:
    networks: ensemble_graph.OneGraph or ensemble_processes.Processes.
    paths: paths of the files of records.
    batch_size: how many records to label at a time.

  Returns:
    Counts.

  Raises:
    UserError: all networks are lost.
  """
  records = records_lib.load(paths, networks.layout)
  label_bytes = records[:, : networks.layout.label_bytes]
  labels = networks.layout.labels(label_bytes.astype(int))
  correct, by_network = 0, [(0, 0)] * len(networks.folders)
  for start in range(0, len(records), batch_size):
    part = slice(start, start + batch_size)
    answers = networks.answers(records[part])
    correct += ranking.count_right(answers.mean, labels[part])
    for i, probabilities in answers.by_network.items():
      right, labeled = by_network[i]
      by_network[i] = (
        right + ranking.count_right(probabilities, labels[part]),
        labeled + len(probabilities),
      )
  return Counts(correct, len(records), tuple(by_network))
