#!/usr/bin/env python
"""Packs the model of a run, to come with the package, and prints its card.

    python scripts/benchmarks/pack_model.py /tmp/cifar10_fast --name=fast

Keeps the fewest bits of each number that leave the answers to all test images
unchanged. The card, in Markdown: recall by class, calibration, confusions.
"""

import contextlib
import dataclasses
from pathlib import Path
import sys
import zlib

import package_path
from cifar10 import settings as settings_lib
from cifar10 import zoo
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files
import numpy as np

_BATCH_SIZE = 500
_FEWEST_BITS = 4
_BINS = 15  # Of the expected calibration error.


def fewest_bits(predict, values):
  """The fewest bits of each number with which all answers stay the same.

  `predict` is a function of values, a dict of arrays by name, that returns
  probabilities.
  """
  answers = predict(values).argmax(1)
  for bits in range(_FEWEST_BITS, 23):
    shorter = {name: rounded(value, bits) for name, value in values.items()}
    different = (predict(shorter).argmax(1) != answers).sum()
    print(f'{bits} bits: {different} answers differ', file=sys.stderr)
    if not different:
      return bits
  return 23


def rounded(values, bits):
  """An array with `bits`, 0 to 23, after the first one of each float32.

  That compresses better. An array of another type is returned as it is.
  """
  dropped = 23 - bits
  if not dropped or values.dtype != np.float32:
    return values
  whole = values.view(np.uint32) + np.uint32(1 << (dropped - 1))
  return (whole >> dropped << dropped).view(np.float32)


def pack(settings, state, values, folder):
  """Makes the directory of a model from what its run has saved.

  `values` are arrays by name in checkpoints.
  """
  # Paths and hosts are those of the machine that trained it.
  elsewhere = Settings().of_groups('running', 'cluster', 'transfer')
  elsewhere['data_dir'] = settings_lib.FIELDS['data_dir'].default
  with files.new_folder(folder) as made:
    config.save(dataclasses.replace(settings, **elsewhere), made)
    known = run_state.trained_on(state, settings)
    dataclasses.replace(state, starts=(), **known).save(made)
    checkpoints.write(made, values)


def compressed_megabytes(folder):
  """The size of a directory as a wheel holds it, compressed."""
  contents = (path.read_bytes() for path in folder.iterdir())
  return sum(len(zlib.compress(content, 9)) for content in contents) / 1e6


def card(classes, labels, probabilities):
  """Text in Markdown: recall by class, confusions, calibration."""
  answers = probabilities.argmax(1)
  right = answers == labels
  rows = []
  for number, name in enumerate(classes):
    of_class = labels == number
    others = np.bincount(answers[of_class & ~right], minlength=len(classes))
    share = others.max() / of_class.sum()
    rows.append([
        name, f'{100 * right[of_class].mean():.1f} %',
        f'{classes[others.argmax()]}, {100 * share:.1f} %'
    ])
  sure = probabilities.max(1)
  error = calibration_error(sure, right)
  heads = ['class', 'recall', 'most often taken for']
  return (
      f'Precision @ 1: {100 * right.mean():.2f} % ({right.sum()} of '
      f'{len(right)}).\n\n{variants.table(heads, rows, right=(1,))}\n\n'
      f'Mean probability of the answer: {100 * sure.mean():.1f} %. Expected '
      f'calibration error, {_BINS} bins: {error:.3f}.')


def calibration_error(sure, right):
  """The mean distance of probabilities from the share of right answers.

  Guo et al., "On Calibration of Modern Neural Networks", arXiv 1706.04599,
  equation 3.

  Args:
    sure: float array, [n], the probability of each answer.
    right: bool array, [n].
  """
  bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
  return sum(
      abs((right[bins == b] - sure[bins == b]).sum())
      for b in range(_BINS)) / len(sure)


def pack_model(args):
  """Packs the model and prints its card.

  Raises UserError if there is a model of that name, or no such run.
  """
  folder = Path(zoo.FOLDER) / args.name
  if folder.exists():
    raise UserError(f'{folder}: exists; delete it first')
  run = zoo.directory(args.run, 'run')
  settings, state = config.load(run), run_state.load(run)
  if settings is None or state is None:
    raise UserError(f'{run}: expected the --train_dir of a run')
  data = datasets.prepare(settings)
  network = predictions.Network(
      dataclasses.replace(settings, precision='float32'))
  records = records_lib.load(data.test_files, data.layout)
  found = checkpoints.read(checkpoints.find(run))
  with contextlib.closing(predictions.Predictor(data, network)) as predictor:

    def predict(values):
      predictor.load(values)
      batches = records_lib.batches(records, _BATCH_SIZE)
      return np.concatenate([*map(predictor.probabilities, batches)])

    values = {
        name: found[checkpoints.stored_name(name, found)]
        for name in [*predictor.averages, 'global_step']
    }
    probabilities = predict(values)
    bits = fewest_bits(predict, values)
  short = {name: rounded(value, bits) for name, value in values.items()}
  pack(settings, state, short, str(folder))
  print(f'Packed {args.run} with {bits} bits after the first one: {folder}, '
        f'{compressed_megabytes(folder):.1f} MB compressed.')
  labels = records_lib.labels(records, data.layout)
  print(card(data.classes, labels, probabilities))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('run', help='the --train_dir of a run')
  parser.add_argument('--name', required=True, help='name of the model')
  parser.run(pack_model)
