"""The contact sheet: size, positions, text, and what keeps it from being made.

Each test of the drawing runs with DejaVu Sans, if the system has it, and with
the font that comes with Pillow: the bitmap font of Pillow 9, or the TrueType
font of later versions.
"""

import os

import numpy as np
from PIL import Image
from PIL import ImageFont
import pytest

from cifar10.errors import UserError
from cifar10.infer import contact_sheet

SIDE = contact_sheet.PICTURE_SIZE


def plain(color):
  return np.full([SIDE, SIDE, 3], color, np.uint8)


def decoded(path):
  return np.asarray(Image.open(str(path)).convert('RGB'))


@pytest.fixture(params=['dejavu', 'bundled'])
def font(request, monkeypatch):
  if request.param == 'bundled':
    monkeypatch.setattr(contact_sheet, '_FONT_FILES', ['missing.ttf'])
  else:
    try:
      ImageFont.truetype('DejaVuSans.ttf')
    except OSError:
      pytest.skip('DejaVu Sans is not installed')
  return contact_sheet._load_fonts()[1]


def test_pictures_lie_in_rows_with_their_lines_below(tmp_path, font):
  path = str(tmp_path / 'sheet.png')
  contact_sheet.check(path, 5)
  contact_sheet.write(path, [])
  assert os.listdir(str(tmp_path)) == []
  colors = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (90, 0, 90), (0, 99, 99)]
  # Markup in file names is drawn as it is, and long names are shortened.
  lines = ['a_$x^$_' * 20, '$']
  contact_sheet.write(path, [(plain(color), lines) for color in colors])
  assert os.listdir(str(tmp_path)) == ['sheet.png']
  pixels = decoded(path)
  height, width, _ = pixels.shape
  assert 3 * SIDE < width < 4 * SIDE  # 3 + 2 pictures.
  assert 2 * SIDE < height < 3 * SIDE
  corners = []
  for color in colors:
    rows, columns = np.nonzero((pixels == color).all(axis=-1))
    # Whole, and nothing drawn over it.
    assert len(rows) == SIDE * SIDE
    assert np.ptp(rows) == np.ptp(columns) == SIDE - 1
    corners.append((rows.min(), columns.min()))
  assert corners == sorted(corners)
  below = [pixels[t + SIDE:t + SIDE + 30, x:x + SIDE] for t, x in corners]
  for text in below:
    assert 100 < (text < 100).all(axis=-1).sum() < text.size / 6
    np.testing.assert_array_equal(text, below[0])
  # Nothing else is on the sheet.
  inked = (pixels < 255).any(axis=-1).sum()
  texts = sum((text < 255).any(axis=-1).sum() for text in below)
  assert inked == 5 * SIDE * SIDE + texts


def test_long_lines_keep_their_start_and_end(font):
  for line in ('', 'cat.jpg', 'i' * 20):
    assert contact_sheet._fitting(line, font) == line
  # What is not printable, or not UTF-8 on disk, is escaped.
  assert contact_sheet._fitting('a\nb\u202fc\x07d\udcff',
                                font) == r'a b c\x07d\udcff'
  for line in ('IMG_2026-01-01_holidays_by_the_sea_0017.jpeg', 'Wi' * 500):
    short = contact_sheet._fitting(line, font)
    start, end = short.split('...')
    assert line.startswith(start) and line.endswith(end)
    assert 0 <= len(start) - len(end) <= 1 and len(end) > 3
    # As long as it fits below the picture.
    assert 0.8 * SIDE < font.getlength(short) <= SIDE


@pytest.mark.parametrize('name', ['x.PNG', 'x.jpg', 'x.webp', 'x.bmp', 'x.tif'])
def test_the_format_is_that_of_the_extension(tmp_path, name):
  color = (200, 0, 0)
  path = str(tmp_path / ('y' + name))
  contact_sheet.check(path, 1)
  contact_sheet.write(path, [(plain(color), ['a line'])])
  with Image.open(path) as found:
    extension = os.path.splitext(name)[1].lower()
    assert Image.registered_extensions()[extension] == found.format
  pixels = decoded(path).astype(int)
  middle = pixels[SIDE // 2:, SIDE // 2:][:20, :20]
  assert np.abs(middle - color).max() < 6


def test_what_cannot_be_drawn_is_told_at_once(tmp_path):
  taken = tmp_path / 'taken.png'
  taken.write_bytes(b'precious')
  (tmp_path / 'link.png').symlink_to(tmp_path / 'nowhere')
  for name, count, problem in (
      ('taken.png', 1, 'already exists; expected a new file'),
      ('link.png', 1, 'already exists; expected a new file'),
      ('no/x.png', 1, 'there is no such folder'),
      ('x.png', 1001, 'found 1001 pictures; a sheet holds at most'),
      *((f'no/x{extension}', 1, f'the extension is {extension or "missing"};')
        for extension in ('', '.txt', '.h5', '.xbm', '.'))):
    path = str(tmp_path / name)
    with pytest.raises(UserError) as info:
      contact_sheet.check(path, count)
    assert str(info.value).startswith(f'--grid={path}: {problem}')
  assert taken.read_bytes() == b'precious'
