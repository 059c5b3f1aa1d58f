"""A contact sheet: small pictures in rows, each with lines of text below it.

Pillow, installed by the extra `.[pictures]`, draws the sheet.
"""

import contextlib
import functools
import io
import math
import os

from cifar10.errors import UserError
from cifar10.util import files

try:
  from PIL import Image
  from PIL import ImageDraw
  from PIL import ImageFont
except ImportError:
  pass  # `pictures.need_pillow` says so.

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

# Formats that hold small pictures only; Pillow would scale the sheet down.
_ICON_FORMATS = ('ICNS', 'ICO')

# A code point that never has a character: a font draws it as it draws every
# character that it lacks.
_NO_CHARACTER = '\U0010ffff'


def check(path, count):
  """Checks, before any work, that a sheet of `count` pictures can be made.

  The extension of `path` is the format. Raises UserError if Pillow does not
  write it, `path` exists or its folder does not, or the pictures are too many.
  """
  name = f'--grid={path}'
  _format_of(path)
  if os.path.lexists(path):
    raise UserError(f'{name}: already exists; expected a new file')
  if not os.path.isdir(os.path.dirname(path) or '.'):
    raise UserError(f'{name}: there is no such folder')
  if count > _MAX_PICTURES:
    raise UserError(f'{name}: found {count} pictures; a sheet holds at most '
                    f'{_MAX_PICTURES}')


def write(path, entries):
  """Writes the whole file or nothing; does nothing if there are no entries.

  `entries` are pairs of a picture, uint8 [PICTURE, PICTURE, 3], and a list of
  lines to draw below it, the first of which stands out. Raises OSError if the
  file cannot be written, UserError if the sheet is too large for the format.
  """
  if not entries:
    return
  sheet, name = _draw(entries), _format_of(path)
  try:
    content = _encoded(sheet, name)
  # Each format of Pillow raises its own types of exceptions.
  except Exception as error:
    width, height = sheet.size
    raise UserError(
        f'--grid={path}: a sheet of {width} x {height} pixels cannot be '
        f'written as {name}: {error}') from error
  files.write_atomically(path, content)


def _draw(entries):
  """Returns the sheet as a PIL.Image.Image."""
  count = len(entries)
  columns = min(math.ceil(math.sqrt(1.5 * count)), count)  # A wide sheet.
  rows = math.ceil(count / columns)
  num_lines = max(len(lines) for _, lines in entries)
  cell_width = PICTURE + _GAP
  cell_height = PICTURE + _LINE_HEIGHT * num_lines + 3 * _GAP // 2
  size = columns * cell_width + _GAP, rows * cell_height + _GAP
  sheet = Image.new('RGB', size, 'white')
  draw = ImageDraw.Draw(sheet)
  styles = list(zip(_load_fonts(), _COLORS))
  for index, (picture, lines) in enumerate(entries):
    left = _GAP + index % columns * cell_width
    top = _GAP + index // columns * cell_height
    sheet.paste(Image.fromarray(picture), (left, top))
    for number, line in enumerate(lines):
      font, color = styles[min(number, 1)]
      text = _shorten(_drawable(line, font), font)
      y = top + PICTURE + 3 + number * _LINE_HEIGHT
      draw.text((left, y), text, color, font)
  return sheet


def _format_of(path):
  """Pillow's name of a format, by the extension of `path`.

  Raises UserError if Pillow does not write pictures in color in it.
  """
  extension = os.path.splitext(path)[1].lower()
  name = Image.registered_extensions().get(extension)
  # An exception: it has no color, or needs a library that this Pillow lacks.
  with contextlib.suppress(Exception):
    if name in Image.SAVE and name not in _ICON_FORMATS:
      _encoded(Image.new('RGB', (1, 1)), name)
      return name
  raise UserError(
      f'--grid={path}: the extension is {extension or "missing"}; expected '
      'that of a picture format that Pillow writes in color, such as .png, '
      '.jpg, .webp or .pdf')


def _encoded(image, name):
  """The content of a picture file, bytes, in the format that Pillow names."""
  content = io.BytesIO()
  image.save(content, format=name)
  return content.getvalue()


def _load_fonts():
  try:
    return [ImageFont.truetype(name, _FONT_SIZE) for name in _FONT_FILES]
  # The system does not have them, or this Pillow cannot read them.
  except (OSError, ImportError):
    return [ImageFont.load_default()] * 2


def _drawable(line, font):
  """`line` on one line, with a ? for each character that cannot be drawn.

  Control characters, the surrogates in names that are not UTF-8, and what the
  font lacks cannot be drawn.
  """
  line = ' '.join(line.split())
  return ''.join(c if c.isprintable() and _has(font, c) else '?' for c in line)


@functools.lru_cache(maxsize=1 << 12)
def _has(font, character):
  """True if a font of Pillow can draw a printable character."""
  if isinstance(font, ImageFont.ImageFont):  # The bitmap font of Pillow 9.
    return ord(character) < 256
  if character == ' ':  # A font may draw what it lacks as a space.
    return True
  drawn, lacking = (font.getmask(c) for c in (character, _NO_CHARACTER))
  return (drawn.size, bytes(drawn)) != (lacking.size, bytes(lacking))


def _shorten(line, font):
  """`line` with an ellipsis for its middle, if it is wider than a picture."""
  width = font.getlength(line)
  if width <= PICTURE:
    return line
  # As many characters as fit if all are equally wide; fewer if they are not.
  for kept in range(int(len(line) * PICTURE / width), 0, -1):
    start, end = line[:(kept + 1) // 2], line[len(line) - kept // 2:]
    shortened = start + '...' + end
    if font.getlength(shortened) <= PICTURE:
      return shortened
  return '...'
