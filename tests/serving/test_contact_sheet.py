"""The contact sheet: its size, what is where, and what is in its way."""

import os
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.serving import contact_sheet
from cifar10.errors import UserError

SIDE = contact_sheet.PICTURE


def plain(color):
  return np.full([SIDE, SIDE, 3], color, np.uint8)


def decoded(path):
  with tf.Graph().as_default(), tf.Session() as session:
    return session.run(tf.image.decode_png(tf.read_file(path), channels=3))


@pytest.fixture
def matplotlib():
  return pytest.importorskip('matplotlib')


def test_pictures_lie_in_rows_with_their_lines_below(tmp_path, matplotlib):
  path = str(tmp_path / 'sheet.png')
  sheet = contact_sheet.ContactSheet(path, 5, 2)
  colors = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (90, 0, 90), (0, 99, 99)]
  for color in colors:
    # Names of files are no formulas, and long ones do not run on.
    sheet.add(plain(color), ['a_$x^$_' * 20, '$'])
  assert os.listdir(str(tmp_path)) == []
  sheet.write()
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
  below = [pixels[t + SIDE : t + SIDE + 30, x : x + SIDE] for t, x in corners]
  for text in below:
    assert 100 < (text < 100).all(axis=-1).sum() < text.size / 6
    np.testing.assert_array_equal(text, below[0])


def test_one_picture_and_none(tmp_path, matplotlib):
  path = str(tmp_path / 'sheet.png')
  sheet = contact_sheet.ContactSheet(path, 3, 1)
  sheet.write()
  assert not os.path.exists(path)
  sheet.add(plain(7), ['one'])
  sheet.write()
  assert SIDE < decoded(path).shape[1] < 1.5 * SIDE


def test_names_may_be_no_text_or_of_other_letters(
  tmp_path, matplotlib, recwarn
):
  path = str(tmp_path / 'sheet.png')
  sheet = contact_sheet.ContactSheet(path, 1, 2)
  sheet.add(plain(7), ['\udcff', '\u732b' * 30])
  sheet.write()
  assert os.path.exists(path)
  assert list(recwarn) == []


def test_what_cannot_be_drawn_is_told_at_once(tmp_path, matplotlib):
  taken = tmp_path / 'taken.png'
  taken.write_bytes(b'precious')
  for path, count, message in (
    (taken, 1, 'taken.png: is there already; expected a new file'),
    (tmp_path, 1, 'is there already'),
    (tmp_path / 'no' / 'x.png', 1, 'x.png: there is no such folder'),
    (tmp_path / 'x.png', 1001, 'found 1001 pictures; a sheet holds at most'),
  ):
    with pytest.raises(UserError, match='^--grid=.*' + message):
      contact_sheet.ContactSheet(str(path), count, 1)
  assert taken.read_bytes() == b'precious'


def test_without_matplotlib_it_is_one_line(monkeypatch):
  monkeypatch.setitem(sys.modules, 'matplotlib', None)
  monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
  with pytest.raises(UserError, match=r"pip install '\.\[plot\]'"):
    contact_sheet.ContactSheet('x.png', 1, 1)
