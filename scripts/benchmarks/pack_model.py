#!/usr/bin/env python
"""Packs the model of a run, to come with the package, and prints its card.

    python scripts/benchmarks/pack_model.py /tmp/cifar10_fast --name=fast

Keeps as few bits of each number as leave the answer to every test image as it
is. The card, in Markdown: precision by class, calibration, confusions.
"""

import argparse
import dataclasses
from pathlib import Path
import sys
import zlib

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import settings as settings_lib
from cifar10.settings import Settings
from cifar10.store import config as config_lib
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import inference_graph
from cifar10.store import checkpoint_arrays
from cifar10.store import checkpoints
from cifar10 import zoo
from cifar10.store import run_state
from cifar10.util import files
import numpy as np
import tensorflow.compat.v1 as tf

_BATCH_SIZE = 500
_FEWEST_BITS = 4
_BINS = 15  # Of the expected calibration error.


class Model:
  """A model whose variables can be changed, and its test images."""

  def __init__(self, directory):
    """Builds the model of the run in `directory`."""
    config = config_lib.load(directory)
    if config is None:
      raise UserError('%s: expected the --train_dir of a run' % directory)
    data = datasets.prepare(config)
    self.classes = data.classes
    self._records = records_lib.load(data.test_files, data.layout)
    self.labels = data.layout.labels(self._records.astype(np.int32))
    with tf.Graph().as_default() as graph:
      self._input, self._model = inference_graph.of_records(
        data, dataclasses.replace(config, precision='float32')
      )
    self._session = tf.Session(graph=graph)

  @property
  def names(self):
    """The names of its variables in checkpoints."""
    return list(self._model.restorations.averaged.variables)

  def probabilities(self, values):
    """float32 [n, classes] with variables of these values, a dict by name."""
    restored = self._model.restorations.averaged.variables
    for name, variable in restored.items():
      variable.load(values[name], self._session)
    return np.concatenate(
      [
        self._session.run(
          self._model.probabilities,
          {self._input: self._records[i : i + _BATCH_SIZE]},
        )
        for i in range(0, len(self._records), _BATCH_SIZE)
      ]
    )


def fewest_bits(model, values, answers):
  """How many bits each number needs for the same answers.

  Args:
    model: Model.
    values: dict of arrays by name.
    answers: int array, [n], the answers with all bits.

  Returns:
    int.
  """
  for bits in range(_FEWEST_BITS, 23):
    shorter = {name: rounded(value, bits) for name, value in values.items()}
    different = (model.probabilities(shorter).argmax(1) != answers).sum()
    print('%d bits: %d answers differ' % (bits, different), file=sys.stderr)
    if not different:
      return bits
  return 23


def rounded(values, bits):
  """Numbers with fewer bits after the first one, which compresses better.

  Args:
    values: array.
    bits: how many to keep, 0 to 23.

  Returns:
    Array of the same shape; the same values if they are not float32.
  """
  dropped = 23 - bits
  if not dropped or values.dtype != np.float32:
    return values
  whole = values.view(np.uint32) + np.uint32(1 << (dropped - 1))
  return (whole >> dropped << dropped).view(np.float32)


def pack(source, values, folder):
  """Makes the directory of a model.

  Args:
    source: the directory of its run.
    values: dict of arrays by name in checkpoints.
    folder: the directory to make.

  Raises:
    UserError: the run has not saved what describes it.
  """
  config, state = config_lib.load(source), run_state.load(source)
  if config is None or state is None:
    raise UserError('%s: expected the --train_dir of a run' % source)
  # Paths and hosts are those of the machine that trained it.
  elsewhere = Settings().of_groups('run', 'cluster', 'transfer')
  elsewhere['data_dir'] = settings_lib.FIELDS['data_dir'].default
  with files.new_folder(folder) as made:
    config_lib.save(dataclasses.replace(config, **elsewhere), made)
    known = run_state.trained_on(state, config)
    dataclasses.replace(state, starts=(), **known).save(made)
    checkpoint_arrays.write(made, values)


def compressed_megabytes(folder):
  """The size of a directory as a wheel holds it, compressed."""
  return (
    sum(len(zlib.compress(path.read_bytes(), 9)) for path in folder.iterdir())
    / 1e6
  )


def card(model, probabilities):
  """Lines of Markdown: what the model is good at, and how sure it is."""
  answers, labels = probabilities.argmax(1), model.labels
  right = answers == labels
  lines = [
    'Precision @ 1: %.2f %% (%d of %d).'
    % (100 * right.mean(), right.sum(), len(right)),
    '',
    '| class | precision | most often taken for |',
    '|---|---:|---|',
  ]
  for number, name in enumerate(model.classes):
    of_class = labels == number
    others = np.bincount(
      answers[of_class & ~right], minlength=len(model.classes)
    )
    lines.append(
      '| %s | %.1f %% | %s, %.1f %% |'
      % (
        name,
        100 * right[of_class].mean(),
        model.classes[others.argmax()],
        100 * others.max() / of_class.sum(),
      )
    )
  sure = probabilities.max(1)
  lines += [
    '',
    'Mean probability of the answer: %.1f %%. Expected calibration error, %d '
    'bins: %.3f.' % (100 * sure.mean(), _BINS, calibration_error(sure, right)),
  ]
  return lines


def calibration_error(sure, right):
  """How far probabilities are from the share of right answers, on average.

  Guo et al., "On Calibration of Modern Neural Networks", arXiv 1706.04599,
  equation 3.

  Args:
    sure: float array, [n], the probability of each answer.
    right: bool array, [n].

  Returns:
    float.
  """
  bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
  return sum(
    abs((right[bins == b] - sure[bins == b]).sum()) for b in range(_BINS)
  ) / len(sure)


def main():
  """Reads the flags, packs the model, prints its card."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('run', help='the --train_dir of a run')
  parser.add_argument('--name', required=True, help='name of the model')
  arguments = parser.parse_args()
  folder = Path(zoo.FOLDER) / arguments.name
  if folder.exists():
    raise UserError('%s: exists; delete it first' % folder)
  run = zoo.directory(arguments.run, 'run')
  model = Settings(run)
  found = checkpoint_arrays.read(checkpoints.find(run))
  values = {
    name: found[checkpoints.held_as(name, found)]
    for name in model.names + ['global_step']
  }
  probabilities = model.probabilities(values)
  bits = fewest_bits(model, values, probabilities.argmax(1))
  pack(
    run,
    {name: rounded(value, bits) for name, value in values.items()},
    str(folder),
  )
  print(
    'Packed %s with %d bits after the first one: %s, %.1f MB compressed.'
    % (arguments.run, bits, folder, compressed_megabytes(folder))
  )
  print('\n'.join(card(model, probabilities)))


if __name__ == '__main__':
  try:
    main()
  except (UserError, OSError) as error:
    sys.exit('pack_model.py: error: %s' % error)
