"""The session of a training run, with its hooks, watchdog and last save."""

import contextlib
import os

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.errors import SaveError
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.run import banner
from cifar10.run import feature_cache
from cifar10.run import hooks as hooks_lib
from cifar10.run import initial_values
from cifar10.run import master
from cifar10.run import progress
from cifar10.run import signals as signals_lib
from cifar10.run import train_dir
from cifar10.run import watchdog as watchdog_lib
from cifar10.run.diagnosis import InputDiagnosis
from cifar10.run.validation import ValidationHook
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import saving as saving_lib
from cifar10.util import graph_keys
from cifar10.util import session_settings
from cifar10.util import summaries

_STOP_GRACE_SECS = 5  # Limit of stopping the threads of a session.


class Role:
  """The duties of a task in a training session; a lone trainer has them all."""

  saves = True  # Checkpoints, summaries and settings.

  def __init__(self, settings):
    self._settings = settings

  def signals(self):
    """A context manager that yields the list of signals, see signals.py."""
    return signals_lib.noted()

  def creator(self, saver, init):
    """The tf.train.SessionCreator, which initializes or restores.

    `init`, a function of a session or None, ends the initialization of a run.
    """
    init_fn = init and (lambda scaffold, session: init(session))
    return tf.train.ChiefSessionCreator(
        tf.train.Scaffold(saver=saver, init_fn=init_fn),
        master=self._settings.master, checkpoint_dir=self._settings.train_dir,
        config=session_settings.config_proto(
            self._settings, on_server=bool(self._settings.master)))

  def ending_hooks(self, step, last_step, signals):
    """Hooks, see hooks.py, that end the session at `last_step` or a signal."""
    stop = tf.train.StopAtStepHook(last_step=last_step)
    return [hooks_lib.SignalHook(signals), stop]

  def progress(self, count, validated):
    """A value that changes as long as all is well.

    `count`: steps of this process; `validated`: batches that it has validated.
    """
    return count, validated

  def waits_for(self):
    """Names the cause of a step that has its images and does not end."""
    return self._settings.master or 'the step itself, which does not end'


@contextlib.contextmanager
def training_session(run, train_op, loss, hooks=(), role=None):
  """A tf.train.MonitoredSession that resumes, reports, saves and ends.

  Does what tf.train.MonitoredTrainingSession does, with hooks that know the
  exact step; the library's may be off by one, depending on timing. The session
  ends at the last step, or after the current one when SIGINT (Ctrl-C), SIGTERM
  or SIGHUP comes. The last whole step is also saved when the input fails, a
  file cannot be written or a step does not end. When training diverges, the
  newest checkpoint stays.

  `run` is a trainer.Run. The caller runs `train_op` while not should_stop();
  `loss`, a scalar tensor, is reported. `hooks` are those of this trainer, and
  `role` is a Role; None: that of a trainer on its own.

  Raises:
    UserError: the newest checkpoint does not fit the graph, the input fails, a
      file cannot be written, or (DivergedError) the loss is not finite.
    Stopped: a signal came before frozen layers were computed.
  """
  settings = run.settings
  role = role or Role(settings)
  init = initial_values.of_run(run) if role.saves else None
  saver = saving_lib.Saver(tf.global_variables())
  step = step_after(train_op)
  print(*banner.lines(run.data, settings), sep='\n')
  # The FrozenLayers whose outputs are the input; None if images are.
  (frozen,) = tf.get_collection(graph_keys.FROZEN_LAYERS) or [None]
  reads_once = settings.input == 'preloaded'
  diagnosis = InputDiagnosis((frozen or run).data, reads_once)
  with contextlib.ExitStack() as stack:
    signals = stack.enter_context(role.signals())
    watchdog = stack.enter_context(watchdog_lib.Watchdog())
    # First: the other hooks do not see a step that went wrong.
    counter = hooks_lib.DivergenceHook(step, loss, settings)
    reporter = progress.reporter(step, loss, settings, run.state, stack)
    all_hooks = [counter, reporter]
    save = validator = None
    if role.saves:
      if run.data.held_out:
        validator = predictions.Validator(run.data.held_out_records(), run.data,
                                          settings)
      saving = saving_lib.CheckpointHook(step, saver, settings)
      save = saving.save_now
      all_hooks += _saving_hooks(run, step, loss, saving, validator, stack)
    all_hooks += role.ending_hooks(step, run.last_step, signals)
    all_hooks += [diagnosis, *hooks]

    def advance():
      return role.progress(counter.count, validator.count if validator else 0)

    probes = watchdog_lib.Probes(
        advance, lambda: counter.count, diagnosis.filled,
        lambda: diagnosis.missing() or role.waits_for())
    stall = watchdog_lib.StallCheck(probes, save, signals, settings.stall_secs)
    creator = role.creator(saver, init)
    if settings.master:
      creator = master.SessionCreator(creator, settings)
      watchdog.watch(creator.check)
    if frozen:
      creator = _FillingCreator(creator, frozen, run.data, signals, diagnosis)
    with _watched_session(creator, all_hooks, watchdog, stall, diagnosis,
                          settings.train_dir) as session:
      yield session
    signals_lib.print_first(signals)
  if role.saves:
    print(checkpoints.saved_in(settings.train_dir) + '.')


def _saving_hooks(run, step, loss, saving, validator, stack):
  """The hooks of a task that saves: metrics, summaries, validations, `saving`.

  Saves what describes the run, if its newest checkpoint fits the graph, and
  opens its event file until `stack` ends.
  """
  settings, hooks = run.settings, []
  if settings.metrics:
    hooks.append(hooks_lib.MetricsHook(step, loss, settings, run.state))
  # Only now: the graph is built, and all that is wrong with the flags is found.
  if validator is not None:  # From a trainer in the folder of the best one.
    best = os.path.join(settings.train_dir, train_dir.BEST)
    stack.enter_context(train_dir.held(best))
  if settings.overwrite:
    train_dir.remove_run(settings.train_dir)
  checkpoints.check_newest(settings.train_dir)
  # The state first: it notes the changes from the settings that are there.
  run.state.save(settings.train_dir)
  config.save(settings, settings.train_dir)
  writer = stack.enter_context(summaries.EventFile(settings.train_dir))
  hooks.append(hooks_lib.SummaryHook(step, run.last_step, writer, settings))
  if validator is not None:
    hooks.append(ValidationHook(step, validator, writer, run, saving))
  return hooks + [saving]


class _FillingCreator(tf.train.SessionCreator):
  """Makes a session, then the file that its input reads, before it reads."""

  def __init__(self, creator, frozen, images, signals, diagnosis):
    self._creator, self._frozen, self._images = creator, frozen, images
    self._signals, self._diagnosis = signals, diagnosis

  def create_session(self):
    session = self._creator.create_session()
    feature_cache.fill(self._frozen, self._images, session, self._signals)
    self._diagnosis.note_sizes()
    return session


@contextlib.contextmanager
def _watched_session(creator, hooks, watchdog, stall, diagnosis, train_dir):
  """A session whose errors become UserErrors of one line, after a last save.

  Errors of the program itself are raised as they are.
  """
  problem = None
  try:
    with tf.train.MonitoredSession(
        creator, hooks, stop_grace_period_secs=_STOP_GRACE_SECS) as session:
      watchdog.watch(stall)
      try:
        yield session
        stall.expect_end()
      except (DivergedError, SaveError):
        raise
      except Exception as error:
        watchdog.end()
        problem = watchdog_lib.and_saved(diagnosis.explain(error), stall.save)
        raise
  except Exception as error:
    if problem is None and isinstance(error, tf.errors.OpError):
      # No step was under way. Then the session ends as at the last step, which
      # saves, and raises the error afterwards.
      problem = diagnosis.explain(error)
      if problem is not None and stall.save is not None:
        problem += '. ' + checkpoints.saved_in(train_dir)
    if problem is None:
      raise
    raise UserError(problem) from error
  # A session takes the end of its input for a good end.
  if problem is not None:
    raise UserError(problem)


def step_after(train_op):
  """The exact global step after `train_op`, as a tensor."""
  with tf.control_dependencies([train_op]), tf.name_scope('train/'):
    return tf.train.get_global_step().read_value()
