"""The session of a training run, with its hooks."""

import contextlib
import os

import tensorflow.compat.v1 as tf

from cifar10 import guard
from cifar10.infer import predictions
from cifar10.run import banner
from cifar10.run import feature_cache
from cifar10.run import hooks as hooks_lib
from cifar10.run import initial_values
from cifar10.run import progress
from cifar10.run import train_dir
from cifar10.run.role import Role
from cifar10.run.validation import ValidationHook
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import saving as saving_lib
from cifar10.util import graph_keys
from cifar10.util import summaries


@contextlib.contextmanager
def training_session(run, train_op, loss, hooks=(), role=None):
  """A tf.train.MonitoredSession that resumes, reports, saves and ends.

  Does what tf.train.MonitoredTrainingSession does, with hooks that know the
  exact step; the library's may be off by one, depending on timing.

  Args:
    run: trainer.Run.
    train_op: operation to run while not should_stop().
    loss: scalar tensor to report.
    hooks: those of this trainer.
    role: Role; None: that of a trainer on one machine.

  Raises:
    UserError: the newest checkpoint or --init_from does not fit the graph, or
      another trainer uses the folder of the best checkpoint.
    OSError: a file in --train_dir cannot be written before the first step.
    DivergedError, SaveError, Stopped, UserError: as `guard.protect` does.
  """
  settings, role = run.settings, role or Role(run.settings)
  init = initial_values.loader(run) if role.saves else None
  saver = saving_lib.Saver(tf.global_variables())
  step = step_after(train_op)
  print(*banner.lines(run.data, settings), sep='\n')
  validator = None
  if role.saves and run.data.held_out:
    validator = predictions.Validator(run.data.held_out_records(), run.data,
                                      settings)
  with contextlib.ExitStack() as stack:
    all_hooks = [
        # First, so that the others do not see a step that diverged.
        hooks_lib.DivergenceHook(step, loss, settings),
        # The line with loss and speed.
        progress.reporter(step, loss, settings, run.state, stack)
    ]
    if role.saves:
      saving = saving_lib.CheckpointHook(step, saver, settings)
      if settings.metrics:
        all_hooks.append(hooks_lib.MetricsHook(step, loss, settings, run.state))
      writer = _begin_saving(run, validator, stack)
      all_hooks.append(
          hooks_lib.SummaryHook(step, run.last_step, writer, settings))
      if validator is not None:
        all_hooks.append(ValidationHook(step, validator, writer, run, saving))
      all_hooks.append(saving)
    all_hooks += [role.last_step_hook(step, run.last_step), *hooks]
    creator = role.creator(saver, init)
    for frozen in tf.get_collection(graph_keys.FROZEN_LAYERS):  # One, if any.
      creator = feature_cache.FillingCreator(creator, frozen, run.data)
    with guard.protect(run, role, creator, all_hooks, validator) as session:
      yield session
  if role.saves:
    print(checkpoints.saved_in(settings.train_dir) + '.')


def _begin_saving(run, validator, stack):
  """Saves the files that describe a run, if its checkpoint fits the graph.

  Returns its event file, which is open until `stack` ends.
  """
  settings = run.settings
  # Only now that the graph is built, and all errors in the flags are found.
  if validator is not None:  # Locks the folder of the best checkpoint.
    best = os.path.join(settings.train_dir, train_dir.BEST)
    stack.enter_context(train_dir.locked(best))
  if settings.overwrite:
    train_dir.remove_run(settings.train_dir)
  checkpoints.check_newest(settings.train_dir)
  # The state first: it lists changes from the config.json replaced after it.
  run.state.save(settings.train_dir)
  config.save(settings, settings.train_dir)
  return stack.enter_context(summaries.EventFile(settings.train_dir))


def step_after(train_op):
  """The exact global step after `train_op`, as a tensor."""
  with tf.control_dependencies([train_op]), tf.name_scope('train/'):
    return tf.train.get_global_step().read_value()
