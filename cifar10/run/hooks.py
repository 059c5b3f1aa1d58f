"""Hooks of a training session: console lines, summaries, checks.

They take the scalar tensors `loss` and `step`, the global step after the
train_op of the same session call, see `session.step_after`. A hook that fetched
the global step itself would get it from before or after the update, by chance.
"""

import math
import time

import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.util import console
from cifar10.util import files
from cifar10.util import graph_keys


class LoggerHook(tf.train.SessionRunHook):
  """Prints the tutorial's line every `log_frequency` steps."""

  def __init__(self, step, loss, settings, run_state):
    self._fetches = {'step': step, 'loss': loss}
    self._settings, self._run_state = settings, run_state

  def after_create_session(self, session, coord):
    self._global_step = session.run(tf.train.get_global_step(session.graph))
    # When the last line was printed; a session made anew starts again.
    self._reported_step, self._reported_time = self._global_step, None

  def before_run(self, run_context):
    if self._reported_time is None:
      self._reported_time = time.monotonic()
    return tf.train.SessionRunArgs(self._fetches)

  def after_run(self, run_context, run_values):
    step, every = run_values.results['step'], self._settings.log_frequency
    # With several workers, one session call may see several steps.
    due = (self._global_step - 1) // every < (step - 1) // every
    self._global_step = step
    if due:
      self._report(**run_values.results)

  def _report(self, step, loss):
    seconds_per_step, rate = self._speed(step)
    # As in the tutorial, a batch is what one tower takes.
    seconds_per_batch = seconds_per_step / self._settings.num_towers
    print(
        # The tutorial counts steps from 0.
        f'{console.timestamp()}: step {step - 1}, loss = {loss:.2f} '
        f'({rate:.1f} examples/sec; {seconds_per_batch:.3f} sec/batch)')

  def _speed(self, step):
    """Seconds per step and examples per second since the last report."""
    now = time.monotonic()
    seconds = (now - self._reported_time) / (step - self._reported_step)
    self._reported_time, self._reported_step = now, step
    return seconds, self._run_state.examples_per_step / seconds


class MetricsHook(LoggerHook):
  """Appends a line of JSON to --metrics whenever LoggerHook prints."""

  def __init__(self, step, loss, settings, run_state):
    """Also makes the file; raises OSError if it cannot be written."""
    super().__init__(step, loss, settings, run_state)
    files.open_to_append(settings.metrics).close()
    (rate,) = tf.get_collection(graph_keys.LEARNING_RATE)
    self._fetches['learning_rate'] = rate

  def _report(self, step, loss, learning_rate):
    _, examples_per_sec = self._speed(step)
    line = {
        'time': time.time(),
        'step': int(step) - 1,  # As on the console.
        'epoch': self._run_state.epochs(int(step)),
        'loss': float(loss),
        'learning_rate': float(learning_rate),
        'examples_per_sec': examples_per_sec
    }
    files.append_json_line(self._settings.metrics, line)


class DivergenceHook(tf.train.SessionRunHook):
  """Raises DivergedError if the loss is not finite.

  tf.train.NanTensorHook lets infinity through, and its error names neither the
  step nor the learning rate.
  """

  def __init__(self, step, loss, settings):
    self._fetches = [step, loss]
    self._rates = f'--learning_rate={settings.learning_rate:g}'
    if settings.schedule == 'piecewise':
      self._rates = f'--rates={settings.rates}'
    for name in ('bias_rate', 'softmax_rate'):  # Multiples of the rate.
      if getattr(settings, name) != 1:
        self._rates += f' --{name}={getattr(settings, name):g}'

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._fetches)

  def after_run(self, run_context, run_values):
    step, loss = run_values.results
    if not math.isfinite(loss):
      raise DivergedError(
          f'loss is {loss} at step {step - 1} with {self._rates}')


class SummaryHook(tf.train.SessionRunHook):
  """Writes all summaries every `summary_steps` steps, and at the last step."""

  def __init__(self, step, last_step, writer, settings):
    """`writer` is a summaries.EventFile."""
    self._step, self._last_step = step, last_step
    self._writer, self._every = writer, settings.summary_steps
    self._summaries = tf.summary.merge_all()

  def after_create_session(self, session, coord):
    self._writer.add_graph(session.graph)
    # The tutorial's number of the next step, and of the next one to write.
    self._next = session.run(tf.train.get_global_step(session.graph))
    self._due = -(-self._next // self._every) * self._every
    self._writer.add_start(self._next)

  def before_run(self, run_context):
    fetches = {'step': self._step}
    # Other workers may have passed it.
    if self._next >= min(self._due, self._last_step - 1):
      fetches['summaries'] = self._summaries
    return tf.train.SessionRunArgs(fetches)

  def after_run(self, run_context, run_values):
    step = int(run_values.results['step'])
    if 'summaries' in run_values.results:
      self._writer.add_summary(run_values.results['summaries'], step - 1)
      self._due = ((step - 1) // self._every + 1) * self._every
    self._next = step


class PrefetchHook(tf.train.SessionRunHook):
  """Copies the first batch to the devices, before the first step takes it."""

  def __init__(self, prefetch):
    """`prefetch` is the operation that copies a batch to all towers."""
    self._prefetch, self._is_new = prefetch, False

  def after_create_session(self, session, coord):
    self._is_new = True

  def before_run(self, run_context):
    if self._is_new:
      self._is_new = False
      run_context.session.run(self._prefetch)
