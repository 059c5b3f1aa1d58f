"""What follows from the precision on images that are held out of training.

The best checkpoint is kept, the learning rate of --schedule=performance falls,
and --early_stopping ends training: Prechelt, "Early Stopping - But When?",
1998.
"""

import dataclasses
import os

import tensorflow.compat.v1 as tf

from cifar10.training import checkpoints
from cifar10.training import hooks
from cifar10.training import schedules
from cifar10.training import train_dir
from cifar10.util import summaries


def best_of(validations):
  """The first of the best ones.

  Args:
    validations: pairs (step, precision), in order, at least one.
  """
  return max(validations, key=lambda pair: (pair[1], -pair[0]))


def count_since_best(validations):
  """How many validations came after the best one."""
  return len(validations) - 1 - validations.index(best_of(validations))


class ValidationHook(tf.train.SessionRunHook):
  """Validates every `validation_steps` steps, and acts on the result."""

  def __init__(self, step, validator, writer, config, run_state):
    """Makes the hook.

    Args:
      step: the global step after the train_op, a tensor.
      validator: serving.validation.Validator.
      writer: event_file.EventFile.
      config: config.Config.
      run_state: run_state.RunState.
    """
    self._step = step
    self._validator = validator
    self._writer = writer
    self._config = config
    self._run_state = run_state
    self._every = config.validation.validation_steps
    self._validated_step = None
    # Beside the run's own checkpoints: the best one, and what describes it.
    self._folder = os.path.join(config.run.train_dir, train_dir.BEST)

  def begin(self):
    self._saver = tf.train.Saver(max_to_keep=1, save_relative_paths=True)
    by_name = {v.op.name: v for v in tf.global_variables()}
    self._variables = {name: by_name[name] for name in self._validator.names}
    self._falls = tf.get_collection(schedules.FALLS)
    self._global_step = tf.train.get_global_step()

  def after_create_session(self, session, coord):
    self._validated_step = session.run(self._global_step)
    best = checkpoints.latest(self._folder)
    if best is not None:
      self._saver.recover_last_checkpoints([best])
    self._load_falls(session)

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._step)

  def after_run(self, run_context, run_values):
    step = int(run_values.results)
    if step // self._every > self._validated_step // self._every:
      self._validated_step = step
      self._validate(run_context, step)

  def _validate(self, run_context, step):
    session, total = run_context.session, self._validator.total
    correct = self._validator.correct(session.run(self._variables))
    validations = self._run_state.validations + ((step, correct / total),)
    best_step, best = best_of(validations)
    print(
      '%s: validation precision @ 1 = %.3f (%d / %d, step %d), %s'
      % (
        hooks.timestamp(),
        correct / total,
        correct,
        total,
        step,
        'the best so far'
        if best_step == step
        else 'best: %.3f at step %d' % (best, best_step),
      )
    )
    tag = summaries.precision_tag(eval_data='validation')
    value = tf.Summary.Value(tag=tag, simple_value=correct / total)
    self._writer.add_summary(tf.Summary(value=[value]), step)
    self._run_state = dataclasses.replace(
      self._run_state, validations=validations
    )
    if best_step == step:
      self._keep(session, step)
    self._load_falls(session)
    limit = self._config.optimization.early_stopping
    if limit and count_since_best(validations) >= limit:
      self._stop(run_context, best_step)
    self._run_state.save(self._config.run.train_dir)

  def _keep(self, session, step):
    """Saves the best checkpoint, with what the other programs need to know."""
    os.makedirs(self._folder, exist_ok=True)
    self._config.save(self._folder)
    self._run_state.save(self._folder)
    self._saver.save(
      session,
      checkpoints.prefix(self._folder),
      global_step=step,
      write_meta_graph=False,
    )

  def _load_falls(self, session):
    """Tells the graph how often the learning rate has fallen."""
    for variable in self._falls:
      count = schedules.count_falls(
        self._run_state.validations, self._config.schedule.patience
      )
      variable.load(count, session)

  def _stop(self, run_context, best_step):
    """Ends training; the last checkpoint is the best one."""
    path = '%s-%d' % (checkpoints.prefix(self._folder), best_step)
    self._saver.restore(run_context.session, path)
    self._run_state = dataclasses.replace(self._run_state, stopped_at=best_step)
    print(
      'Stopping: no better validation in %d. Restored the best checkpoint, of '
      'step %d.' % (self._config.optimization.early_stopping, best_step)
    )
    run_context.request_stop()

  def end(self, session):
    self._validator.close()
