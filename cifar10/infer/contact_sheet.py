"""A contact sheet: small pictures in rows, each with lines of text below it.

Pillow, installed by the extra `.[pictures]`, draws the sheet.
"""

import io
import math
import os

from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import files

try:
  from PIL import Image
  from PIL import ImageDraw
  from PIL import ImageFont
except ImportError:
  pass  # `pictures.need_pillow` says so.

# All sizes are in pixels.
PICTURE_SIZE = 128  # Height and width of each picture.
_GAP = 12  # Between pictures, and around them.
_LINE_HEIGHT = 14
_FONT_SIZE = 10

# The fonts of the first line and of the others, with the letters of most
# European languages. Many Linux systems have them, and Pillow finds them there.
_FONT_FILES = 'DejaVuSans-Bold.ttf', 'DejaVuSans.ttf'
_COLORS = 'black', '#555'
_MAX_PICTURES = 1000


def check(path, count):
  """Raises UserError unless a sheet of `count` pictures can be made as `path`.

  The extension of `path` is the format.
  """
  name = f'--grid={path}'
  try:
    _encoded(Image.new('RGB', (1, 1)), path)
  # Each format of Pillow raises its own types of exceptions.
  except Exception as error:
    extension = os.path.splitext(path)[1] or 'missing'
    raise UserError(
        f'{name}: the extension is {extension}; expected that of a picture '
        'format that Pillow writes in color, such as .png, .jpg, .webp or .pdf'
    ) from error
  if os.path.lexists(path):
    raise UserError(f'{name}: already exists; expected a new file')
  if not os.path.isdir(os.path.dirname(path) or '.'):
    raise UserError(f'{name}: there is no such folder')
  if count > _MAX_PICTURES:
    raise UserError(f'{name}: found {count} pictures; a sheet holds at most '
                    f'{_MAX_PICTURES}')


def write(path, entries):
  """Writes the whole file or nothing; does nothing if there are no entries.

  `entries` are pairs of a picture, uint8 [PICTURE_SIZE, PICTURE_SIZE, 3], and a
  list of lines to draw below it, the first of which stands out.
  """
  if entries:
    sheet = _draw(entries)
    try:
      content = _encoded(sheet, path)
    except Exception as error:  # Its size may be too large for the format.
      raise UserError(f'--grid={path}: cannot be written: {error}') from error
    files.write_atomically(path, content)


def _encoded(image, path):
  """The content of a picture file, bytes, in the format of its extension."""
  extension = os.path.splitext(path)[1].lower()
  content = io.BytesIO()
  image.save(content, format=Image.registered_extensions()[extension])
  return content.getvalue()


def _draw(entries):
  """Returns the sheet as a PIL.Image.Image."""
  count = len(entries)
  columns = min(math.ceil(math.sqrt(1.5 * count)), count)  # A wide sheet.
  rows = math.ceil(count / columns)
  num_lines = max(len(lines) for _, lines in entries)
  width = PICTURE_SIZE + _GAP  # Of a picture with its lines.
  height = PICTURE_SIZE + _LINE_HEIGHT * num_lines + 3 * _GAP // 2
  size = columns * width + _GAP, rows * height + _GAP
  sheet = Image.new('RGB', size, 'white')
  draw = ImageDraw.Draw(sheet)
  styles = list(zip(_load_fonts(), _COLORS))
  for index, (picture, lines) in enumerate(entries):
    left, top = _GAP + index % columns * width, _GAP + index // columns * height
    sheet.paste(Image.fromarray(picture), (left, top))
    for number, line in enumerate(lines):
      font, color = styles[min(number, 1)]
      y = top + PICTURE_SIZE + 3 + number * _LINE_HEIGHT
      draw.text((left, y), _fitting(line, font), color, font)
  return sheet


def _load_fonts():
  try:
    return [ImageFont.truetype(name, _FONT_SIZE) for name in _FONT_FILES]
  # The system does not have them, or this Pillow cannot read them.
  except (OSError, ImportError):
    return [ImageFont.load_default()] * 2


def _fitting(line, font):
  """`line` as it can be drawn; an ellipsis takes the middle of a long one."""
  line = printable(' '.join(line.split()))
  if isinstance(font, ImageFont.ImageFont):  # The bitmap font of Pillow 9.
    line = line.encode('latin-1', 'replace').decode('latin-1')
  kept, text = len(line), line
  while font.getlength(text) > PICTURE_SIZE:
    kept -= 1
    text = f'{line[:(kept + 1) // 2]}...{line[len(line) - kept // 2:]}'
  return text
