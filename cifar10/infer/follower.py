"""The checkpoints of a run, followed by an evaluator up to the last one."""

import contextlib
import dataclasses
import os

import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.infer import restore
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import folder_lock

# How long to wait for a checkpoint before looking whether the run is over.
_LOOK_SECS = 10

# The regularizer is part of the loss that is shown.
_SETTINGS_OF_LOSS = ('regularizer', 'l1_scale', 'l2_scale')


class Follower:
  """Follows the run in the `checkpoint_dir` of the settings."""

  def __init__(self, settings):
    """Raises UserError if no checkpoint is there and none can come.

    None is waited for with `run_once`, nor in an export or a file.
    """
    self._settings, self._directory = settings, settings.checkpoint_dir
    self._evaluated = None  # The last checkpoint evaluated, and its step.
    if predictions.is_export(self._directory):
      raise UserError(
          f'{self._directory}: is an export; expected the --train_dir of a '
          'run; cifar10_predict takes exports')
    if os.path.exists(self._directory) and not os.path.isdir(self._directory):
      raise UserError(f'{self._directory}: is not a folder; expected the '
                      '--train_dir of a run')
    if settings.run_once:
      checkpoints.find(self._directory)

  def new_checkpoints(self, data):
    """Yields the newest checkpoint whenever there is a new one.

    Ends when no further one will come. Raises UserError if the file that names
    it is damaged, or the run does not fit `data` and the settings.
    """
    if checkpoints.latest(self._directory) is None:
      print(f'No checkpoint in {self._directory} yet; waiting for one. Ctrl-C '
            'ends.')
    # A run that stops early may end with the checkpoint evaluated before.
    found = tf.train.checkpoints_iterator(
        self._directory, timeout=_LOOK_SECS,
        timeout_fn=lambda: self._evaluated and self._is_over())
    try:
      for checkpoint in found:
        if not self._settings.run_once:
          self._check_run(data)
        if self._evaluated is None:
          restore.announce(checkpoint)
        yield checkpoint
    except ValueError as error:
      raise UserError(f'{checkpoints.name_file(self._directory)}: names no '
                      'checkpoint') from error

  @contextlib.contextmanager
  def unless_deleted(self, checkpoint):
    """Ends the body early if a trainer has deleted the checkpoint meanwhile."""
    try:
      yield
    # Saver.restore raises ValueError if a trainer has just deleted it.
    except (UserError, ValueError, tf.errors.NotFoundError):
      if checkpoints.exists(checkpoint):
        raise
      if self._settings.run_once:
        raise UserError(f'{checkpoint}: was deleted meanwhile') from None
      print(f'{checkpoint} was deleted; looking for the next.')

  def note_evaluated(self, checkpoint, step):
    """Notes an evaluated checkpoint; returns True if no other will follow."""
    is_first = self._evaluated is None
    self._evaluated = checkpoint, step
    if self._is_over():
      return True
    if is_first:
      print(f'Waiting for later checkpoints in {self._directory}. Ctrl-C ends.')
    return False

  def _is_over(self):
    names = (config.FILE_NAME, folder_lock.NAME)
    if not any(os.path.exists(os.path.join(self._directory, n)) for n in names):
      print(f'{self._directory} holds no config.json, which a trainer writes: '
            'not waiting for another checkpoint.')
      return True
    checkpoint, step = self._evaluated
    # If it is not the newest, the run has gone on, or a new one has begun.
    return (checkpoint == checkpoints.latest(self._directory) and
            config.is_last(self._directory, step))

  def _check_run(self, data):
    """Raises UserError if the run is of other classes or another model.

    A trainer may have begun it after the evaluator read its settings.
    """
    settings, run = self._settings, config.load(self._directory)
    if run is None:
      return
    trained = run_state.trained_on(run_state.load(self._directory), run)
    datasets.check_fits(data, dataclasses.replace(settings, **trained))
    for name in _SETTINGS_OF_LOSS:
      built, value = getattr(settings, name), getattr(run, name)
      if built != value:
        print(f'WARNING: the loss is that of --{name}={built}, with which the '
              f'evaluator started; the run has {value}.')
    for name, value in run.of_groups('model').items():
      built = getattr(settings, name)
      if name not in settings.given and built != value:
        raise UserError(
            f'{self._directory}: a run with --{name}={value} has begun since '
            f'the evaluator started with {built}; start it again')
