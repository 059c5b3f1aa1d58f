"""Makes a trained model sparse: sets small weights to zero.

    python scripts/sparsify.py /tmp/cifar10_train --keep=0.1 --out=/tmp/sparse

Of each layer, --keep keeps a share of the weights, the largest ones;
--threshold keeps those that are larger than a number. Writes a checkpoint that
can be evaluated, and trained further with --hold_zeros. Prints the share of
zeros, the precision and the compressed size, before and after.

Han et al., "Learning both Weights and Connections for Efficient Neural
Networks", arXiv 1506.02626.
"""

import argparse
import dataclasses
import os
import sys
import zlib

import numpy as np

from cifar10 import config as config_lib
from cifar10.data import datasets
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.serving import validation
from cifar10.training import checkpoint_arrays
from cifar10.training import checkpoints
from cifar10.training import pretrained
from cifar10.training import run_state
from cifar10.util import console
from cifar10.util import paths
from cifar10.util.flag_field import LARGEST

# What goes with a weight, and would move it away from zero again: its average,
# and what optimizers add to it.
_STATE_SUFFIXES = (
  checkpoints.AVERAGE,
  '/Momentum',
  '/Adam',
  '/Ftrl_1',
  '/Muon',
)


def sparse_values(values, *, threshold=None, keep=None):
  """Sets small weights to zero, and what goes with them.

  Args:
    values: dict of arrays by name, all variables of a checkpoint.
    threshold: absolute value up to which a weight becomes zero; or None.
    keep: share of the weights of each layer to keep; or None.

  Returns:
    A dict like `values`.
  """
  sparse = dict(values)
  for name in weight_names(values):
    size = np.abs(values[checkpoints.averaged(name, values)])
    limit = threshold
    if keep is not None:
      count = int(round(keep * size.size))
      in_order = np.sort(size, axis=None)[::-1]
      limit = in_order[count] if count < size.size else -1.0
    mask = size > limit
    for suffix in ('',) + _STATE_SUFFIXES:
      if name + suffix in values:
        sparse[name + suffix] = values[name + suffix] * mask
  return sparse


def weight_names(values):
  """The names of the weights of all layers that are trained."""
  return sorted(
    name
    for name in _variable_names(values)
    if name.endswith('/weights') and not name.startswith('whitening/')
  )


def _variable_names(values):
  """The names of variables, also of those of which only averages are there."""
  end = len(checkpoints.AVERAGE)
  return {n[:-end] if n.endswith(checkpoints.AVERAGE) else n for n in values}


def share_of_zeros(values):
  """The share of the weights of all layers that are zero."""
  names = weight_names(values)
  used = [values[checkpoints.averaged(name, values)] for name in names]
  return sum((w == 0).sum() for w in used) / sum(w.size for w in used)


def compressed_bytes(values):
  """How many bytes the weights and biases of all layers take up, by zlib."""
  names = _variable_names(values)
  names = [n for n in names if n.endswith(('/weights', '/biases'))]
  used = [values[checkpoints.averaged(name, values)] for name in names]
  return sum(len(zlib.compress(value.tobytes(), 9)) for value in used)


def precisions(models, config):
  """Precision @ 1 on the test images; None for each if there are none.

  Args:
    models: list of dicts of arrays by name, all variables of checkpoints.
    config: config.Config of the run.

  Returns:
    List of floats or None.

  Raises:
    UserError: the folder of the data set is missing, or it is damaged.
  """
  data = datasets.describe(config.data)
  if not all(os.path.exists(path) for path in data.test_files):
    return [None] * len(models)
  images = records.load(data.test_files, data.layout)
  validator = validation.Validator(images, data, config)
  found = [validator.correct(model) / validator.total for model in models]
  validator.close()
  return found


def sparsify(args):
  """Writes the sparse checkpoint and prints what it costs.

  Args:
    args: argparse.Namespace with the flags.

  Raises:
    UserError: there is no such checkpoint or run, or --out holds something.
  """
  meant = pretrained.directory(args.checkpoint, 'CHECKPOINT')
  meant = paths.check(meant, 'CHECKPOINT', holds_checkpoints=True)
  source = checkpoints.meant_by(meant, 'CHECKPOINT')
  run_dir = os.path.dirname(source)
  config, state = config_lib.load(run_dir), run_state.load(run_dir)
  if config is None or state is None:
    raise UserError(
      '%s: holds no %s; expected the --train_dir of a run'
      % (run_dir, run_state.CONFIG_FILE)
    )
  checkpoint_arrays.check_out(args.out)
  dense = checkpoint_arrays.read(source)
  names = weight_names(dense)
  if not names:
    raise UserError('%s: holds no weights of layers' % source)
  sparse = sparse_values(dense, threshold=args.threshold, keep=args.keep)
  config = config.replace(**run_state.trained_on(state, config.data))
  rows = [
    ('', 'zeros', 'precision @ 1', 'compressed'),
    *map(
      _row,
      ('before', 'after'),
      (dense, sparse),
      precisions([dense, sparse], config),
    ),
  ]
  with checkpoint_arrays.new_run(args.out) as folder:
    checkpoint_arrays.write(folder, sparse)
    config.replace(train_dir=args.out).save(folder)
    # What was validated and stopped is another model.
    dataclasses.replace(state, validations=(), stopped_at=None).save(folder)
  for row in rows:
    print('%-8s %8s %15s %12s' % row)
  # A model of the package is averages only, which no run goes on from.
  flag = '--train_dir' if set(names) <= set(dense) else '--init_from'
  print(
    '%s is written. To train on: %s=%s --hold_zeros, and the settings of the '
    'run.' % (checkpoints.latest(args.out), flag, args.out)
  )


def _row(name, values, found):
  return (
    name,
    '%.1f %%' % (100 * share_of_zeros(values)),
    'no images' if found is None else '%.3f' % found,
    '%.2f MB' % (compressed_bytes(values) / 1e6),
  )


def main():
  """The console command."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    'checkpoint',
    help='a checkpoint, the --train_dir of a run, or a model of the package '
    'such as pretrained:fast',
  )
  parser.add_argument(
    '--out', required=True, help='folder to write the sparse checkpoint to'
  )
  limit = parser.add_mutually_exclusive_group(required=True)
  limit.add_argument(
    '--threshold', type=float, help='weights up to this size become zero'
  )
  limit.add_argument(
    '--keep', type=float, help='share of the weights of each layer to keep'
  )
  console.open_streams()
  console.exit_on_signals()
  args = parser.parse_args()
  if args.keep is not None and not 0 <= args.keep <= 1:
    parser.error('--keep: expected 0 to 1')
  if args.threshold is not None and not 0 <= args.threshold <= LARGEST:
    parser.error('--threshold: expected 0 to %g' % LARGEST)
  sys.exit(console.guarded(lambda: sparsify(args)))


if __name__ == '__main__':
  main()
