"""The user's own pictures: finding, reading and scaling them."""

import io
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image
import pytest

from cifar10.data import pictures
from cifar10.errors import UserError
from tests.picture_folders import noise
from tests.picture_folders import save


def read(path, size=8, channels=3):
  return pictures.fit(pictures.read(path), size, channels)


@pytest.mark.parametrize(
    'error, kinds',
    [(0, ['png', 'bmp', 'tif', 'tga', 'ppm', 'pcx', 'ico', 'sgi']),
     (3, ['jpg', 'gif', 'webp', 'avif', 'jp2']),])
def test_each_format_is_read(tmp_path, error, kinds):
  pixels = np.full([16, 16, 3], (200, 100, 50), np.uint8)
  if error == 0:
    pixels = noise(16, 16)
  # Some versions of Pillow do not know all of them.
  for kind in set(kinds) & {k[1:] for k in Image.registered_extensions()}:
    path = save(tmp_path / ('x.' + kind), pixels, quality=95)
    found = read(path, 16).astype(int)
    assert np.abs(found - pixels).max() <= error, kind
    assert path in pictures.in_folder(str(tmp_path))


def test_gray_is_repeated_for_colors(tmp_path):
  gray = noise(8, 8, 1)
  path = save(tmp_path / 'y.png', gray)
  np.testing.assert_array_equal(read(path, channels=1), gray)
  np.testing.assert_array_equal(read(path), gray.repeat(3, axis=2))


@pytest.mark.parametrize(
    'content', [
        b'', b'hello', b'\0\0\1\xb3' + bytes(99),
        b'\x89HDF\r\n\x1a\n' + bytes(99), b'GRIB\0\0\0\1' + bytes(99),
        b'\xd7\xcd\xc6\x9a\0\0' + bytes(99), b'%PDF-1.4' + bytes(99),
        b'BUFR' + bytes(99), None
    ],
    ids=['empty', 'text', 'MPEG', 'HDF5', 'GRIB', 'WMF', 'PDF', 'BUFR', 'EPS'])
def test_what_is_no_picture_or_runs_a_program_is_refused(tmp_path, content):
  path = tmp_path / 'x.png'  # The content counts, not the name.
  if content is None:
    save(tmp_path / 'x.eps', noise(8, 8))
    (tmp_path / 'x.eps').rename(path)
  else:
    path.write_bytes(content)
  with pytest.raises(UserError, match='x.png: not a picture; expected a form'):
    pictures.read(str(path))


@pytest.mark.parametrize('kind', ['gif', 'png', 'webp', 'tif'])
def test_the_first_frame_of_an_animation_is_read(tmp_path, kind):
  frames = [Image.fromarray(np.full([8, 8], v, np.uint8)) for v in (9, 200)]
  path = str(tmp_path / ('x.' + kind))
  frames[0].save(path, save_all=True, append_images=frames[1:], lossless=True)
  assert (read(path) == 9).all()


def test_transparent_parts_are_put_on_white(tmp_path):
  pixels = noise(8, 8, 4)
  found = read(save(tmp_path / 'x.png', pixels)).astype(int)
  color, alpha = pixels[..., :3].astype(float), pixels[..., 3:] / 255
  expected = color * alpha + 255 * (1 - alpha)
  assert np.abs(found - expected).max() <= 1


def png(pixels, bits, color):
  """A PNG file of gray levels or colors, [height, width] or [..., 3].

  Pillow does not write those with these numbers of bits and one transparent
  color.
  """

  def chunk(name, *values):
    content = name + b''.join(values)
    crc = struct.pack('>I', zlib.crc32(content))
    return struct.pack('>I', len(content) - 4) + content + crc

  height, width = pixels.shape[:2]
  values = pixels.reshape(height, -1).astype('>u2').view(np.uint8)
  ones_and_zeros = np.unpackbits(values).reshape(height, -1, 16)[..., -bits:]
  rows = np.packbits(ones_and_zeros.reshape(height, -1), axis=1)
  kind = 2 if pixels.ndim == 3 else 0
  return b'\x89PNG\r\n\x1a\n' + b''.join([
      chunk(b'IHDR', struct.pack('>IIBB', width, height, bits, kind), bytes(3)),
      chunk(b'tRNS',
            np.array(color, '>u2').tobytes()),
      chunk(b'IDAT', zlib.compress(np.pad(rows, [(0, 0), (1, 0)]).tobytes())),
      chunk(b'IEND')
  ])


@pytest.mark.parametrize('channels, bits', [(1, 1), (1, 2), (1, 4), (1, 8),
                                            (1, 16), (3, 8), (3, 16)])
def test_one_transparent_color_is_made_white(tmp_path, channels, bits):
  pixels = np.random.RandomState(0).randint(0, 1 << bits, [8, 8, channels])
  pixels[..., 1:] &= -2  # So the first level is not white.
  pixels = pixels.squeeze() if channels == 1 else pixels
  color = pixels[5, 5]
  (tmp_path / 'x.png').write_bytes(png(pixels, bits, color))
  expected = pixels * 255 // ((1 << bits) - 1) if bits < 16 else pixels >> 8
  is_transparent = (pixels == color).reshape(8, 8, -1).all(axis=2)
  assert is_transparent.any() and not is_transparent.all()
  expected[is_transparent] = 255
  found = read(str(tmp_path / 'x.png')).reshape(8, 8, 3)
  np.testing.assert_array_equal(
      found,
      expected.reshape(8, 8, -1) + np.zeros([8, 8, 3], int))


@pytest.mark.parametrize('mode', ['LA', 'PA', 'P'])
def test_transparency_of_gray_and_palettes_is_put_on_white(tmp_path, mode):
  pixels = np.zeros([8, 8, 4], np.uint8)
  pixels[:4, :, 3] = 255  # Black above, transparent below.
  image = Image.fromarray(pixels)
  if mode == 'LA':
    image = image.convert('LA')
  kind = {'LA': 'png', 'P': 'gif', 'PA': 'webp'}[mode]
  image.save(str(tmp_path / ('x.' + kind)), lossless=True)
  found = read(str(tmp_path / ('x.' + kind)))
  assert found[:4].max() == 0 and found[4:].min() == 255


LEVELS = np.arange(256).reshape(16, 16)


# Integers of 16 bits; then levels of which the file does not say what is white.
@pytest.mark.parametrize('kind, levels', [
    ('png', (LEVELS * 256 + 200).astype(np.uint16)),
    ('tif', (LEVELS * 256 + 200).astype(np.uint16)),
    ('tif', (LEVELS * 1000000 - 5).astype(np.int32)),
    *(('tif', (LEVELS * scale + shift).astype(np.float32))
      for scale, shift in ((1 / 255, 0), (1, 0), (3, 0), (1, -99),
                           (1e-2, 700)))
])  # yapf: disable
def test_levels_are_scaled_to_8_bits(tmp_path, kind, levels):
  found = read(save(tmp_path / ('x.' + kind), levels), 16, 1)[..., 0]
  np.testing.assert_array_equal(found, LEVELS)


def test_levels_that_are_not_numbers_are_black(tmp_path):
  levels = np.full([8, 8], 0.5, np.float32)
  levels[0] = np.nan
  found = read(save(tmp_path / 'x.tif', levels))
  assert found[0].max() == 0 and set(found[1:].ravel()) == {128}
  levels[:] = np.nan
  assert read(save(tmp_path / 'x.tif', levels)).max() == 0


@pytest.mark.parametrize('mode, color, expected',
                         [('1', 1, (255, 255, 255)),
                          ('CMYK', (55, 225, 215, 0), (200, 30, 40)),
                          ('LAB', (255, 128, 128), (255, 255, 255)),
                          ('RGBA', (200, 30, 40, 255), (200, 30, 40))])
def test_every_mode_becomes_gray_or_rgb(tmp_path, mode, color, expected):
  path = str(tmp_path / 'x.tif')
  Image.new(mode, (8, 8), color).save(path)
  assert pictures.read(path).mode == ('L' if mode == '1' else 'RGB')
  assert np.abs(read(path).astype(int) - expected).max() <= 1


@pytest.mark.parametrize('kind', ['jpg', 'webp', 'png'])
def test_exif_orientation_is_applied_once(tmp_path, kind):
  pixels = np.zeros([8, 8, 3], np.uint8)
  pixels[:4] = 255
  exif = Image.Exif()
  exif[0x0112] = 6  # Rotate clockwise by 90 degrees.
  found = read(save(tmp_path / ('x.' + kind), pixels, exif=exif))
  assert found[:, :3].max() < 60 and found[:, 5:].min() > 190


@pytest.mark.parametrize('mode', ['L', 'P', 'LA', 'RGB', 'RGBA', 'CMYK'])
def test_a_tiff_of_any_mode_is_turned(tmp_path, mode):
  exif = Image.Exif()
  exif[0x0112] = 6
  image = Image.fromarray(noise(30, 50)).convert(mode)
  image.save(str(tmp_path / 'x.tif'), exif=exif)
  upright = image.transpose(Image.ROTATE_270)
  expected = upright.convert('L' if mode == 'L' else 'RGB')
  found = pictures.read(str(tmp_path / 'x.tif'))
  assert found.mode == expected.mode
  np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize('channels', [2, 4])
def test_a_picture_is_the_same_in_strips(tmp_path, monkeypatch, channels):
  path = save(tmp_path / 'x.png', noise(9, 7, channels))
  whole = np.asarray(pictures.read(path))
  monkeypatch.setattr(pictures, '_STRIP_PIXELS', 15)
  np.testing.assert_array_equal(np.asarray(pictures.read(path)), whole)


@pytest.mark.parametrize('shape', [(80, 160), (160, 80)])
def test_the_central_square_of_a_large_picture_is_averaged(tmp_path, shape):
  # A checkerboard in the central square, which becomes gray. The rest is cut
  # off.
  pixels = np.full(shape + (3,), 77, np.uint8)
  board = np.indices((80, 80)).sum(0) % 2 * 255
  top, left = (shape[0] - 80) // 2, (shape[1] - 80) // 2
  pixels[top:top + 80, left:left + 80] = board[..., np.newaxis]
  found = read(save(tmp_path / 'x.png', pixels)).astype(int)
  assert np.abs(found - 127.5).max() < 12


def test_files_and_folders_are_found_in_order(tmp_path):
  for name in ('b/2.PNG', 'b/1.jpeg', 'b/.3.png', '.c/4.png', 'a.gif', 'x.txt'):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b'')
  os.mkfifo(str(tmp_path / 'pipe.png'))
  folder = str(tmp_path)
  assert pictures.find(['-', folder, 'x.txt']) == [
      '-', folder + '/a.gif', folder + '/b/1.jpeg', folder + '/b/2.PNG', 'x.txt'
  ]
  (tmp_path / 'empty').mkdir()
  empty = str(tmp_path / 'empty')
  for names, found in (([empty], empty), ([], 'no arguments')):
    with pytest.raises(UserError, match=f'^{found}: no pictures found; expect'):
      pictures.find(names)


def test_other_files_of_a_folder_are_counted_on_one_line(tmp_path, capsys):
  for name in ('a/1.png', 'b/2.jpg', 'b/.hidden', '.git/config', 'c/3.TIFF'):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b'')
  folder = str(tmp_path)
  assert len(pictures.find([folder])) == 3
  assert capsys.readouterr() == ('', '')
  for name in ('b/film.mp4', 'x\ny.txt', 'drawing.eps', 'data.h5'):
    (tmp_path / name).write_bytes(b'')
  for given in (folder, folder + '/'):
    pictures.find([given, folder + '/a/1.png'])
    assert capsys.readouterr().err == (
        '4 other files in {0}/ skipped: {0}/b/film.mp4, {0}/data.h5, '
        '{0}/drawing.eps, ...\n'.format(folder))


def test_standard_input_is_read(tmp_path, monkeypatch):
  pixels = noise(8, 8)
  save(tmp_path / 'x.png', pixels)
  content = io.BytesIO((tmp_path / 'x.png').read_bytes())
  monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(content))
  np.testing.assert_array_equal(read('-'), pixels)


def test_a_truncated_file_is_named(tmp_path):
  for kind in ('png', 'jpg', 'bmp', 'gif', 'tif', 'webp'):
    path = tmp_path / ('x.' + kind)
    save(path, noise(50, 50))
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(UserError, match='x.%s: cannot be read' % kind):
      read(str(path))


def test_a_file_with_damaged_metadata_is_named(tmp_path):
  # Two EXIF entries: the width as text, and an orientation, because of which
  # Pillow writes all entries again and fails.
  exif = struct.pack('<2sHLH', b'II', 42, 8, 2)
  exif += struct.pack('<HHL4s', 0x0100, 2, 4, b'big')
  exif += struct.pack('<HHLHxx', 0x0112, 3, 1, 6) + bytes(4)
  path = save(tmp_path / 'x.jpg', noise(8, 8), exif=b'Exif\x00\x00' + exif)
  with pytest.raises(UserError, match='x.jpg: cannot be read'):
    read(path)


def test_a_large_picture_is_read_silently(tmp_path, monkeypatch, recwarn):
  path = save(tmp_path / 'x.png', noise(20, 20))
  monkeypatch.setattr(Image, 'MAX_IMAGE_PIXELS', 300)
  assert pictures.read(path).size == (20, 20)
  assert list(recwarn) == []
  monkeypatch.setattr(Image, 'MAX_IMAGE_PIXELS', 100)
  with pytest.raises(UserError, match='x.png: cannot be read: .*400 pixels'):
    pictures.read(path)
