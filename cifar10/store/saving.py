"""Saves checkpoints during a run."""

import contextlib
import os
import time

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.errors import SaveError
from cifar10.errors import UserError
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.util import console


class CheckpointHook(tf.train.SessionRunHook):
  """Saves by time, by steps, before the first step of a run and at the end.

  Not tf.train.CheckpointSaverHook: that saves either by time or by steps,
  writes again over the checkpoint that it has just restored, and names the step
  from before or after the update. This one never saves a variable that is not
  finite, either.
  """

  # The context of each save; the guard of a run puts its own here.
  surrounding = contextlib.nullcontext

  def __init__(self, step, saver, settings):
    """`step` is a tensor, the global step after the train_op."""
    self._step, self.saver, self._settings = step, saver, settings
    self._saved_step = self._saved_time = None
    self._kept = []  # Paths of checkpoints; the first is deleted first.
    self._global_step = tf.train.get_global_step()
    floats = [v for v in tf.global_variables() if v.dtype.is_floating]
    with tf.name_scope('checkpoint'):
      finite = [tf.reduce_all(tf.is_finite(v)) for v in floats]
      self._are_finite = tf.reduce_all(finite)

  def after_create_session(self, session, coord):
    if self._saved_step is not None:
      return  # The session was lost and is made anew.
    directory = self._settings.train_dir
    newest = checkpoints.latest(directory)
    if newest is None:
      self._save(session, session.run(self._global_step))
      return
    # Parameter servers may hold a later step that a killed chief did not save.
    self._saved_step = checkpoints.step(newest)
    self._saved_time = time.monotonic()
    # Steps that the run has gone back from are older than it.
    found = checkpoints.by_step(directory)
    order = sorted(found, key=lambda step: (step <= self._saved_step, step))
    self._kept = [found[step] for step in order]

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._step)

  def after_run(self, run_context, run_values):
    step = run_values.results
    seconds = time.monotonic() - self._saved_time
    every, secs = self._settings.save_steps, self._settings.save_secs
    # At multiples, so that a resumed run saves the steps of one in one piece.
    is_due = every and step // every > self._saved_step // every
    if is_due or (secs and seconds >= secs):
      self._save(run_context.session, step)

  def end(self, session):
    with self.surrounding():
      step = session.run(self._global_step)
      if step != self._saved_step:
        self._save(session, step)

  def check_finite(self, session, step):
    """Raises DivergedError, which names `step`, if a variable is not finite."""
    if not session.run(self._are_finite):
      raise DivergedError(f'a variable is not finite at step {step}')

  def _save(self, session, step):
    directory = self._settings.train_dir
    with self.surrounding():
      self.check_finite(session, step)
      self._saved_step = save_checkpoint(self.saver, session, directory)
      self._saved_time = time.monotonic()
      path = checkpoints.at_step(directory, self._saved_step)
      self._kept = [kept for kept in self._kept if kept != path] + [path]
      while len(self._kept) > self._settings.max_to_keep > 0:
        checkpoint_files.remove(self._kept.pop(0))


class Saver(tf.train.Saver):
  """A saver that also restores checkpoints of old programs.

  Its attribute `named` has pairs (name in checkpoints, variable).
  """

  def __init__(self, variables):
    """Takes a list, or a dict of variables by their names in checkpoints."""
    super().__init__(variables)
    if isinstance(variables, dict):
      self.named = variables.items()
    else:  # The parts of a partitioned variable share its name.
      self.named = [(checkpoints.name_of(v), v) for v in variables]

  def restore(self, sess, save_path):
    reader = tf.train.load_checkpoint(save_path)
    found = reader.get_variable_to_dtype_map()
    if all(found.get(n) == v.dtype.base_dtype for n, v in self.named):
      super().restore(sess, save_path)
      return
    for name, variable in self.named:
      stored = checkpoints.stored_name(name, found)
      if stored in found or not checkpoints.is_optional(name):
        checkpoints.load(variable, reader.get_tensor(stored), sess)
      else:
        sess.run(variable.initializer)


def save_checkpoint(saver, session, directory, note=None):
  """Saves the variables of a session, and names them as the newest checkpoint.

  Its name has the step that it holds: in a cluster, others take steps while it
  is written. `note` is called with its temporary path, before it is renamed.
  Returns the global step. Raises SaveError if it cannot be written, and removes
  what was begun.
  """
  unfinished = f'{checkpoints.prefix(directory)}.tmp{os.getpid()}'
  try:
    saver.save(session, unfinished, write_state=False)
    step = checkpoints.step(unfinished)
    if note is not None:
      note(unfinished)
    checkpoint_files.move_into_place(unfinished, step)
    return step
  except (tf.errors.OpError, OSError, ValueError, UserError) as error:
    with contextlib.suppress(OSError, UserError):
      checkpoint_files.remove_unfinished(directory)
    is_of_op = isinstance(error, tf.errors.OpError)
    problem = console.summary(error) if is_of_op else error
    raise SaveError(
        f'{directory}: a checkpoint cannot be written: {problem}') from error
