"""A contact sheet: small pictures in rows, each with lines of text below it.

Pillow, installed by the extra `.[pictures]`, draws the sheet.
"""

import io
import math
import os

from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import optional_packages

# All sizes are in pixels.
PICTURE = 128  # Height and width of each picture.
_GAP = 12  # Between pictures, and around them.
_LINE_HEIGHT = 14
_FONT_SIZE = 10

# The fonts of the first line and of the others, with the letters of most
# European languages. Many Linux systems have them, and Pillow finds them there.
_FONT_FILES = 'DejaVuSans-Bold.ttf', 'DejaVuSans.ttf'
_COLORS = 'black', '#555'
_MAX_PICTURES = 1000


class ContactSheet:
  """Collects pictures and draws them on one sheet."""

  def __init__(self, path, count, lines):
    """Checks that the sheet can be made, before any work is done for it.

    Args:
      path: the PNG file to write.
      count: the largest number of pictures that may be added.
      lines: number of lines of text below each picture.

    Raises:
      UserError: Pillow is not installed, `path` exists already or its folder
        does not exist, or there are too many pictures.
    """
    optional_packages.need('PIL', 'pictures', '--grid=%s: needs Pillow' % path)
    if os.path.exists(path):
      raise UserError('--grid=%s: is there already; expected a new file' % path)
    if not os.path.isdir(os.path.dirname(path) or '.'):
      raise UserError('--grid=%s: there is no such folder' % path)
    if count > _MAX_PICTURES:
      raise UserError(
        '--grid=%s: found %d pictures; a sheet holds at most %d'
        % (path, count, _MAX_PICTURES)
      )
    self._path = path
    self._lines = lines
    self._entries = []

  def add(self, picture, lines):
    """Adds a picture.

    Args:
      picture: uint8 array, [PICTURE, PICTURE, 3].
      lines: list of str, drawn below the picture; the first one stands out.
    """
    self._entries.append((picture, lines))

  def write(self):
    """Writes the whole file or nothing; does nothing if there is no picture.

    Raises:
      OSError: the file cannot be written.
    """
    if not self._entries:
      return
    png = io.BytesIO()
    self._draw().save(png, format='PNG')
    files.write_atomically(self._path, png.getvalue())

  def _draw(self):
    """Returns the sheet as a PIL.Image.Image."""
    from PIL import Image
    from PIL import ImageDraw

    columns = math.ceil(math.sqrt(1.5 * len(self._entries)))  # A wide sheet.
    columns = min(columns, len(self._entries))
    rows = math.ceil(len(self._entries) / columns)
    cell_width = PICTURE + _GAP
    cell_height = PICTURE + _LINE_HEIGHT * self._lines + 3 * _GAP // 2
    size = columns * cell_width + _GAP, rows * cell_height + _GAP
    sheet = Image.new('RGB', size, 'white')
    draw = ImageDraw.Draw(sheet)
    styles = list(zip(_load_fonts(), _COLORS))
    for index, (picture, lines) in enumerate(self._entries):
      left = _GAP + index % columns * cell_width
      top = _GAP + index // columns * cell_height
      sheet.paste(Image.fromarray(picture), (left, top))
      for number, line in enumerate(lines):
        font, color = styles[min(number, 1)]
        text = _shorten(_drawable(line, font), font)
        y = top + PICTURE + 3 + number * _LINE_HEIGHT
        draw.text((left, y), text, color, font)
    return sheet


def _load_fonts():
  """The fonts of the first line and of the others: a pair of Pillow's fonts."""
  from PIL import ImageFont

  try:
    return [ImageFont.truetype(name, _FONT_SIZE) for name in _FONT_FILES]
  # The system does not have them, or this Pillow cannot read them.
  except (OSError, ImportError):
    return [ImageFont.load_default()] * 2


def _drawable(line, font):
  """`line` on one line, with a ? for each character that cannot be drawn.

  A character that a TrueType font lacks needs no ?: it is drawn as a box.
  """
  from PIL import ImageFont

  line = ' '.join(line.split())
  # Control characters, and the surrogates in names that are not UTF-8.
  line = ''.join(c if c.isprintable() else '?' for c in line)
  if isinstance(font, ImageFont.ImageFont):  # The bitmap font of Pillow 9.
    line = line.encode('latin-1', 'replace').decode('latin-1')
  return line


def _shorten(line, font):
  """`line` with an ellipsis for its middle, if it is wider than a picture."""
  width = font.getlength(line)
  if width <= PICTURE:
    return line
  # As many characters as fit if all are equally wide; fewer if they are not.
  for kept in range(int(len(line) * PICTURE / width), 0, -1):
    start, end = line[: (kept + 1) // 2], line[len(line) - kept // 2 :]
    shortened = start + '...' + end
    if font.getlength(shortened) <= PICTURE:
      return shortened
  return '...'
