"""Makes a checkpoint of weights that another framework has saved.

    cifar10_import_weights weights.npz --out=/tmp/imported

The file holds a NumPy array for each variable, as numpy.savez writes it. The
names are those of PyTorch's state_dict, `conv1.weight`, `conv1.bias` and so on
up to `softmax_linear.weight`, or those of this project, `conv1/weights` and so
on, with the axes in the order of their framework; --map renames layers. What
the checkpoint holds is for --init_from, evaluation, prediction and export; with
--layers='conv[12]' it holds these layers only, and is for --init_from with
--init_scope.
"""

import contextlib
import re
import shlex

import numpy as np

from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import paths

# Of the weights; None may be any number.
_SHAPES = {
    'conv1': (5, 5, None, 64),
    'conv2': (5, 5, 64, 64),
    'local3': (None, 384),
    'local4': (384, 192),
    'softmax_linear': (192, None)
}
# Where the axes of a variable are in PyTorch, which has the outputs first.
_AXES = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
_CHANNELS = 64  # Of the images that local3 takes.


def variables(arrays, renamed, layers=tuple(_SHAPES)):
  """The variables of the model from the arrays of another framework.

  Takes arrays by their names there, and names of layers there by those here;
  returns float32 arrays by their names in a checkpoint. Raises UserError if one
  of `layers` misfits or, with all layers, an array is left over.
  """
  found, left = {}, set(arrays)
  for layer in layers:
    there, shape = renamed.get(layer, layer), _SHAPES[layer]
    for kind, other in (('weights', '.weight'), ('biases', '.bias')):
      name, theirs = f'{there}/{kind}', there + other
      axes = range(len(shape))
      if name not in arrays:
        if theirs not in arrays:
          raise UserError(f'found no {name} and no {theirs}; the arrays are '
                          f'{", ".join(sorted(arrays))}')
        name, axes = theirs, _AXES[len(shape)]
      left.discard(name)
      value = _numbers(arrays[name], name)
      if value.ndim == len(shape):
        value = value.transpose(axes)
        if layer == 'local3' and name == there + '.weight':
          value = _channels_last(value, name)
      if value.ndim != len(shape) or any(
          m not in (n, None) for n, m in zip(value.shape, shape)):
        raise UserError(f'{name}: is {list(value.shape)} in the order of '
                        f'TensorFlow; expected {list(shape)}')
      found[f'{layer}/{kind}'] = value
      shape = value.shape[-1:]  # Of the biases.
  if left and len(layers) == len(_SHAPES):
    raise UserError(f'{", ".join(sorted(left))}: not a variable of the model; '
                    '--map=conv1:NAME renames layers')
  return found


def _numbers(array, name):
  """An array as float32; raises UserError unless it holds finite numbers."""
  is_number = array.dtype.kind in 'fiu'
  if not is_number or not (np.abs(array) <= np.finfo(np.float32).max).all():
    raise UserError(f'{name}: expected numbers that are finite as float32; '
                    f'found others, of type {array.dtype}')
  return array.astype(np.float32)


def _channels_last(value, name):
  """Orders the inputs of local3, [inputs, units], by pixels, not channels."""
  inputs, units = value.shape
  size = round((inputs / _CHANNELS)**0.5)
  if size * size * _CHANNELS != inputs:
    raise UserError(
        f'{name}: has shape {[units, inputs]}; expected {_CHANNELS} inputs for '
        f'each position of a square, such as [384, {6 * 6 * _CHANNELS}]')
  images = value.reshape(_CHANNELS, size, size, units)
  return images.transpose(1, 2, 0, 3).reshape(inputs, units)


def import_weights(args):
  """Writes the checkpoint `args.out` from the arrays in `args.weights`.

  Raises UserError if the file or an array in it is unusable.
  """
  out = paths.check_new_checkpoint_folder(args.out, '--out')
  renamed = dict(pair.partition(':')[::2] for pair in args.map.split(',')
                 if pair)  # yapf: disable
  if not all(renamed.values()) or set(renamed) - set(_SHAPES):
    raise UserError(
        f'--map={args.map}: expected names here and names there, such as '
        'conv1:features.0')
  layers = _chosen(args.layers)
  arrays = _read(args.weights)
  try:
    values = variables(arrays, renamed, layers)
  except UserError as error:
    raise UserError(f'{args.weights}: {error}') from error
  values['global_step'] = np.array(0, np.int64)
  with files.new_folder(out) as folder:
    checkpoints.write(folder, values)
  path = checkpoints.latest(out)
  # A layer that is named must fit; the others begin anew.
  scope = args.layers and f' --init_scope={shlex.quote(args.layers)}'
  print(f'{path} is written. To start from it: '
        f'--init_from={shlex.quote(path)}{scope}')


def _chosen(pattern):
  """The layers whose variables --init_scope=`pattern` takes over."""
  found = []
  with contextlib.suppress(re.error):
    found = [layer for layer in _SHAPES if re.match(pattern, layer + '/')]
  if not found:
    raise UserError(f'--layers={pattern}: expected a regular expression for '
                    f'the beginning of some of {", ".join(_SHAPES)}')
  return found


def _read(path):
  """The arrays in a file, by name."""
  try:
    with files.open_regular(path) as file, np.load(file) as content:
      return dict(content.items())
  except (OSError, UserError):
    raise
  # A damaged file makes NumPy raise many kinds; its texts advise to load any
  # file unsafely.
  except Exception as error:
    raise UserError(f'{path}: is not a file of numpy.savez, or is damaged; '
                    'expected an .npz file of arrays of numbers') from error


def main():
  """The console command."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('weights', help='the .npz file')
  parser.add_argument('--out', required=True,
                      help='folder to write the checkpoint to')
  parser.add_argument(
      '--map', default='',
      help='names of layers that differ in the file: conv1:features.0,...')
  parser.add_argument(
      '--layers', default='',
      help='regular expression for the beginning of the names of the layers to '
      'import, such as conv[12]; empty: all')
  parser.run(import_weights)


if __name__ == '__main__':
  main()
