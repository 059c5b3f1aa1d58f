"""The live line of --progress, instead of the tutorial's lines."""

import datetime
import functools
import sys
import time

from cifar10.run import hooks
from cifar10.util import console

_MAX_SECS = 999999999 * 24 * 60 * 60  # The limit of datetime.timedelta.


def reporter(step, loss, settings, run_state, stack):
  """The hook that reports steps; it takes what those in hooks.py take.

  With --progress, on a terminal, it shows a live line until `stack` ends.
  """
  if not (settings.progress and sys.stdout.isatty()):
    return hooks.LoggerHook(step, loss, settings, run_state)
  line = stack.enter_context(LiveLine())
  return ProgressHook(step, loss, settings, run_state, line)


class LiveLine:
  """A line on a terminal that each `show` overwrites, within a context.

  Whatever Python writes to standard output or error goes below the line, and
  the next line below that.
  """

  def __init__(self):
    self._write = sys.stdout.write
    self._shown = ''  # The line that the cursor stands before.

  def __enter__(self):
    self._streams = [s for s in (sys.stdout, sys.stderr) if s.isatty()]
    for stream in self._streams:
      # The stream stays the same object: loggers keep the one they have.
      stream.write = functools.partial(self._write_below, stream.write)
    return self

  def __exit__(self, *error):
    self._end()
    for stream in self._streams:
      del stream.write

  def show(self, text):
    """Shows `text`, cut to the width of the terminal."""
    columns = console.columns()
    text = text[:columns]
    self._draw(text.ljust(min(len(self._shown), columns)), end='\r')
    self._shown = text

  def _end(self):
    if self._shown:
      self._draw(self._shown, end='\n')
      self._shown = ''

  def _draw(self, text, end):
    # The cursor waits at the start of the line, so that the next one overwrites
    # what others write, such as the terminal's ^C.
    self._write('\r' + text + end)
    sys.stdout.flush()

  def _write_below(self, write, text):
    self._end()
    return write(text)


class ProgressHook(hooks.LoggerHook):
  """Shows progress every `log_frequency` steps, and at the end."""

  def __init__(self, step, loss, settings, run_state, line):
    super().__init__(step, loss, settings, run_state)
    self._line = line  # A LiveLine.

  def after_create_session(self, session, coord):
    super().after_create_session(session, coord)
    self._first_step, self._first_time = self._global_step, time.monotonic()

  def after_run(self, run_context, run_values):
    self._loss = run_values.results['loss']
    super().after_run(run_context, run_values)

  def end(self, session):
    if self._global_step > self._reported_step:
      self._report(self._global_step, self._loss)

  def _report(self, step, loss):
    last_step = self._run_state.last_step(self._settings)
    # Estimated from all steps so far, so that the time left does not jump.
    elapsed = time.monotonic() - self._first_time
    seconds_per_step = elapsed / (step - self._first_step)
    # Other workers may have taken the run past its last step.
    left = round(seconds_per_step * max(0, last_step - step))
    left = datetime.timedelta(seconds=min(left, _MAX_SECS))
    epoch = self._run_state.epochs(step)
    _, rate = self._speed(step)
    self._line.show(
        f'step {step} of {last_step}, epoch {epoch:.1f}, loss = {loss:.2f}, '
        f'{rate:.1f} examples/sec, {left} left')
