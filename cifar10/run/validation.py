"""Validation during training, on held-out images, and its consequences.

The best checkpoint is kept, the learning rate of --schedule=performance falls,
and --early_stopping ends training: Prechelt, "Early Stopping - But When?",
1998.
"""

import dataclasses
import os

import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.infer import precision as precision_lib
from cifar10.optim import schedules
from cifar10.run import train_dir
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state as run_state_lib
from cifar10.store import saving as saving_lib
from cifar10.util import console
from cifar10.util import graph_keys


def best_so_far(folder):
  """Step and precision of the checkpoint in the folder `best`, or None."""
  checkpoint, state = checkpoints.latest(folder), run_state_lib.load(folder)
  if checkpoint is None or state is None:
    return None
  precision = dict(state.kept).get(checkpoints.digest(checkpoint))
  if precision is None:
    return None
  return checkpoints.step(checkpoint), precision


class ValidationHook(tf.train.SessionRunHook):
  """Validates every `validation_steps` steps, and acts on the result."""

  def __init__(self, step, validator, writer, run, saving):
    """Takes a predictions.Validator, an EventFile and the trainer.Run.

    `step` is as for other hooks, see hooks.py; `saving` is the CheckpointHook,
    which must come after this one: a step is validated before it is saved.
    """
    self._step, self._validator, self._writer = step, validator, writer
    self._settings, self._run_state = run.settings, run.state
    self._last_step, self._saving = run.last_step, saving
    self._every = self._settings.validation_steps
    # A step that was saved but not validated, for example because validation
    # hung, is validated at the next start.
    self._validated_step = max(dict(run.state.validations), default=0)
    if run.last_step < self._every and not run.state.validations:
      print(f'WARNING: --validation_steps={self._every}: the run ends at step '
            f'{run.last_step}, before the first validation.')
    self._has_stopped = False
    # Not among the run's own checkpoints.
    self._folder = os.path.join(self._settings.train_dir, train_dir.BEST)
    self._best = best_so_far(self._folder)
    by_name = {v.op.name: v for v in tf.global_variables()}
    self._variables = {name: by_name[name] for name in validator.averages}
    self._falls = tf.get_collection(graph_keys.LEARNING_RATE_FALLS)
    self._global_step = tf.train.get_global_step()

  def after_create_session(self, session, coord):
    self._load_falls(session)
    step = int(session.run(self._global_step))
    precision = dict(self._run_state.validations).get(step)
    if precision is not None:  # TensorBoard drops it at the start of a session.
      self._add_summary(precision, step)
    self._validate(session, step)

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._step)

  def after_run(self, run_context, run_values):
    self._validate(run_context.session, int(run_values.results))
    if self._is_to_stop():
      self._stop(run_context)

  def _validate(self, session, step):
    """Validates the variables if it is due at `step`."""
    if step // self._every <= self._validated_step // self._every:
      return
    self._validated_step = step
    correct = self._validator.correct(session.run(self._variables))
    with self._saving.surrounding():  # The state is saved there, too.
      self._record(session, step, correct)

  def _record(self, session, step, correct):
    """Saves and prints how many images are labeled right at `step`."""
    total = self._validator.total
    precision = correct / total
    validations = self._run_state.validations + ((step, precision),)
    state = dataclasses.replace(self._run_state, validations=validations)
    self._run_state = state
    if self._best is None or precision > self._best[1]:
      self._saving.check_finite(session, step)
      self._best = self._save_best(session, precision), precision
      rank = 'the best so far'
    else:
      rank = 'best: %.3f at step %d' % self._best[::-1]
    print(f'{console.timestamp()}: validation precision @ 1 = {precision:.3f} '
          f'({correct} / {total}, step {step}), {rank}')
    self._add_summary(precision, step)
    self._load_falls(session)
    self._run_state.save(self._settings.train_dir)

  def _add_summary(self, precision, step):
    tag = precision_lib.tag(eval_data='validation')
    value = tf.Summary.Value(tag=tag, simple_value=precision)
    self._writer.add_summary(tf.Summary(value=[value]), step)

  def _is_to_stop(self):
    """True after --early_stopping validations since the best one."""
    limit = self._settings.early_stopping
    if not limit or self._best is None:
      return False
    steps = [step for step, _ in self._run_state.validations]
    return sum(step > self._best[0] for step in steps) >= limit

  def _save_best(self, session, precision):
    """Saves the best checkpoint, as a run of its own; returns its step."""
    os.makedirs(self._folder, exist_ok=True)
    config.save(self._settings, self._folder)
    step = saving_lib.save_checkpoint(
        self._saving.saver, session, self._folder,
        lambda path: self._save_state_of_best((path, precision)))
    for other, path in checkpoints.by_step(self._folder).items():
      if other != step:
        checkpoint_files.remove(path)
    return step

  def _save_state_of_best(self, *replacing, stopped_at=None):
    """Saves the state beside the best checkpoint, with its precision.

    `replacing` is a pair (path, precision) of a checkpoint about to replace it:
    if this process is killed, whichever is there has its own precision.
    """
    path, pairs = checkpoints.latest(self._folder), replacing
    if self._best is not None and path is not None:
      pairs = ((path, self._best[1]), *replacing)
    kept = tuple((checkpoints.digest(path), p) for path, p in pairs)
    dataclasses.replace(self._run_state, kept=kept,
                        stopped_at=stopped_at).save(self._folder)

  def _load_falls(self, session):
    """Loads the number of falls of the learning rate into the graph."""
    validations, patience = self._run_state.validations, self._settings.patience
    for variable in self._falls:
      variable.load(schedules.count_falls(validations, patience), session)

  def _stop(self, run_context):
    """Ends training, with the variables and the step of the best checkpoint."""
    best = checkpoints.latest(self._folder)
    if best is None:
      raise UserError(
          f'{self._folder}: the best checkpoint, of step {self._best[0]}, is '
          'gone; expected it there until training ends')
    self._has_stopped = True
    # Before the best checkpoint becomes the newest: if this process is killed
    # in between, the next one continues from the last step.
    dataclasses.replace(self._run_state,
                        stopped_at=self._best[0]).save(self._settings.train_dir)
    self._saving.saver.restore(run_context.session, best)
    print(f'Stopping: no better validation in {self._settings.early_stopping}. '
          f'Restored the best checkpoint, of step {self._best[0]}.')
    run_context.request_stop()

  def end(self, session):
    self._validator.close()
    self._saving.end(session)  # A run is over once its last step is saved.
    is_over = session.run(self._global_step) >= self._last_step
    if self._best is not None and (self._has_stopped or is_over):
      self._save_state_of_best(stopped_at=self._best[0])
