"""Whole checkpoints as arrays: read and written without a model."""

import contextlib
import os

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.util import files
from cifar10.util import paths


def read(path):
  """All variables of the checkpoint `path`: a dict of arrays by name.

  Raises:
    UserError: it cannot be read.
  """
  names = checkpoints.shapes(path)
  checkpoints.check_fits(path, names)
  return {name: tf.train.load_variable(path, name) for name in names}


def check_out(directory):
  """Checks that `directory`, from --out, is free for a run.

  A folder that is made elsewhere takes its place, see `files.new_folder`.

  Raises:
    UserError: it is something else than a new or empty folder, or TensorFlow
      would not find checkpoints there.
  """
  paths.check(directory, '--out', holds_checkpoints=True)
  is_own = not os.path.islink(directory) and not os.path.ismount(directory)
  is_empty = os.path.isdir(directory) and not os.listdir(directory)
  if os.path.lexists(directory) and not (is_own and is_empty):
    raise UserError(
      '--out=%s: exists; expected a new or empty folder, not a link or a mount'
      % directory
    )


@contextlib.contextmanager
def new_run(directory):
  """Makes the directory of a run, which appears when it is complete.

  Args:
    directory: new or empty, see `check_out`.

  Yields:
    The path of the folder to fill.

  Raises:
    OSError: it cannot be made.
    UserError: it holds something.
  """
  check_out(directory)
  with files.new_folder(directory) as folder:
    yield folder


def write(directory, values):
  """Writes a checkpoint, and names it the newest one of its directory.

  Args:
    directory: an existing folder.
    values: dict of arrays by name, 'global_step' among them.
  """
  # A session that sees a GPU would take its memory.
  proto = tf.ConfigProto(device_count={'GPU': 0})
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    # Not as constants: a graph holds 2 GB at most.
    variables = {
      name: tf.Variable(
        tf.zeros(value.shape, value.dtype), name=name, trainable=False
      )
      for name, value in values.items()
    }
    session.run(tf.global_variables_initializer())
    for name, variable in variables.items():
      variable.load(values[name], session)
    saver = tf.train.Saver(variables, save_relative_paths=True)
    saver.save(
      session,
      checkpoints.prefix(directory),
      global_step=int(values['global_step']),
      write_meta_graph=False,
    )
