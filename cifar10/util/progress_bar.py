"""How far a long piece of work has come."""

import sys

_TO_END_OF_LINE = '\033[K'


class Bar:
  """A bar on a terminal; a line every tenth into a file or pipe."""

  def __init__(self, what, total, unit=1, amount='%d'):
    """Begins with nothing done.

    Args:
      what: what is being done; each line begins with it.
      total: how much there is to do; None where that is not known.
      unit: how much of it makes one unit of `amount`.
      amount: format of a number of units; each line ends with it.
    """
    self._what = what
    self._total = total
    self._unit = unit
    self._amount = amount
    self._shown = None
    self._live = sys.stdout.isatty()

  def show(self, done):
    """Shows that so much is done, if that changes what is seen."""
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
    """Takes the bar off a terminal, until it is shown again."""
    if self._live:
      print('\r' + _TO_END_OF_LINE, end='', flush=True)
      self._shown = None

  def end(self):
    """Leaves the bar's line."""
    if self._live:
      print()
