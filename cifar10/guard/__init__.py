"""Protects a run from signals, failing input, full disks and hanging steps.

`protect` makes a session that ends on signals, saves the last whole step
however it ends, and reports why a step hangs. Without it, a
tf.train.MonitoredSession with the same creator and hooks trains just as well.
"""

import contextlib

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.errors import SaveError
from cifar10.errors import UserError
from cifar10.guard import last_save
from cifar10.guard.diagnosis import InputDiagnosis
from cifar10.guard.liveness import Peers
from cifar10.guard.stall import StallCheck
from cifar10.guard.stall import StepCounter
from cifar10.guard.watchdog import Watchdog
from cifar10.store import checkpoints
from cifar10.store.saving import CheckpointHook
from cifar10.util import graph_keys
from cifar10.util import signals as signals_lib

_STOP_GRACE_SECS = 5  # Limit of stopping the threads of a session.


@contextlib.contextmanager
def protect(run, role, creator, hooks, validator=None):
  """A tf.train.MonitoredSession(creator, hooks) of a trainer.Run, protected.

  The session ends after the current step when SIGINT (Ctrl-C), SIGTERM or
  SIGHUP comes. The last whole step is also saved when the input fails, a file
  cannot be written or a step does not end. The batches of `validator`, a
  predictions.Validator or None, are progress too.

  Raises:
    UserError: the input fails, a file cannot be written, a server gives no
      session, or a hook or the body raises it.
    DivergedError: the loss or a variable is not finite.
    SaveError: a checkpoint cannot be written.
    Stopped: a signal comes before frozen layers are computed.
  """
  with contextlib.ExitStack() as stack:
    if role.server:  # After the last step, too, until the others know of it.
      signals = signals_lib.noted_until_exit()
    else:
      signals = stack.enter_context(signals_lib.noted())
    watchdog = stack.enter_context(Watchdog())
    diagnosis = InputDiagnosis(run)
    peers = Peers(role) if role.server else None
    counter = StepCounter(role, signals, diagnosis, validator, peers)
    save = None  # Unless this task saves.
    for hook in hooks:
      if isinstance(hook, CheckpointHook):
        save = last_save.LastSave(hook, run.settings.train_dir)
    stall = StallCheck(counter, save, signals, run.settings.stall_secs)
    for check in peers.checks() if peers else ():
      watchdog.watch(check)
    if tf.get_collection(graph_keys.FROZEN_LAYERS):
      creator = _StoppableCreator(creator, signals)
    # The guard's first: the others may end the session, or take long.
    all_hooks = [h for h in (counter, peers, save, diagnosis) if h] + hooks
    with _saving_session(creator, all_hooks, watchdog, stall,
                         diagnosis) as session:
      yield session
  signals_lib.print_first(signals)


@contextlib.contextmanager
def _saving_session(creator, hooks, watchdog, stall, diagnosis):
  """A session whose errors become UserErrors of one line, after a last save.

  Errors of the program itself are raised as they are.
  """
  problem, save = None, stall.save
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
        problem = last_save.with_last_save(diagnosis.explain(error), save)
        raise
  except Exception as error:
    if problem is None and isinstance(error, tf.errors.OpError):
      # No step was under way. Then the session ends as at the last step, which
      # saves, and raises the error afterwards.
      problem = diagnosis.explain(error)
      if problem is not None and save is not None:
        problem += '. ' + checkpoints.saved_in(save.folder)
    if problem is None:
      raise
    raise UserError(problem) from error
  # MonitoredSession hides OutOfRangeError, even of an input that failed.
  if problem is not None:
    raise UserError(problem)


class _StoppableCreator(tf.train.SessionCreator):
  """Creates a session; a signal interrupts it, as there is nothing to save."""

  def __init__(self, creator, signals):
    self._creator, self._signals = creator, signals

  def create_session(self):
    with signals_lib.raised(self._signals):
      return self._creator.create_session()
