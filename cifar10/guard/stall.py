"""Steps that do not end: noticed, explained and ended after a last save."""

import contextlib
import time

import tensorflow.compat.v1 as tf

from cifar10.guard import last_save

_MAX_LOOK_SECS = 5  # A longer time between two looks: this process was stopped.

# Limit of a step once a signal has come to end the run, in seconds; or as a
# multiple of the slowest step so far, if that is more.
_SIGNALED_SECS = 5
_OF_SLOWEST = 3

_FIRST_SECS = 20  # More for the first step: TensorFlow prepares itself.

_OWN_BYTES = 10000  # More than the watchdog itself reads between two looks.


class StepCounter(tf.train.SessionRunHook):
  """Counts the steps of this process; ends the session after a signal.

  It completes the step under way. `count` are the steps of this process,
  `validated` the batches that it has validated.
  """

  def __init__(self, role, signals, diagnosis, validator=None, peers=None):
    """`peers` are the other tasks of a cluster, a liveness.Peers, or None."""
    self._role, self._signals, self._peers = role, signals, peers
    self._diagnosis, self.count, self.validated = diagnosis, 0, 0
    # Wraps the validator's method, to count its batches.
    if validator is not None:
      validate = validator.logits

      def counted(batch):
        self.validated += 1
        return validate(batch)

      validator.logits = counted

  def after_run(self, run_context, run_values):
    self.count += 1
    if self._signals:
      self._role.end_early(run_context)

  def progress(self):
    """A value that changes as long as all is well."""
    if self._peers:
      return self._peers.progress(self.count, self.validated)
    return self.count, self.validated

  def bytes_read(self):
    """Bytes that this process has read; while that grows, a step may wait."""
    with contextlib.suppress(OSError), open('/proc/self/io') as counters:
      return int(counters.readline().split()[1])  # rchar: of all read calls.
    return 0  # The system does not tell.

  def chief_may_save(self):
    """True if a worker waits for a chief that answers, and may be saving."""
    return self._peers is not None and self._peers.chief_may_save()

  def waits_for(self):
    """Names the cause of a step that does not end."""
    cause = self._diagnosis.missing()
    if cause is None and self._peers:
      cause = self._peers.waits_for()
    runs_on = self._role.settings.master
    return cause or runs_on or 'the step itself, which does not end'


class StallCheck:
  """A check that notices when no step ends for too long; saves if it can."""

  def __init__(self, counter, save, signals, stall_secs, clock=time.monotonic):
    """Takes a StepCounter, a LastSave or None, and the list of signals."""
    self._counter, self.save, self._signals = counter, save, signals
    self._stall_secs, self._clock = stall_secs, clock
    self._is_ending, self._last, self._read_before = False, None, None
    self._waited, self._slowest, self._looked = 0, 0, clock()

  def expect_end(self):
    """Notes that the last step is taken: now it is saved."""
    self._is_ending, self._waited = True, 0

  def __call__(self):
    now = self._clock()
    # Not the time when this process was stopped, by Ctrl-Z for instance.
    self._waited += min(now - self._looked, _MAX_LOOK_SECS)
    self._looked = now
    if self._is_ending:
      if self._waited <= self._stall_secs:
        return None
      return (f'saving the last step takes longer than {self._stall_secs} s '
              '(--stall_secs)')
    found = self._counter.progress(), self.save and self.save.count
    if found != self._last:
      if self._last is not None:
        self._slowest = max(self._slowest, self._waited)
      self._last, self._waited, self._read_before = found, 0, None
      return None
    return self._problem()

  def _problem(self):
    """The message about a step that does not end; None while it may go on."""
    limit, flag = self._stall_secs, ' (--stall_secs)'
    # A save after the step may take long: the disk may be slow.
    if self._signals and not self._may_save():
      limit = max(_SIGNALED_SECS, _OF_SLOWEST * self._slowest)
      limit, flag = min((limit, ''), (self._stall_secs, flag))
    elif 2 * self._waited > limit and self._is_reading():
      self._waited = 0
    # The first look may come after many steps: none of them is the slowest.
    if not self._counter.count:
      limit += _FIRST_SECS
      if flag:
        flag = f' (--stall_secs, and {_FIRST_SECS} s for the first step)'
    if self._waited <= limit:
      return None
    message = 'no step for %d s%s, waiting for %s'
    cause = self._counter.waits_for()
    return last_save.with_last_save(message % (limit, flag, cause), self.save)

  def _may_save(self):
    """True if this task is saving, or waits for a chief that may be."""
    return self.save.is_saving if self.save else self._counter.chief_may_save()

  def _is_reading(self):
    """True if the process has read more since the last look."""
    before, self._read_before = self._read_before, self._counter.bytes_read()
    # Not what it reads of itself, to know that.
    return before is not None and self._read_before > before + _OWN_BYTES
