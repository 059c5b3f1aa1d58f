"""Makes a checkpoint of weights that another framework has saved.

    python scripts/import_weights.py weights.npz --out=/tmp/imported

The file holds a NumPy array for each variable, as numpy.savez writes it. The
names are those of PyTorch's state_dict, `conv1.weight`, `conv1.bias` and so on
up to `softmax_linear.weight`, or those of this project, `conv1/weights` and so
on, with the axes in the order of their framework; --map renames layers. What
the checkpoint holds is for --init_from, evaluation, prediction and export.
"""

import argparse
import sys

import numpy as np

from cifar10.errors import UserError
from cifar10.store import checkpoint_arrays
from cifar10.store import checkpoints
from cifar10.util import console

_LAYERS = ('conv1', 'conv2', 'local3', 'local4', 'softmax_linear')
_CHANNELS = 64  # Of the images that local3 takes.


def variables(arrays, renamed):
  """The variables of the model from the arrays of another framework.

  Args:
    arrays: dict of arrays by their names there.
    renamed: dict of names of layers there, by their names here.

  Returns:
    dict of float32 arrays by their names in a checkpoint.

  Raises:
    UserError: one is missing, or is of a shape that does not fit; or there is
      one too many.
  """
  found, used = {}, set()
  for layer in _LAYERS:
    there = renamed.get(layer, layer)
    for kind, name, other in (
      ('weights', there + '/weights', there + '.weight'),
      ('biases', there + '/biases', there + '.bias'),
    ):
      if name not in arrays and other not in arrays:
        raise UserError(
          'found no %s and no %s; the arrays are %s'
          % (name, other, ', '.join(sorted(arrays)))
        )
      source = name if name in arrays else other
      used.add(source)
      value = np.asarray(arrays[source])
      if value.dtype.kind not in 'fiu':
        raise UserError(
          '%s: holds %s; expected numbers' % (source, value.dtype)
        )
      if kind == 'weights':
        value = _in_our_order(value, source, layer, is_ours=source == name)
      found['%s/%s' % (layer, kind)] = value.astype(np.float32)
      _check(found, layer, kind, source, value)
  if set(arrays) - used:
    raise UserError(
      '%s: not a variable of the model; --map=conv1:NAME renames layers'
      % ', '.join(sorted(set(arrays) - used))
    )
  return found


def _in_our_order(value, name, layer, is_ours):
  """Weights with their axes as TensorFlow has them.

  PyTorch has the outputs first: [filters, channels, rows, columns] and
  [units, inputs]. And it flattens an image channel by channel.
  """
  axes = 4 if layer.startswith('conv') else 2
  if value.ndim != axes:
    raise UserError(
      '%s: has shape %s; expected %d axes' % (name, list(value.shape), axes)
    )
  if is_ours:
    return value
  if axes == 4:
    return value.transpose(2, 3, 1, 0)
  if layer != 'local3':
    return value.transpose()
  units, inputs = value.shape
  size = int(round((inputs / _CHANNELS) ** 0.5))
  if size * size * _CHANNELS != inputs:
    raise UserError(
      '%s: has shape %s; expected %d inputs for each position of a square, '
      'such as [384, %d]'
      % (name, list(value.shape), _CHANNELS, 6 * 6 * _CHANNELS)
    )
  images = value.reshape(units, _CHANNELS, size, size)
  return images.transpose(2, 3, 1, 0).reshape(inputs, units)


def _check(found, layer, kind, name, value):
  """Checks the shape of an array by those of the layers before."""
  if kind == 'biases':
    expected = [found[layer + '/weights'].shape[-1]]
  else:
    inputs = value.shape[-2]
    expected = {
      'conv1': [5, 5, inputs, 64],
      'conv2': [5, 5, 64, 64],
      'local3': [inputs, 384],
      'local4': [384, 192],
      'softmax_linear': [192, value.shape[-1]],
    }[layer]
  if list(value.shape) != expected:
    raise UserError(
      '%s: is %s in the order of TensorFlow; expected %s'
      % (name, list(value.shape), expected)
    )


def import_weights(args):
  """Writes the checkpoint.

  Args:
    args: argparse.Namespace with the flags.

  Raises:
    UserError: the file or an array in it is unusable.
  """
  renamed = {}
  for pair in filter(None, args.map.split(',')):
    here, _, there = pair.partition(':')
    if here not in _LAYERS or not there:
      raise UserError(
        '--map=%s: found %r; expected names here and names there, such as '
        'conv1:features.0' % (args.map, pair)
      )
    renamed[here] = there
  try:
    with np.load(args.weights) as content:
      arrays = dict(content.items())
  except OSError:
    raise
  except Exception as error:  # A damaged file makes NumPy raise many kinds.
    raise UserError(
      '%s: is not a file of numpy.savez: %s' % (args.weights, error)
    ) from error
  try:
    values = variables(arrays, renamed)
  except UserError as error:
    raise UserError('%s: %s' % (args.weights, error)) from error
  values['global_step'] = np.array(0, np.int64)
  with checkpoint_arrays.new_run(args.out) as folder:
    checkpoint_arrays.write(folder, values)
  path = checkpoints.latest(args.out)
  print('%s is written. To start from it: --init_from=%s' % (path, path))


def main():
  """The console command."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('weights', help='the .npz file')
  parser.add_argument(
    '--out', required=True, help='folder to write the checkpoint to'
  )
  parser.add_argument(
    '--map',
    default='',
    help='names of layers there that differ: conv1:features.0,...',
  )
  console.open_streams()
  console.exit_on_signals()
  args = parser.parse_args()
  sys.exit(console.guarded(lambda: import_weights(args)))


if __name__ == '__main__':
  main()
