"""Checkpoints on disk: the newest, its step, and whether it fits the graph.

`saving.CheckpointHook` writes them, checkpoint_files.py names and deletes them.
"""

import contextlib
import os
import re

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError

PREFIX = 'model.ckpt'  # What the names of checkpoints begin with.

# What follows the name of a variable in the name of its moving average.
AVERAGE = '/ExponentialMovingAverage'

# The averages of batch normalization's statistics. Older checkpoints have none.
_AVERAGED_STATISTICS = re.compile(
  '/batch_normalization/moving_(mean|variance)%s$' % AVERAGE
)

LOSS_AVERAGE = '/avg'  # What follows the name of a loss likewise.

# The variable that counts steps; and one that was made without a name.
_STEP, _NAMELESS = 'global_step', 'Variable'

# What follows the name of a checkpoint in the names of its files.
FILE_SUFFIX = re.compile(r'\.(index|meta|data-\d{5}-of-\d{5})$')

# The name of a file of a checkpoint, and its step.
_FILE = re.compile(re.escape(PREFIX) + '-(0|[1-9][0-9]*)' + FILE_SUFFIX.pattern)

_FEW_STEPS = 4  # An error lists this many first steps, and as many last ones.


def latest(directory):
  """The newest checkpoint in `directory`; None if there is none."""
  try:
    return tf.train.latest_checkpoint(directory)
  except ValueError:  # The file `checkpoint`, which names it, is damaged.
    return None


def find(directory, wanted=''):
  """The checkpoint that a person asks for.

  Args:
    directory: the training directory of a run.
    wanted: a step, or the path of a checkpoint or of one of its files; empty
      for the newest one.

  Returns:
    The path of the checkpoint.

  Raises:
    UserError: there is no such checkpoint; names the steps of existing ones.
  """
  path = FILE_SUFFIX.sub('', wanted) or latest(directory)
  if wanted.isdecimal():
    path = at_step(directory, int(wanted))
  # TensorFlow 1 raises an error if the folder does not exist.
  folder = os.path.dirname(path or directory) or '.'
  if path and os.path.isdir(folder) and tf.train.checkpoint_exists(path):
    return path
  steps = [str(step) for step in by_step(directory)]
  if wanted:
    problem = '--checkpoint=%s: there is no %s' % (wanted, path)
  elif steps:
    problem = '%s: names no existing checkpoint' % name_file(directory)
  else:
    raise UserError(
      '%s: holds no checkpoint; pass the --train_dir of a run as '
      '--checkpoint_dir' % directory
    )
  if len(steps) > 2 * _FEW_STEPS:
    steps[_FEW_STEPS:-_FEW_STEPS] = ['...']
  raise UserError(
    '%s; the steps of the checkpoints in %s: %s'
    % (problem, directory or '.', ', '.join(steps) or 'none')
  )


def meant_by(path, flag):
  """The checkpoint that a person means: itself, or the newest one of a run.

  Args:
    path: path of a checkpoint, of one of its files, or of a training directory.
    flag: name of the flag, for the error.

  Returns:
    The path of the checkpoint.

  Raises:
    UserError: there is none.
  """
  found = FILE_SUFFIX.sub('', path)
  if os.path.isdir(path):
    found = latest(path)
    if found is None:
      raise UserError('%s=%s: holds no checkpoint' % (flag, path))
  folder = os.path.dirname(found) or '.'
  if not (os.path.isdir(folder) and tf.train.checkpoint_exists(found)):
    raise UserError('%s=%s: there is no such checkpoint' % (flag, path))
  return found


def by_step(directory):
  """The checkpoints in `directory` by the steps in their names.

  Returns:
    dict of paths, in the order of the steps.
  """
  steps = {
    step for step, base in files_in(directory) if base.endswith('.index')
  }
  return {step: at_step(directory, step) for step in sorted(steps)}


def at_step(directory, step):
  """The path of the checkpoint of a step."""
  return '%s-%d' % (prefix(directory), step)


def files_in(directory):
  """Pairs (step, name) of the files of all checkpoints in `directory`."""
  names = os.listdir(directory) if os.path.isdir(directory) else ()
  matches = filter(None, map(_FILE.fullmatch, names))
  return [(int(match.group(1)), match.group(0)) for match in matches]


def written(path):
  """When the checkpoint `path` was written, a Unix time."""
  return os.path.getmtime(path + '.index')


def saved_in(directory):
  """A sentence that says which step is saved last, and where."""
  last = latest(directory)
  if last is None:
    return 'No step is saved in %s' % directory
  return 'Step %d is saved in %s' % (step(last), last)


def prefix(directory):
  """What the names of the checkpoints in `directory` begin with."""
  return os.path.join(directory, PREFIX)


def shapes(path):
  """The shapes of all variables in the checkpoint `path`, by name.

  Raises:
    UserError: it cannot be read.
  """
  with _one_line(path):
    return tf.train.NewCheckpointReader(path).get_variable_to_shape_map()


def averaged(name, names):
  """The name of a variable's moving average, or its own if it has none.

  Args:
    name: name of the variable.
    names: collection of the names in a checkpoint.
  """
  return name + AVERAGE if name + AVERAGE in names else name


def held_as(name, names):
  """The name under which a checkpoint holds what belongs into a variable.

  In older checkpoints, the statistics of batch normalization have no moving
  averages: there they stand for these. Programs of the tutorial's time may
  count steps in a variable without a name.

  Args:
    name: name of the variable in a newer checkpoint.
    names: collection of the names in the checkpoint.
  """
  if name not in names and _AVERAGED_STATISTICS.search(name):
    return name[: -len(AVERAGE)]
  if name == _STEP and name not in names and _NAMELESS in names:
    return _NAMELESS
  return name


def may_lack(name):
  """Whether a run goes on without a variable: it is the average of a loss."""
  return name.endswith(LOSS_AVERAGE)


def step(path):
  """The global step of the checkpoint `path`, as an int.

  Raises:
    UserError: it cannot be read, or holds no global step.
  """
  name = held_as(_STEP, shapes(path))
  if name not in shapes(path):
    raise UserError('%s: holds no global_step' % path)
  with _one_line(path):
    return int(tf.train.load_variable(path, name))


def name_file(directory):
  """The file that names the newest checkpoint in `directory`."""
  return os.path.join(directory, 'checkpoint')


@contextlib.contextmanager
def _one_line(path):
  """What a reader says of a damaged file, as a UserError."""
  try:
    yield
  # TensorFlow 2 turns the errors of its reader into various exceptions.
  except (tf.errors.OpError, LookupError, RuntimeError, ValueError) as error:
    raise UserError('%s: cannot be read: %s' % (path, error)) from error


def expected_shapes(variables):
  """What a checkpoint of `variables` holds: shapes by name.

  Args:
    variables: list of variables. Parts of a partitioned one make a whole.
  """
  expected = {}
  for variable in variables:
    part = _part(variable)
    shape = variable.shape.as_list() if part is None else list(part.full_shape)
    expected[name_of(variable)] = shape
  return expected


def name_of(variable):
  """The name of a variable in checkpoints; of a part, the name of the whole."""
  part = _part(variable)
  return variable.op.name if part is None else part.full_name


def load(variable, value, session):
  """Loads a value into a variable; into a part, its part of the whole value."""
  part = _part(variable)
  if part is not None:
    begins_and_sizes = zip(part.var_offset, part.var_shape)
    value = value[tuple(slice(b, b + n) for b, n in begins_and_sizes)]
  variable.load(value, session)


def _part(variable):
  """What a variable is a part of; None if it is a whole."""
  return variable._get_save_slice_info()  # There is no public name for it.


def check_fits(path, expected_shapes, hint=''):
  """Checks that the checkpoint holds variables, whole and of their shapes.

  Args:
    path: the checkpoint.
    expected_shapes: dict of shapes, as lists, by names in the checkpoint.
    hint: what to say after the name of a variable that is not there.

  Raises:
    UserError: names the first variable that does not fit, or what is damaged.
  """
  found = shapes(path)
  for variable, expected in sorted(expected_shapes.items()):
    name = held_as(variable, found)
    if name not in found:
      raise UserError('%s: holds no variable %s%s' % (path, name, hint))
    if found[name] != expected:
      if name.startswith('local3/biases') and len(found[name]) != len(expected):
        raise UserError(
          '%s: is of --top_layers=%s; this model is of --top_layers=%s'
          % (path, _top_layers(found[name]), _top_layers(expected))
        )
      raise UserError(
        '%s: %s has shape %s; this model expects %s'
        % (path, name, found[name], expected)
      )
    with _one_line(path):  # Verifies the checksum of its content.
      tf.train.load_variable(path, name)


def _top_layers(shape):
  """The --top_layers of a model, by the shape of the biases of local3."""
  return 'full' if len(shape) == 1 else 'local'


def check_newest(directory):
  """Checks that the newest checkpoint, if there is one, fits the graph.

  Raises:
    UserError: it does not.
  """
  checkpoint = latest(directory)
  if checkpoint is not None:
    found, expected = shapes(checkpoint), expected_shapes(tf.global_variables())
    check_fits(
      checkpoint,
      {n: s for n, s in expected.items() if n in found or not may_lack(n)},
      hint='; a run is resumed with the model, --optimizer, --bias_rate, '
      '--softmax_rate and --schedule that it was begun with, or is taken over '
      'by a new one with --init_from',
    )
