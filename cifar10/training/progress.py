"""One live line on a terminal, in place of the tutorial's lines."""

import contextlib
import datetime
import os
import sys
import time

from cifar10.training import hooks


@contextlib.contextmanager
def reporting(step, loss, config):
  """The hook that reports the steps, within a `with` around the session.

  Args:
    step: the global step after the train_op, a tensor.
    loss: scalar tensor to report.
    config: Config; its `progress` asks for the live line, which needs a
      terminal.

  Yields:
    tf.train.SessionRunHook.
  """
  if not (config.progress and sys.stdout.isatty()):
    yield hooks.LoggerHook(step, loss, config)
    return
  with LiveLine() as line:
    yield ProgressHook(step, loss, config, line)


class LiveLine:
  """A line on standard output, a terminal, that is written over.

  A context manager. What Python writes meanwhile, to standard output or error,
  comes below the line, and the next one below that; so does what comes after.
  """

  def __init__(self):
    self._write = sys.stdout.write
    self._shown = ''  # The line that the cursor is in front of.

  def __enter__(self):
    self._others = [s for s in (sys.stdout, sys.stderr) if s.isatty()]
    for stream in self._others:
      # Not another stream in its place: loggers keep the one they have.
      stream.write = self._below(stream.write)
    return self

  def __exit__(self, *error):
    self._end()
    for stream in self._others:
      del stream.write

  def show(self, text):
    """Shows `text`, or what fits of it into a line of the terminal."""
    # Some terminals do not know their size, and say 0.
    columns = os.get_terminal_size(sys.stdout.fileno()).columns or 80
    # In the last column, the cursor would go on to the next line.
    text = text[: columns - 1]
    self._draw(text.ljust(min(len(self._shown), columns - 1)), end='\r')
    self._shown = text

  def _end(self):
    if self._shown:
      self._draw(self._shown, end='\n')
      self._shown = ''

  def _draw(self, text, end):
    # The cursor waits in front of the line, where a Ctrl-C that the terminal
    # echoes, and what is no Python, are written over it and not behind.
    self._write('\r' + text + end)
    sys.stdout.flush()

  def _below(self, write):
    def written(text):
      self._end()
      return write(text)

    return written


class ProgressHook(hooks.LoggerHook):
  """Shows every `log_frequency` steps, and at the end, how far the run is."""

  def __init__(self, step, loss, config, line):
    super().__init__(step, loss, config)
    self._line = line

  def after_create_session(self, session, coord):
    super().after_create_session(session, coord)
    self._first = self._global_step
    self._began = time.monotonic()

  def after_run(self, run_context, run_values):
    _, self._loss = run_values.results
    super().after_run(run_context, run_values)

  def end(self, session):
    if self._global_step > self._since:
      self._report(self._global_step, self._loss)

  def _report(self, step, loss):
    max_steps = self._config.max_steps
    # The time left is told by all steps so far, so that it does not jump.
    mean = (time.monotonic() - self._began) / (step - self._first)
    # With other workers beside this one, the last step may be behind.
    left = round(mean * max(0, max_steps - step))
    self._line.show(
      'step %d of %d, loss = %.2f, %.1f examples/sec, %s left'
      % (
        step,
        max_steps,
        loss,
        self._config.examples_per_step / self._seconds_per_step(step),
        datetime.timedelta(seconds=left),
      )
    )
