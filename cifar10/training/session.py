"""The session of a training run, with all that happens alongside its steps."""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.errors import SaveError
from cifar10.errors import UserError
from cifar10.training import banner
from cifar10.training import checkpoints
from cifar10.training import hooks as hooks_lib
from cifar10.training import progress
from cifar10.training import saving as saving_lib
from cifar10.training import signals as signals_lib
from cifar10.training import train_dir
from cifar10.training import train_op as train_op_lib
from cifar10.training import transfer
from cifar10.training import watchdog as watchdog_lib
from cifar10.training import whitening
from cifar10.training.diagnosis import InputDiagnosis
from cifar10.training.validation import EndHook
from cifar10.training.validation import ValidationHook
from cifar10.util import event_file
from cifar10.util import session_settings

# How long the threads of a session may take to stop.
_STOP_GRACE_SECS = 5


class Role:
  """What a task does in a training session: by default, all of it."""

  saves = True  # Checkpoints, summaries and settings.

  def __init__(self, config):
    """Makes the role of a trainer on its own, with its config.Config."""
    self._config = config

  def signals(self):
    """The context of a list to which the numbers of signals are added."""
    return signals_lib.noted()

  def creator(self, saver, init):
    """The tf.train.SessionCreator, which initializes or restores.

    Args:
      saver: tf.train.Saver.
      init: function of a session to call after the initialization of a new
        run; or None.
    """
    init_fn = init and (lambda scaffold, session: init(session))
    return tf.train.ChiefSessionCreator(
      tf.train.Scaffold(saver=saver, init_fn=init_fn),
      checkpoint_dir=self._config.run.train_dir,
      config=session_settings.config_proto(self._config.session),
    )

  def ending_hooks(self, step, last_step, signals):
    """The tf.train.SessionRunHooks that end the session.

    Args:
      step: tensor, the global step after the step of the same session call.
      last_step: global step at which training ends.
      signals: list to which signal numbers are appended.
    """
    return [
      hooks_lib.SignalHook(signals),
      tf.train.StopAtStepHook(last_step=last_step),
    ]

  def progress(self, count):
    """How far training is: a value that changes as long as all is well.

    Args:
      count: the steps that this process has taken.
    """
    return count

  def waits_for(self):
    """What a step that does not end waits for, if not for images; a str."""
    return 'the step itself, which does not end'


@contextlib.contextmanager
def monitored_training_session(
  train_op,
  loss,
  data,
  config,
  run_state,
  hooks=(),
  role=None,
  validator=None,
  frozen=None,
):
  """A tf.train.MonitoredSession that resumes, reports, saves and ends.

  Does what tf.train.MonitoredTrainingSession does, with hooks that know the
  exact step; the library's may be off by one, depending on timing. The session
  ends at the last step, or after the current one when SIGINT (Ctrl-C), SIGTERM
  or SIGHUP comes. The last whole step is also saved when the input fails, a
  file cannot be written or a step does not end. When training diverges, the
  newest checkpoint stays.

  Args:
    train_op: operation for the caller to run `while not should_stop()`.
    loss: scalar tensor to report.
    data: datasets.DataSet that the input reads.
    config: config.Config.
    run_state: run_state.RunState.
    hooks: list of tf.train.SessionRunHook, what this trainer needs besides.
    role: Role; None: that of a trainer on its own.
    validator: serving.validation.Validator; None: no validation.
    frozen: serving.frozen_layers.FrozenLayers whose outputs the input reads;
      None: it reads `data`.

  Yields:
    tf.train.MonitoredSession.

  Raises:
    UserError: the newest checkpoint does not fit the graph, the input fails, a
      file cannot be written, or (DivergedError) the loss is not finite.
    Stopped: a signal came before the outputs of `frozen` were computed.
  """
  role = role or Role(config)
  run = config.run
  is_new = run.overwrite or checkpoints.latest(run.train_dir) is None
  init = _initial_values(data, config) if role.saves and is_new else None
  saver = saving_lib.Saver(tf.global_variables())
  step = step_after(train_op)
  last_step = run_state.last_step(config.optimization)
  for line in banner.lines(data, config):
    print(line)
  counter = hooks_lib.StepCountHook()
  diagnosis = InputDiagnosis(
    frozen.data if frozen else data,
    reads_once=config.pipeline.input == 'preloaded',
  )
  with contextlib.ExitStack() as stack:
    signals = stack.enter_context(role.signals())
    watchdog = stack.enter_context(watchdog_lib.Watchdog())
    all_hooks = [
      # First: the other hooks do not see a step that went wrong.
      hooks_lib.DivergenceHook(step, loss, config),
      counter,
      stack.enter_context(progress.reporting(step, loss, config, run_state)),
    ]
    if role.saves and config.metrics.metrics:
      all_hooks.append(hooks_lib.MetricsHook(step, loss, config, run_state))
    save = None
    if role.saves:
      _begin_run(config, run_state)
      writer = stack.enter_context(event_file.EventFile(run.train_dir))
      saving = saving_lib.CheckpointHook(step, saver, run)
      save = saving.save_now
      all_hooks.append(hooks_lib.SummaryHook(step, last_step, writer, run))
      if validator is None:
        all_hooks.append(saving)
      else:
        validation = ValidationHook(step, validator, writer, config, run_state)
        all_hooks += [validation, saving, EndHook(validation)]
    all_hooks += role.ending_hooks(step, last_step, signals)
    all_hooks += [diagnosis, *hooks]
    stall = watchdog_lib.StallCheck(
      lambda: (role.progress(counter.count), validator and validator.count),
      lambda: counter.count,
      diagnosis.filled,
      lambda: diagnosis.missing() or role.waits_for(),
      save,
      signals,
      run.stall_secs,
    )
    errors = _Errors(diagnosis, save, run.train_dir)
    creator = role.creator(saver, init)
    if frozen:
      creator = _FillingCreator(creator, frozen, signals, diagnosis)
    with errors.of_session(), tf.train.MonitoredSession(
      creator,
      all_hooks,
      stop_grace_period_secs=_STOP_GRACE_SECS,
    ) as session:
      watchdog.watch(stall)
      with errors.of_steps(watchdog):
        yield session
        stall.expect_end()
    signals_lib.print_first(signals)
  if role.saves:
    print(checkpoints.saved_in(run.train_dir) + '.')


def _initial_values(data, config):
  """What a new run begins with: a function of a session; None if nothing."""
  loads = [
    whitening.initial_values(data, config),
    transfer.initial_values(config.transfer),
  ]

  def load_all(session):
    for load in filter(None, loads):
      load(session)

  return load_all if any(loads) else None


class _FillingCreator(tf.train.SessionCreator):
  """Makes a session, then the file that its input reads, before it reads."""

  def __init__(self, creator, frozen, signals, diagnosis):
    """Makes the creator.

    Args:
      creator: tf.train.SessionCreator that makes the session.
      frozen: serving.frozen_layers.FrozenLayers, which makes the file.
      signals: list of the signals that have come.
      diagnosis: InputDiagnosis, which notes the size of the file.
    """
    self._creator = creator
    self._frozen = frozen
    self._signals = signals
    self._diagnosis = diagnosis

  def create_session(self):
    session = self._creator.create_session()
    self._frozen.fill(session, self._signals)
    self._diagnosis.note_sizes()
    return session


def _begin_run(config, run_state):
  """Saves what describes a run, if its newest checkpoint fits the graph.

  --overwrite deletes the run before it: only now, when the graph is there and
  what can be wrong with the flags has been found.
  """
  if config.run.overwrite:
    train_dir.remove_run(config.run.train_dir)
  checkpoints.check_newest(config.run.train_dir)
  config.save(config.run.train_dir)
  run_state.save(config.run.train_dir)


class _Errors:
  """Turns the error that ends a session into one line, after a last save.

  Errors of the program itself are raised as they are.
  """

  def __init__(self, diagnosis, save, train_dir):
    """Takes what knows the causes, and what saves.

    Args:
      diagnosis: InputDiagnosis.
      save: function that saves, see `watchdog.and_saved`.
      train_dir: where it saves.
    """
    self._diagnosis = diagnosis
    self._save = save
    self._train_dir = train_dir
    self._problem = None

  @contextlib.contextmanager
  def of_steps(self, watchdog):
    """Saves the last whole step when one fails; ends a Watchdog first."""
    try:
      yield
    except (DivergedError, SaveError):
      raise
    except Exception as error:
      watchdog.end()
      self._problem = watchdog_lib.and_saved(
        self._diagnosis.explain(error), self._save
      )
      raise

  @contextlib.contextmanager
  def of_session(self):
    """Raises the UserError, once the session has ended.

    Raises:
      UserError: in place of the error that ended it.
    """
    try:
      yield
    except Exception as error:
      problem = self._problem or self._explained(error)
      if problem is None:
        raise
      raise UserError(problem) from error
    # A session takes the end of its input for a good end.
    if self._problem is not None:
      raise UserError(self._problem)

  def _explained(self, error):
    """What to say of an input that fails when no step is under way.

    Then the session ends as at the last step, which saves, and raises the error
    afterwards.
    """
    if not isinstance(error, tf.errors.OpError):
      return None
    problem = self._diagnosis.explain(error)
    if problem is not None and self._save is not None:
      problem += '. ' + checkpoints.saved_in(self._train_dir)
    return problem


def step_after(train_op):
  """The exact global step after `train_op`, as a tensor."""
  with tf.control_dependencies([train_op]), train_op_lib.in_train_scope():
    return tf.train.get_global_step().read_value()
