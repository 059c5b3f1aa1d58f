"""Makes a trained model sparse: sets small weights to zero.

    cifar10_sparsify /tmp/cifar10_train --keep=0.1 --out=/tmp/sparse

--keep is the share of each layer's weights to keep, the largest ones;
--threshold keeps all weights above a number. Writes a checkpoint that can be
evaluated, and trained further with --hold_zeros. Prints the share of zeros, the
precision and the compressed size, before and after.

Han et al., "Learning both Weights and Connections for Efficient Neural
Networks", arXiv 1506.02626.
"""

import dataclasses
import os
import shlex
import zlib

import numpy as np

from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.infer import restore
from cifar10.settings.field import LARGEST
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import paths

# A weight, its average and the slots of optimizers, which would move it away
# from zero again.
_SUFFIXES = ('', checkpoints.AVERAGE, '/Momentum', '/RMSProp_1', '/Adam',
             '/Ftrl_1', '/Muon')


def sparse_values(values, *, threshold=None, keep=None):
  """Sets small weights to zero, with their averages and slots.

  `values` are arrays by name, all variables of a checkpoint. A weight becomes
  zero up to the absolute value `threshold`; or a share of each layer to `keep`
  does not.
  """
  sparse = dict(values)
  for name, weights in weights_of(values).items():
    size = np.abs(weights)
    limit = threshold
    if keep is not None:
      # The largest weight to lose; -1 if all are kept.
      from_largest = np.append(np.sort(size, axis=None)[::-1], -1.0)
      limit = from_largest[int(round(keep * size.size))]
    for known in {name + suffix for suffix in _SUFFIXES} & set(values):
      sparse[known] = values[known] * (size > limit)
  return sparse


def _layers(values, *ends):
  """Variables of layers: arrays by name, the averages where there are any."""
  names = {name.replace(checkpoints.AVERAGE, '') for name in values}
  names = sorted(name for name in names if name.endswith(ends))
  return {
      name: values[checkpoints.averaged_name(name, values)] for name in names
  }


def weights_of(values):
  """The weights of all layers that are trained: arrays by name."""
  found = _layers(values, '/weights')
  found.pop('whitening/weights', None)
  return found


def share_of_zeros(values):
  """The share of the weights of all layers that are zero."""
  weights = weights_of(values).values()
  return sum((w == 0).sum() for w in weights) / sum(w.size for w in weights)


def _compressed_bytes(values):
  """The size of the weights and biases of all layers, compressed by zlib."""
  arrays = _layers(values, '/weights', '/biases').values()
  return sum(len(zlib.compress(value.tobytes(), 9)) for value in arrays)


def precisions(models, checkpoint, settings):
  """Precision @ 1 on the test images of models, dicts of their variables.

  All have those of `checkpoint`. Returns a list of floats, or of None if there
  are no images; raises UserError if the checkpoint is of another model.
  """
  data = restore.describe_data(settings)
  if not all(os.path.exists(path) for path in data.test_files):
    return [None] * len(models)
  validator = predictions.Validator(data.test_records(), data, settings)
  shapes = {name: v.shape.as_list() for name, v in validator.averages.items()}
  checkpoints.check_fits(checkpoint, shapes)
  found = [validator.correct(model) / validator.total for model in models]
  validator.close()
  return found


def sparsify(args):
  """Writes the sparse checkpoint `args.out` and prints its cost.

  Raises UserError if there is no such checkpoint or run, or --out exists and is
  not an empty folder.
  """
  path = zoo.directory(args.checkpoint, 'CHECKPOINT')
  path = paths.check(path, 'CHECKPOINT', holds_checkpoints=True)
  source = checkpoints.resolve(path, 'CHECKPOINT')
  run_dir = os.path.dirname(source)
  settings, state = config.load(run_dir), run_state.load(run_dir)
  if settings is None or state is None:
    raise UserError(f'{run_dir}: holds no {config.FILE_NAME}; expected the '
                    '--train_dir of a run')
  out = paths.check_new_checkpoint_folder(args.out, '--out')
  restore.announce(source)
  dense = checkpoints.read(source)
  weights = weights_of(dense)
  if not weights:
    raise UserError(f'{source}: holds no weights of layers')
  sparse = sparse_values(dense, threshold=args.threshold, keep=args.keep)
  settings = dataclasses.replace(settings, checkpoint_dir=run_dir,
                                 train_dir=out,
                                 **run_state.trained_on(state, settings))
  models = {'before': dense, 'after': sparse}
  found = precisions(models.values(), source, settings)
  with files.new_folder(out) as folder:
    checkpoints.write(folder, sparse)
    config.save(settings, folder)
    # What was validated and stopped is another model.
    dataclasses.replace(state, validations=(), stopped_at=None).save(folder)
  row = '%-8s %8s %15s %12s'
  print(row % ('', 'zeros', 'precision @ 1', 'compressed'))
  for (name, values), precision in zip(models.items(), found):
    print(row % (name, f'{100 * share_of_zeros(values):.1f} %',
                 'no images' if precision is None else f'{precision:.3f}',
                 f'{_compressed_bytes(values) / 1e6:.2f} MB'))
  # A model of the package is averages only, which no run resumes from.
  flag = '--train_dir' if set(weights) <= set(dense) else '--init_from'
  rest = 'the settings of the run'
  if settings.optimizer == 'muon':  # Its steps fill all weights.
    flag, rest = '--init_from', f'{rest}, with another --optimizer'
  elif flag == '--train_dir' and config.is_last(out, checkpoints.step(source)):
    rest += ', with a larger --max_steps or --epochs'
  print(f'{checkpoints.latest(out)} is written. To train on: '
        f'{flag}={shlex.quote(out)} --hold_zeros, and {rest}.')


def main():
  """The console command."""
  parser = arguments.Parser(__doc__)
  parser.add_argument(
      'checkpoint',
      help='a checkpoint, the --train_dir of a run, or a model of the package '
      'such as pretrained:fast')
  parser.add_argument('--out', required=True,
                      help='folder to write the sparse checkpoint to')
  limit = parser.add_mutually_exclusive_group(required=True)
  limit.add_argument('--threshold', type=float,
                     help='weights up to this size become zero')
  limit.add_argument('--keep', type=float,
                     help='share of the weights of each layer to keep')
  parser.run(sparsify, keep=(0, 1), threshold=(0, LARGEST))


if __name__ == '__main__':
  main()
