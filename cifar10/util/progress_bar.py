"""Shows the progress of a long task."""

import sys

_TO_END_OF_LINE = '\033[K'


class Bar:
  """A live bar on a terminal; in a file or pipe, a line for every 10 %."""

  def __init__(self, what, total, unit=1, amount='%d'):
    """Starts at zero and prints nothing.

    Args:
      what: name of the task; each line begins with it.
      total: amount of work; None if unknown.
      unit: amount of work in one unit of the display.
      amount: format of the number of units done; each line ends with it.
    """
    self._what = what
    self._total = total
    self._unit = unit
    self._amount = amount
    self._shown = None
    self._live = sys.stdout.isatty()

  def show(self, done):
    """Updates the display if it changes.

    Args:
      done: amount of work done so far.
    """
    if self._total:
      now = 100 * done // self._total
      now -= 0 if self._live else now % 10
      text = '%3d %% [%-25s]' % (now, '#' * (now // 4))
    else:
      now = done // (self._unit if self._live else 16 * self._unit)
      text = ''
    if now == self._shown:
      return
    self._shown = now
    line = '%s %s %s' % (self._what, text, self._amount % (done / self._unit))
    print(
      '\r' + line if self._live else line,
      end='' if self._live else '\n',
      flush=True,
    )

  def clear(self):
    """Removes the bar from a terminal until the next `show`."""
    if self._live:
      print('\r' + _TO_END_OF_LINE, end='', flush=True)
      self._shown = None

  def end(self):
    """Ends the line of the bar on a terminal, if it is shown."""
    if self._live and self._shown is not None:
      print()
      self._shown = None
