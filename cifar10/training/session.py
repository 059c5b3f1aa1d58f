"""The session of a training run, with all that happens alongside its steps."""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.training import checkpoints
from cifar10.training import hooks as hooks_lib
from cifar10.training import progress
from cifar10.training import signals as signals_lib
from cifar10.training import train_op as train_op_lib
from cifar10.util import session_settings

_READ_ERRORS = (
  tf.errors.DataLossError,
  tf.errors.NotFoundError,
  tf.errors.PermissionDeniedError,
)

# How long the threads of a session may take to stop.
_STOP_GRACE_SECS = 5


class Role:
  """What a task does in a training session: by default, all of it."""

  saves = True  # Checkpoints, summaries and settings.

  def __init__(self, config):
    """Makes the role of a trainer on its own, with its config.Config."""
    self._config = config

  def creator(self, saver):
    """The tf.train.SessionCreator, which initializes or restores."""
    return tf.train.ChiefSessionCreator(
      tf.train.Scaffold(saver=saver),
      checkpoint_dir=self._config.run.train_dir,
      config=session_settings.config_proto(self._config.session),
    )

  def ending_hooks(self, step, signals):
    """The tf.train.SessionRunHooks that end the session.

    Args:
      step: tensor, the global step after the step of the same session call.
      signals: list to which signal numbers are appended.
    """
    last_step = self._config.optimization.max_steps
    return [
      hooks_lib.SignalHook(signals),
      tf.train.StopAtStepHook(last_step=last_step),
    ]

  def steps_begin(self, signals, save):
    """Called when the session is ready for its first step.

    Args:
      signals: list to which signal numbers are appended.
      save: function that saves the last whole step; None where not `saves`.
    """


@contextlib.contextmanager
def monitored_training_session(
  train_op, loss, config, run_state, hooks=(), role=None
):
  """A tf.train.MonitoredSession that resumes, reports, saves and ends.

  Does what tf.train.MonitoredTrainingSession does, with hooks that know the
  exact step; the library's may be off by one, depending on timing. The session
  ends at `max_steps`, or after the current step when SIGINT (Ctrl-C) or SIGTERM
  comes. The last step is also saved if reading the input fails; after any other
  error the newest checkpoint stays.

  Args:
    train_op: operation for the caller to run `while not should_stop()`.
    loss: scalar tensor to report.
    config: config.Config.
    run_state: run_state.RunState.
    hooks: list of tf.train.SessionRunHook, what this trainer needs besides.
    role: Role; None: that of a trainer on its own.

  Yields:
    tf.train.MonitoredSession.

  Raises:
    UserError: the newest checkpoint does not fit the graph, a checkpoint
      cannot be written, or (DivergedError) the loss is not finite.
  """
  role = role or Role(config)
  run = config.run
  # Relative paths, so that the directory can be moved.
  saver = tf.train.Saver(max_to_keep=run.max_to_keep, save_relative_paths=True)
  step = step_after(train_op)
  with contextlib.ExitStack() as stack:
    signals = stack.enter_context(signals_lib.noted())
    reporter = stack.enter_context(
      progress.reporting(step, loss, config, run_state)
    )
    # Divergence first: the other hooks do not see a step that went wrong.
    all_hooks = [
      hooks_lib.DivergenceHook(step, loss, config.optimization),
      reporter,
    ]
    save = None
    if role.saves:
      checkpoints.check_newest(run.train_dir)
      config.save(run.train_dir)
      run_state.save(run.train_dir)
      # Closed, and so flushed, even if an error ends the session.
      writer = stack.enter_context(tf.summary.FileWriter(run.train_dir))
      saving = hooks_lib.CheckpointHook(step, saver, run)
      save = saving.save_now
      all_hooks += [hooks_lib.SummaryHook(step, writer, run), saving]
    all_hooks += role.ending_hooks(step, signals)
    with tf.train.MonitoredSession(
      role.creator(saver),
      all_hooks + list(hooks),
      stop_grace_period_secs=_STOP_GRACE_SECS,
    ) as session:
      role.steps_begin(signals, save)
      try:
        yield session
      except _READ_ERRORS:
        # The input failed and no step is half done: keep what was learned.
        if save:
          save()
        raise
    signals_lib.print_first(signals)
  if role.saves:
    last = checkpoints.latest(run.train_dir)
    print('Step %d is saved in %s.' % (checkpoints.step(last), last))


def step_after(train_op):
  """The exact global step after `train_op`, as a tensor."""
  with tf.control_dependencies([train_op]), train_op_lib.box():
    return tf.train.get_global_step().read_value()
