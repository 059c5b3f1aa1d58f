"""A contact sheet: many small pictures, each with lines of text below it.

Drawn by matplotlib, which the extra `.[plot]` brings.
"""

import io
import math
import os
import warnings

import numpy as np

from cifar10.util import optional_packages
from cifar10.util import files
from cifar10.errors import UserError

PICTURE = 128  # Height and width of each picture, in pixels as all of these.
_GAP = 12
_LINE = 14
_TEXT = 9.5

_DPI = 100
_LETTERS = 20  # That fit below a picture.
_MOST_PICTURES = 1000


class ContactSheet:
  """Collects pictures and draws them on one sheet."""

  def __init__(self, path, count, lines):
    """Checks that the sheet can be made, before any work is done for it.

    Args:
      path: the PNG to write.
      count: how many pictures there are at most.
      lines: how many lines of text each has.

    Raises:
      UserError: matplotlib is missing, the path cannot be used or is taken,
        or there are too many pictures.
    """
    figure = optional_packages.need(
      'matplotlib.figure', 'plot', '--grid=%s: needs matplotlib' % path
    )
    if os.path.exists(path):
      raise UserError('--grid=%s: is there already; expected a new file' % path)
    if not os.path.isdir(os.path.dirname(path) or '.'):
      raise UserError('--grid=%s: there is no such folder' % path)
    if count > _MOST_PICTURES:
      raise UserError(
        '--grid=%s: found %d pictures; a sheet holds at most %d'
        % (path, count, _MOST_PICTURES)
      )
    self._figure_class = figure.Figure
    self._path = path
    self._lines = lines
    self._entries = []

  def add(self, picture, lines):
    """Adds a picture.

    Args:
      picture: uint8 array, [PICTURE, PICTURE, 3].
      lines: list of strings; the first below the picture is drawn bold.
    """
    self._entries.append((picture, lines))

  def write(self):
    """Writes the sheet, whole or not at all; nothing if there is no picture."""
    if not self._entries:
      return
    # Rather wide than high.
    columns = math.ceil(math.sqrt(1.5 * len(self._entries)))
    columns = min(columns, len(self._entries))
    rows = math.ceil(len(self._entries) / columns)
    cell_width = PICTURE + _GAP
    cell_height = PICTURE + _GAP + _LINE * self._lines + _GAP // 2
    height, width = rows * cell_height + _GAP, columns * cell_width + _GAP
    figure = self._figure_class((width / _DPI, height / _DPI), dpi=_DPI)
    sheet = np.full([height, width, 3], 255, np.uint8)
    for index, (picture, lines) in enumerate(self._entries):
      top = _GAP + index // columns * cell_height
      left = _GAP + index % columns * cell_width
      sheet[top : top + PICTURE, left : left + PICTURE] = picture
      for number, line in enumerate(lines):
        figure.text(
          left / width,
          1 - (top + PICTURE + 4 + number * _LINE) / height,
          _drawable(line),
          size=_TEXT * 72 / _DPI,
          weight='normal' if number else 'bold',
          verticalalignment='top',
        )
    figure.figimage(sheet, origin='upper')
    png = io.BytesIO()
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # Of letters that its font lacks.
      figure.savefig(png, format='png', dpi=_DPI)
    files.write_atomically(self._path, png.getvalue())


def _drawable(line):
  """The line as matplotlib draws it, without its middle where it is long."""
  line = line.encode('utf-8', 'replace').decode('utf-8')
  if len(line) > _LETTERS:
    half = (_LETTERS - 1) // 2
    line = line[:half] + '\N{HORIZONTAL ELLIPSIS}' + line[-half:]
  return line.replace('$', r'\$')  # No formula.
