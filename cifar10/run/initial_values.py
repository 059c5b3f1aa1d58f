"""Initial values of a new run that no initializer can give.

--init_from takes those of another run: Yosinski et al., "How transferable are
features in deep neural networks?", arXiv 1411.1792. --network=airbench has
whitening filters, made from training images: Jordan, arXiv 2404.00498, section
3.1.
"""

import itertools
import os
import re

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import zoo
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.store import checkpoints
from cifar10.util import graph_keys
from cifar10.util import session_settings

_NUM_IMAGES = 5000  # Training images for the whitening; the paper's number.
_EPSILON = 5e-4  # Limits the gain in directions in which patches hardly differ.


def loader(run):
  """A function of a session that loads a new run's values; None on resume.

  `run` is the trainer.Run of the default graph. Prints which layers get values
  of another run, which do not, and which layers there are left behind. Raises
  UserError if --init_from names no checkpoint, or none of its variables fits,
  or one that --init_scope names does not.
  """
  settings = run.settings
  if not settings.overwrite and checkpoints.latest(settings.train_dir):
    return None
  values = _whitening(run.data, settings) + _transfer(settings)

  def load(session):
    for variable, value in values:
      checkpoints.load(variable, value, session)

  return load


def check_source(settings):
  """Raises UserError if --init_from is not there, or --overwrite deletes it."""
  path, train_dir = settings.init_from, settings.train_dir
  is_resumed = checkpoints.latest(train_dir) and not settings.overwrite
  if not path or is_resumed:
    return
  source = _source(settings)
  inside = os.path.realpath(train_dir) + os.sep
  if settings.overwrite and os.path.realpath(source).startswith(inside):
    raise UserError(
        f'--init_from={path} is in --train_dir={train_dir}, which --overwrite '
        'would delete; give another --train_dir')


def _source(settings):
  """The checkpoint that --init_from names."""
  flag = '--init_from'
  return checkpoints.resolve(zoo.directory(settings.init_from, flag), flag)


def _transfer(settings):
  """Pairs (variable, its average in another run, or else its value there)."""
  if not settings.init_from:
    return []
  source = _source(settings)
  there = checkpoints.read(source)
  model = tf.trainable_variables() + tf.model_variables()
  expected = checkpoints.expected_shapes(model)
  names = _names_there(expected, settings)
  values = {
      here: there.get(checkpoints.averaged_name(name, there))
      for here, name in names.items()
  }
  misfits = _misfits(names, expected, values)
  taken = {n: values[n] for n in values if n not in misfits}
  for name, value in taken.items():
    if not np.isfinite(value).all():
      raise UserError(f'--init_from={source}: {names[name]} is not finite')
  _report(settings, source, taken, misfits)
  if not settings.init_scope:
    left = _layers_with_weights(there) - _layers_with_weights(names.values())
    if left:
      print(printable(f'Left behind: {", ".join(sorted(left))}.'))
  # The averages here start at the values of their variables.
  taken.update({n + checkpoints.AVERAGE: taken[n] for n in list(taken)})
  named = [(v, checkpoints.name_of(v)) for v in tf.global_variables()]
  return [(v, taken[name]) for v, name in named if name in taken]


def _names_there(expected, settings):
  """The names there of variables in --init_scope, a dict by names here."""
  flag = f'--init_map={settings.init_map}'
  names = {n: n for n in expected if re.match(settings.init_scope, n)}
  if not names:
    raise UserError(
        f'--init_scope={settings.init_scope}: names no variable; expected the '
        f'beginning of some of {", ".join(sorted(expected))}')
  for pair in filter(None, settings.init_map.split(',')):
    here, _, there = pair.partition(':')
    if not (here and there):
      raise UserError(f'{flag}: found {pair!r}; expected names here and names '
                      'there, such as conv1:layer1,conv2:layer2')
    mapped = [name for name in expected if f'{name}/'.startswith(f'{here}/')]
    if not mapped:
      layers = sorted({name.partition('/')[0] for name in expected})
      raise UserError(f'{flag}: the model has no {here}; it has '
                      f'{", ".join(layers)}')
    unmapped = [name for name in mapped if names.get(name) == name]
    if not unmapped:
      raise UserError(f'{flag}: {here} is not in --init_scope='
                      f'{settings.init_scope}, or is mapped twice')
    for name in unmapped:
      names[name] = there + name[len(here):]
  return names


def _misfits(names, expected, values):
  """Why variables do not fit, a dict of messages by names here.

  The arguments are dicts by names here: names there, shapes here, and arrays
  there or None. A layer whose weights do not fit is new as a whole.
  """
  misfits = {}
  for name, value in sorted(values.items()):
    if value is None:
      misfits[name] = f'no {names[name]} there'
    elif list(value.shape) != expected[name]:
      misfits[name] = f'{list(value.shape)} there, {expected[name]} here'
  for weights in [name for name in misfits if name.endswith('/weights')]:
    for name in names:
      if name.startswith(weights[:-len('weights')]):
        misfits.setdefault(name, f'{weights} is new')
  return misfits


def _report(settings, source, taken, misfits):
  """Prints which layers start with values of another run, and which do not.

  Raises UserError if none does, or if --init_scope names one that does not.
  """
  for name, misfit in misfits.items():
    if settings.init_scope:
      raise UserError(f'--init_from={source}: {name}: {misfit}')
  if not taken:
    raise UserError(
        f'--init_from={source}: none of its variables fits; expected a run '
        'with the same --network')
  layers = sorted({name.split('/')[0] for name in taken})
  print(f'Initialized {", ".join(layers)} from {source}.')
  for name, misfit in misfits.items():
    print(f'Not taken over: {name} ({misfit}).')


def _layers_with_weights(names):
  """The layers that have weights, a set, from the names of variables."""
  names = [name.replace(checkpoints.AVERAGE, '') for name in names]
  return {n.split('/')[0] for n in names if n.endswith('/weights')}


def _whitening(data, settings):
  """A list of the pair (variable, filters) of a whitening layer, if any."""
  variables = tf.get_collection(graph_keys.WHITENING)
  if not variables:
    return []
  size = variables[0].shape.as_list()[0]  # The same variable in each tower.
  return [(variables[0], whitening_filters(_images(data, settings), size))]


def _images(data, settings):
  """Yields the middles of training images: float32 [n, size, size, depth]."""
  layout = data.layout
  all_records = data.records_to_train_on()[:_NUM_IMAGES]
  size = cifar10_input.crop_size(layout, settings.image_size)
  proto = session_settings.config_proto(settings, use_gpu=False)
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
    middles = distortions.central_crop(records, layout, size,
                                       settings.standardization)
    for batch in records_lib.small_batches(all_records):
      yield session.run(middles, {records: batch})


def whitening_filters(batches, size):
  """Filters whose outputs have a variance of nearly 1, almost uncorrelated.

  `batches` yields float32 images, [n, height, width, depth]; `size` is in
  pixels. Returns float32 [size, size, depth, 2 * size * size * depth]: the
  eigenvectors of the patches' second moments (not centered: standardized pixels
  have a mean near 0), each over the root of its eigenvalue, largest first; then
  their negatives.
  """
  moments, count = 0.0, 0
  for images in batches:
    _, height, width, depth = images.shape
    rows, columns = height - size + 1, width - size + 1
    places = itertools.product(range(size), repeat=2)
    patches = [images[:, y:y + rows, x:x + columns] for y, x in places]
    patches = np.stack(patches, axis=3).reshape([-1, size * size * depth])
    moments, count = moments + patches.T @ patches, count + len(patches)
  eigenvalues, vectors = np.linalg.eigh(moments / count)
  scaled = (vectors / np.sqrt(eigenvalues + _EPSILON))[:, ::-1]
  both = np.concatenate([scaled, -scaled], 1)
  return both.reshape([size, size, depth, -1]).astype(np.float32)
