"""What happens alongside the steps: console lines, summaries, checks, ends.

Hooks that need it take `step`, a tensor with the global step after the train_op
of the same session call (see `session.step_after`). A hook that fetched the
global step itself would get it from before or after the update, depending on
timing.
"""

import math
import time

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.util import console
from cifar10.util import files
from cifar10.util import graph_keys


def _has_multiple(every, begin, end):
  """Whether there is a multiple of `every` from `begin` to before `end`."""
  return (begin - 1) // every < (end - 1) // every


class LoggerHook(tf.train.SessionRunHook):
  """Prints the tutorial's line every `log_frequency` steps."""

  def __init__(self, step, loss, settings, run_state):
    """Makes the hook.

    Args:
      step: the global step after the train_op, a tensor.
      loss: scalar tensor to print.
      run_state: run_state.RunState.
    """
    self._fetches = {'step': step, 'loss': loss}
    self._settings = settings
    self._run_state = run_state
    self._global_step = None  # Before the next step.
    self._reported_time = None  # When the last line was printed.
    self._reported_step = None  # The global step at that time.

  def begin(self):
    self._initial_step = tf.train.get_global_step()

  def after_create_session(self, session, coord):
    self._global_step = session.run(self._initial_step)
    self._reported_step = self._global_step

  def before_run(self, run_context):
    if self._reported_time is None:
      self._reported_time = time.monotonic()
    return tf.train.SessionRunArgs(self._fetches)

  def after_run(self, run_context, run_values):
    step = run_values.results['step']
    # With several workers, one session call may see several steps.
    every = self._settings.log_frequency
    due = _has_multiple(every, self._global_step, step)
    self._global_step = step
    if due:
      self._report(**run_values.results)

  def _report(self, step, loss):
    seconds_per_step = self._seconds_per_step(step)
    print(
      '%s: step %d, loss = %.2f (%.1f examples/sec; %.3f sec/batch)'
      % (
        console.timestamp(),
        step - 1,  # The tutorial counts from 0.
        loss,
        self._run_state.examples_per_step / seconds_per_step,
        # As in the tutorial, a batch is what one tower takes.
        seconds_per_step / self._settings.num_gpus,
      )
    )

  def _seconds_per_step(self, step):
    """Mean seconds of the steps since the last report, which ends here."""
    now = time.monotonic()
    seconds = now - self._reported_time
    count = step - self._reported_step
    self._reported_time, self._reported_step = now, step
    return seconds / count


class MetricsHook(LoggerHook):
  """Appends a line of JSON to a file as often as LoggerHook prints."""

  def __init__(self, step, loss, settings, run_state):
    """Makes the hook, with the arguments of LoggerHook, and the file.

    Raises:
      OSError: the file cannot be written.
    """
    super().__init__(step, loss, settings, run_state)
    with open(settings.metrics, 'ab'):
      pass

  def begin(self):
    super().begin()
    (rate,) = tf.get_collection(graph_keys.LEARNING_RATE)
    self._fetches = dict(self._fetches, learning_rate=rate)

  def _report(self, step, loss, learning_rate):
    rate = self._run_state.examples_per_step / self._seconds_per_step(step)
    files.append_json_line(
      self._settings.metrics,
      {
        'time': time.time(),
        'step': int(step) - 1,  # As on the console.
        'epoch': self._run_state.epochs(int(step)),
        'loss': float(loss),
        'learning_rate': float(learning_rate),
        'examples_per_sec': rate,
      },
    )


class DivergenceHook(tf.train.SessionRunHook):
  """Stops with an error when the loss is not finite.

  Not tf.train.NanTensorHook: that lets infinity through, and its error names
  neither the step nor the learning rate.
  """

  def __init__(self, step, loss, settings):
    """Makes the hook.

    Args:
      step: the global step after the train_op, a tensor.
      loss: scalar tensor.
    """
    self._fetches = [step, loss]
    self._with_rate = '--learning_rate=%g' % settings.learning_rate
    if settings.schedule == 'piecewise':
      self._with_rate = '--rates=' + settings.rates

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._fetches)

  def after_run(self, run_context, run_values):
    step, loss = run_values.results
    if not math.isfinite(loss):
      raise DivergedError(
        'loss is %s at step %d with %s' % (loss, step - 1, self._with_rate)
      )


class SummaryHook(tf.train.SessionRunHook):
  """Writes all summaries every `summary_steps` steps, and of the last step."""

  def __init__(self, step, last_step, writer, settings):
    """Makes the hook.

    Args:
      step: the global step after the train_op, a tensor.
      last_step: global step at which training ends.
      writer: event_file.EventFile.
      settings: settings.Run.
    """
    self._step = step
    self._last_step = last_step
    self._writer = writer
    self._every = settings.summary_steps
    self._next = None  # The global step before the next step.
    self._due = None  # The next multiple of `every`.

  def begin(self):
    self._global_step = tf.train.get_global_step()
    self._summaries = tf.summary.merge_all()

  def after_create_session(self, session, coord):
    self._writer.add_graph(session.graph)
    self._next = session.run(self._global_step)
    self._due = -(-self._next // self._every) * self._every

  def before_run(self, run_context):
    fetches = {'step': self._step}
    # Greater if other workers take steps too.
    if self._next >= min(self._due, self._last_step - 1):
      fetches['summaries'] = self._summaries
    return tf.train.SessionRunArgs(fetches)

  def after_run(self, run_context, run_values):
    step = int(run_values.results['step'])
    if 'summaries' in run_values.results:
      self._writer.add_summary(run_values.results['summaries'], step - 1)
      self._due = ((step - 1) // self._every + 1) * self._every
    self._next = step


class StepCountHook(tf.train.SessionRunHook):
  """Counts the steps of this process, for a watchdog."""

  def __init__(self):
    self.count = 0

  def after_run(self, run_context, run_values):
    self.count += 1


class SignalHook(tf.train.SessionRunHook):
  """Ends training after the current step once a signal has come."""

  def __init__(self, signals):
    """Takes the list to which signal numbers are appended."""
    self._signals = signals

  def after_run(self, run_context, run_values):
    if self._signals:
      run_context.request_stop()


class PrefetchHook(tf.train.SessionRunHook):
  """Copies the first batch to the devices, before the first step takes it."""

  def __init__(self, prefetch):
    """Takes the operation that copies a batch to all towers."""
    self._prefetch = prefetch
    self._is_new = False

  def after_create_session(self, session, coord):
    self._is_new = True

  def before_run(self, run_context):
    # Not sooner: from here on a watchdog looks whether it ends.
    if self._is_new:
      self._is_new = False
      run_context.session.run(self._prefetch)
