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

import re
import shlex

import numpy as np

from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.util import arguments
from cifar10.util import files

# Of the weights, in the order of TensorFlow; None may be any number.
_SHAPES = {
    'conv1': (5, 5, None, 64),
    'conv2': (5, 5, 64, 64),
    'local3': (None, 384),
    'local4': (384, 192),
    'softmax_linear': (192, None)
}
_CHANNELS = 64  # Of the images that local3 takes.


def variables(arrays, renamed, layers=tuple(_SHAPES)):
  """The variables of the model from the arrays of another framework.

  Takes arrays by their names there, and names of layers there by those here;
  returns float32 arrays by their names in a checkpoint. Raises UserError if one
  of `layers` is missing or has another shape, or, of all layers, an array is
  one too many.
  """
  found, left = {}, set(arrays)
  for layer in layers:
    shape = _SHAPES[layer]
    there = renamed.get(layer, layer)
    for kind, other in (('weights', '.weight'), ('biases', '.bias')):
      ours, theirs = f'{there}/{kind}', there + other
      source = ours if ours in arrays else theirs
      if source not in arrays:
        raise UserError(f'found no {ours} and no {theirs}; the arrays are '
                        f'{", ".join(sorted(arrays))}')
      left.discard(source)
      value = np.asarray(arrays[source])
      if value.dtype.kind not in 'fiu':
        raise UserError(f'{source}: holds {value.dtype}; expected numbers')
      if kind == 'weights':
        value = _in_our_order(value, source, layer, is_ours=source == ours)
        expected = [n or m for n, m in zip(shape, value.shape)]
      else:
        expected = expected[-1:]
      if list(value.shape) != expected:
        raise UserError(
            f'{source}: is {list(value.shape)} in the order of TensorFlow; '
            f'expected {expected}')
      with np.errstate(over='ignore'):
        value = value.astype(np.float32)
      if not np.isfinite(value).all():
        raise UserError(f'{source}: holds a number that is not finite as '
                        'float32')
      found[f'{layer}/{kind}'] = value
  if left and len(layers) == len(_SHAPES):
    raise UserError(f'{", ".join(sorted(left))}: not a variable of the model; '
                    '--map=conv1:NAME renames layers')
  return found


def _in_our_order(value, name, layer, is_ours):
  """Weights with their axes as TensorFlow has them.

  PyTorch has the outputs first, [filters, channels, rows, columns] and
  [units, inputs], and flattens an image channel by channel.
  """
  shape, axes = list(value.shape), len(_SHAPES[layer])
  if value.ndim != axes:
    raise UserError(f'{name}: has shape {shape}; expected {axes} axes')
  if is_ours:
    return value
  if axes == 4:
    return value.transpose(2, 3, 1, 0)
  if layer != 'local3':
    return value.transpose()
  units, inputs = shape
  size = int(round((inputs / _CHANNELS)**0.5))
  if size * size * _CHANNELS != inputs:
    raise UserError(
        f'{name}: has shape {shape}; expected {_CHANNELS} inputs for each '
        f'position of a square, such as [384, {6 * 6 * _CHANNELS}]')
  images = value.reshape(units, _CHANNELS, size, size)
  return images.transpose(2, 3, 1, 0).reshape(inputs, units)


def import_weights(args):
  """Writes the checkpoint `args.out` from the arrays in `args.weights`.

  Raises UserError if the file or an array in it is unusable.
  """
  out = checkpoints.check_out(args.out)
  renamed = {}
  for pair in filter(None, args.map.split(',')):
    here, _, there = pair.partition(':')
    if here not in _SHAPES or not there:
      raise UserError(
          f'--map={args.map}: found {pair!r}; expected names here and names '
          'there, such as conv1:features.0')
    renamed[here] = there
  layers = _chosen(args.layers)
  try:
    with files.open_regular(args.weights) as file, np.load(file) as content:
      arrays = dict(content.items())
  except (OSError, UserError):
    raise
  # A damaged file makes NumPy raise many kinds; its texts advise to load any
  # file unsafely.
  except Exception as error:
    raise UserError(
        f'{args.weights}: is not a file of numpy.savez, or is damaged; '
        'expected an .npz file of arrays of numbers') from error
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
  try:
    found = [layer for layer in _SHAPES if re.match(pattern, layer + '/')]
  except re.error as error:
    raise UserError(f'--layers={pattern}: {error}; expected a regular '
                    'expression, such as conv[12]') from error
  if not found:
    raise UserError(f'--layers={pattern}: names no layer; expected the '
                    f'beginning of some of {", ".join(_SHAPES)}')
  return found


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
