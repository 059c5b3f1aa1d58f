"""Checkpoints on disk: the newest, its step, its variables as arrays.

Functions raise UserError if a checkpoint cannot be read. saving.py writes those
of a run, checkpoint_files.py names and deletes them.
"""

import contextlib
import os
import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import console
from cifar10.util import files

PREFIX = 'model.ckpt'  # The names of checkpoints begin with it.

# The end of the name of a moving average, after that of its variable.
AVERAGE = '/ExponentialMovingAverage'

# The variable that counts steps; and the name of one made without a name.
_STEP, _NAMELESS = 'global_step', 'Variable'

# The end of the names of a checkpoint's files.
FILE_SUFFIX = re.compile(r'\.(index|meta|data-\d{5}-of-\d{5})$')

# The name of a file of a checkpoint; its first group is the step. The tutorial
# wrote its first ones, of format V1, into a file without a suffix.
_FILE = re.compile(
    re.escape(PREFIX) + f'-(0|[1-9][0-9]*)({FILE_SUFFIX.pattern})?')

_FEW_STEPS = 4  # An error lists this many first steps, and as many last ones.


def name_file(directory):
  """The file that names the newest checkpoint in `directory`."""
  return os.path.join(directory, 'checkpoint')


def prefix(directory):
  """The beginning of the paths of checkpoints in `directory`."""
  return os.path.join(directory, PREFIX)


def at_step(directory, step):
  """The path of the checkpoint of a step."""
  return f'{prefix(directory)}-{step}'


def files_in(directory):
  """Pairs (step, name) of the files of all checkpoints in `directory`."""
  directory = directory or '.'
  names = os.listdir(directory) if os.path.isdir(directory) else ()
  matches = filter(None, map(_FILE.fullmatch, names))
  return [(int(match.group(1)), match.group(0))
          for match in matches
          if match.group(2) or
          os.path.isfile(os.path.join(directory, match.group(0)))]


def by_step(directory):
  """The paths of the checkpoints in `directory`, a dict in order of steps."""
  steps = {
      step for step, name in files_in(directory)
      if name.endswith('.index') or not FILE_SUFFIX.search(name)
  }
  return {step: at_step(directory, step) for step in sorted(steps)}


def write_time(path):
  """The Unix time at which the checkpoint `path` was written."""
  index = path + '.index'
  return os.path.getmtime(index if os.path.exists(index) else path)


def digest(path):
  """A digest of the values in the checkpoint `path`, wherever it is."""
  return files.sha256(path + '.index')  # It holds checksums of all variables.


def latest(directory):
  """The path of the checkpoint named the newest in `directory`, or None."""
  try:
    return tf.train.latest_checkpoint(directory)
  # The file `checkpoint`, which names it, is damaged, or, with TensorFlow 1,
  # names a folder that is gone.
  except (ValueError, tf.errors.NotFoundError):
    return None


def find(directory, wanted=''):
  """The path of the checkpoint that a person asks for.

  `wanted` is a step of the run in `directory`, the path of a checkpoint or of
  one of its files, or empty for the newest one. Raises UserError, which lists
  the steps of existing checkpoints, if it does not exist.
  """
  path = FILE_SUFFIX.sub('', wanted) or latest(directory)
  if wanted.isdecimal():
    path = at_step(directory, int(wanted))
  elif os.path.isdir(wanted):
    raise UserError(f'--checkpoint={wanted}: is a folder; expected a step or a '
                    'path of a checkpoint, or the folder as --checkpoint_dir')
  if path and exists(path):
    return path
  steps = [str(step) for step in by_step(directory)]
  if wanted:
    problem = f'--checkpoint={wanted}: there is no {path}'
  elif steps:
    problem = f'{name_file(directory)}: names no existing checkpoint'
  else:
    raise UserError(
        f'{directory}: holds no checkpoint; pass the --train_dir of a run as '
        '--checkpoint_dir')
  if len(steps) > 2 * _FEW_STEPS:
    steps[_FEW_STEPS:-_FEW_STEPS] = ['...']
  raise UserError(
      f'{problem}; the steps of the checkpoints in {directory or "."}: ' +
      (', '.join(steps) or 'none'))


def resolve(path, flag):
  """The checkpoint that has a file `path`, or the newest in a folder `path`.

  Raises a UserError that names `flag` if it finds no checkpoint.
  """
  found = latest(path) if os.path.isdir(path) else FILE_SUFFIX.sub('', path)
  if found is None:
    raise UserError(f'{flag}={path}: holds no checkpoint')
  if not exists(found):
    raise UserError(f'{flag}={path}: there is no such checkpoint')
  return found


def exists(path):
  """True if the checkpoint `path` exists; False also if its folder does not."""
  # TensorFlow 1 raises an error if the folder does not exist.
  folder = os.path.dirname(path) or '.'
  return os.path.isdir(folder) and tf.train.checkpoint_exists(path)


def saved_in(directory):
  """A sentence that says which step is saved last, and where."""
  last = latest(directory)
  return (f'Step {step(last)} is saved in {last}'
          if last else f'No step is saved in {directory}')


def averaged_name(name, names):
  """The name of a variable's moving average if `names` has it, else `name`."""
  return name + AVERAGE if name + AVERAGE in names else name


def stored_name(name, names):
  """A variable's name in a checkpoint; old programs gave the step no name."""
  is_nameless = name == _STEP and _STEP not in names and _NAMELESS in names
  return _NAMELESS if is_nameless else name


def is_optional(name):
  """True for a variable that a run resumes without: the average of a loss."""
  return name.endswith('/avg')


@contextlib.contextmanager
def _reading(path):
  """Turns the errors of reading a damaged file into a UserError."""
  try:
    yield
  # TensorFlow 2 turns the errors of its reader into various exceptions.
  except (tf.errors.OpError, LookupError, RuntimeError, ValueError) as error:
    raise UserError(f'{path}: cannot be read: {error}') from error


def shapes(path):
  """The shapes of all variables in the checkpoint `path`, lists by name."""
  with _reading(path):
    return tf.train.NewCheckpointReader(path).get_variable_to_shape_map()


def step(path):
  """The global step of the checkpoint `path`, as an int."""
  found = shapes(path)
  name = stored_name(_STEP, found)
  if name not in found:
    raise UserError(f'{path}: holds no global_step')
  with _reading(path):
    return int(tf.train.load_variable(path, name))


def _part(variable):
  """The slice of a partitioned variable that this is; None if it is a whole."""
  return variable._get_save_slice_info()  # There is no public name for it.


def name_of(variable):
  """The name of a variable in checkpoints; of a part, the name of the whole."""
  part = _part(variable)
  return variable.op.name if part is None else part.full_name


def expected_shapes(variables):
  """Shapes by name in a checkpoint of `variables`; parts of one are joined."""
  expected = {}
  for variable in variables:
    part = _part(variable)
    shape = variable.shape.as_list() if part is None else list(part.full_shape)
    expected[name_of(variable)] = shape
  return expected


def load(variable, value, session):
  """Loads a value into a variable; into a part, its part of the whole value."""
  part = _part(variable)
  if part is not None:
    begins_and_sizes = zip(part.var_offset, part.var_shape)
    value = value[tuple(slice(b, b + n) for b, n in begins_and_sizes)]
  variable.load(value, session)


def check_fits(path, shapes_by_name, hint=''):
  """Checks that a checkpoint holds variables, undamaged and of their shapes.

  The shapes are lists, by names in the checkpoint. Raises UserError, which
  names the first variable that does not fit, with `hint` if it is not there, or
  what is damaged.
  """
  found = shapes(path)
  for variable, expected in sorted(shapes_by_name.items()):
    name = stored_name(variable, found)
    if name not in found and is_optional(name):
      continue
    if name not in found:
      raise UserError(f'{path}: holds no variable {name}{hint}')
    shape = found[name]
    if name.startswith('local3/biases') and len(shape) != len(expected):
      there, here = (
          'full' if len(s) == 1 else 'local' for s in (shape, expected))
      raise UserError(f'{path}: is of --top_layers={there}; this model is of '
                      f'--top_layers={here}')
    if shape != expected:
      raise UserError(
          f'{path}: {name} has shape {shape}; this model expects {expected}')
    with _reading(path):  # Verifies the checksum of its content.
      tf.train.load_variable(path, name)


def check_newest(directory):
  """Raises UserError if the newest checkpoint exists but misfits the graph."""
  checkpoint = latest(directory)
  if checkpoint is not None:
    check_fits(
        checkpoint, expected_shapes(tf.global_variables()),
        hint='; a run is resumed with the model, --freeze, --optimizer, '
        '--bias_rate, --softmax_rate and --schedule that it was begun with, or '
        'is taken over by a new one with --init_from')


def read(path):
  """All variables of the checkpoint `path`: a dict of arrays by name."""
  with _reading(path):
    reader = tf.train.NewCheckpointReader(path)
    names = sorted(reader.get_variable_to_shape_map())
    return {name: reader.get_tensor(name) for name in names}


def write(directory, values):
  """Writes a checkpoint into a folder, and names it the newest one there.

  `values` is a dict of arrays by name, 'global_step' among them. Raises
  UserError if the files cannot be written.
  """
  # A session that sees a GPU would take its memory.
  proto = tf.ConfigProto(device_count={'GPU': 0})
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    # Not as constants: a graph holds 2 GB at most.
    feeds = {tf.placeholder(v.dtype, v.shape): v for v in values.values()}
    variables = {
        name: tf.Variable(initial_value, trainable=False)
        for name, initial_value in zip(values, feeds)
    }
    session.run(tf.global_variables_initializer(), feeds)
    saver = tf.train.Saver(variables, save_relative_paths=True)
    # Fails at a limit of the size of files, for example.
    with console.naming(f'{directory}: cannot be written'):
      saver.save(session, prefix(directory),
                 global_step=int(values['global_step']), write_meta_graph=False)
