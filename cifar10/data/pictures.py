"""The user's own pictures: finding, reading and scaling them.

Pillow, an optional package, reads the files. `fit` scales a picture of any size
to the images of a data set, so that it can become a record.
"""

import functools
import io
import os
import sys
import warnings

import numpy as np

from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import optional_packages

try:
  from PIL import Image
  from PIL import ImageOps
except ImportError:
  pass  # `need_pillow` says so.

# Formats that Pillow opens, but that are unsafe or not pictures: EPS runs
# Ghostscript; the others are only recognized, or handed to plugins.
_REFUSED = frozenset(('BUFR', 'EPS', 'GRIB', 'HDF5', 'IPTC', 'MPEG', 'WMF'))
# Factors to 8 bits from gray levels of 2 and 4 bits, by Pillow's raw mode.
_GRAY_FACTORS = {'L;2': 85, 'L;4': 17}
_ORIENTATION = 0x0112  # The number of the EXIF tag.
_STRIP_PIXELS = 1 << 22  # To convert at a time.
_NUM_NAMED = 3  # Names of skipped files to print.


def need_pillow():
  """Raises UserError if Pillow is not installed."""
  optional_packages.need('PIL', 'pictures', 'reading pictures needs Pillow')


@functools.lru_cache(maxsize=None)
def _extensions():
  """The formats that are read: Pillow's names by extension, such as '.png'."""
  return {
      extension: name
      for extension, name in Image.registered_extensions().items()
      if name in Image.OPEN and name not in _REFUSED
  }


def find(names):
  """Replaces each folder in a list of paths by its pictures, see `in_folder`.

  `-`, for standard input, stays. Raises UserError if there are no pictures.
  """
  found = []
  for name in names:
    if os.path.isdir(name):
      inside = in_folder(name)
      report_others(name, inside)
      found += inside
    else:
      found.append(name)
  if not found:
    raise UserError(
        f'{", ".join(names) or "no arguments"}: no pictures found; expected '
        'files, folders of files in formats that Pillow reads, or - for a '
        'picture on standard input')
  return found


def in_folder(folder):
  """The paths of all pictures in a folder and its subfolders, sorted.

  A picture is a file with the extension of a format that is read. Skips hidden
  files and folders. Raises OSError if a folder cannot be read.
  """
  return sorted(path for path in _visible_files(folder)
                if os.path.splitext(path)[1].lower() in _extensions() and
                # A pipe would block its reader; `read` names a broken link.
                (os.path.isfile(path) or not os.path.exists(path)))


def report_others(folder, found):
  """Prints how many files in a folder are neither hidden nor in `found`."""

  def is_used(path):
    inside = os.path.join(path, '')
    return os.path.isdir(path) and any(p.startswith(inside) for p in found)

  others = set(_visible_files(folder)).difference(found)
  others = sorted(path for path in others if not is_used(path))
  if others:
    named = others[:_NUM_NAMED] + (['...'] if others[_NUM_NAMED:] else [])
    line = (f'{len(others)} other file{"s" if others[1:] else ""} in '
            f'{os.path.join(folder, "")} skipped: {", ".join(named)}')
    print(printable(line), file=sys.stderr)


def _visible_files(folder):
  """Yields the paths of files and linked folders that are not hidden."""
  for entry in os.scandir(folder):
    if entry.name.startswith('.'):
      continue
    if entry.is_dir(follow_symlinks=False):
      yield from _visible_files(entry.path)
    else:
      yield entry.path


def read(name):
  """Reads a picture of any size from a file, or `-` for standard input.

  Rotates it according to its EXIF orientation, puts transparent parts on a
  white background, and takes the first frame of an animation. Returns a
  PIL.Image.Image of mode L (gray) or RGB, 8 bits for each channel. Raises
  UserError if the file cannot be read, is damaged or is not a picture.
  """
  try:
    # Given a path, Pillow would map a TIFF file into memory, with height and
    # width exchanged if the file says that the picture is turned.
    is_stdin = name == '-'
    source = io.BytesIO(sys.stdin.buffer.read()) if is_stdin else open(
        name, 'rb')
    with source as file, warnings.catch_warnings():
      warnings.simplefilter('ignore')  # About large sizes and odd metadata.
      formats = sorted(set(_extensions().values()))
      with Image.open(file, formats=formats) as image:
        _scale_transparent_color(image)
        image.load()
        # Pillow rotates a TIFF file on loading; Pillow 9 would do so twice.
        is_turned = image.format != 'TIFF' and _ORIENTATION in image.getexif()
        return _flattened(
            ImageOps.exif_transpose(image) if is_turned else image)
  except Image.UnidentifiedImageError as error:
    raise UserError(
        f'{name}: not a picture; expected a format that Pillow reads, such as '
        'PNG or JPEG') from error
  # Pillow raises many types of exceptions for damaged files, even struct.error.
  except Exception as error:
    problem = getattr(error, 'strerror', None) or error
    raise UserError(f'{name}: cannot be read: {problem}') from error


def fit(image, size, channels):
  """Scales the largest central square of a PIL.Image.Image, with antialiasing.

  Takes 3 channels for red, green and blue, or 1 for gray. Returns a uint8
  array, [size, size, channels].
  """
  mode = 'L' if channels == 1 else 'RGB'
  if mode == 'L':
    image = image.convert(mode)
  if image.size != (size, size):
    width, height = image.size
    side = min(image.size)
    left, top = (width - side) / 2, (height - side) / 2
    # Two steps: which axis is first changes the pixels, and depends on Pillow.
    image = image.resize((size, height), Image.LANCZOS,
                         (left, 0, left + side, height))
    image = image.resize((size, size), Image.LANCZOS,
                         (0, top, size, top + side))
  # Gray becomes RGB when it is small: each copy takes memory.
  return np.asarray(image.convert(mode)).reshape(size, size, channels)


def _scale_transparent_color(image):
  """Scales the transparent color of a PNG file as Pillow scales its pixels."""
  color = image.info.get('transparency')
  if image.format == 'PNG' and color is not None:
    raw_mode = image.tile[0][3]
    if raw_mode == 'RGB;16B':
      image.info['transparency'] = tuple(level >> 8 for level in color)
    elif raw_mode in _GRAY_FACTORS:
      image.info['transparency'] = color * _GRAY_FACTORS[raw_mode]


def _flattened(image):
  """Converts a picture to mode L or RGB, on white; in strips, for memory."""
  if image.mode[0] in 'FI':
    image = _eight_bits(image)
  if image.mode in ('L', 'RGB') and 'transparency' not in image.info:
    return image
  (width, height), flat = image.size, None
  rows = max(1, _STRIP_PIXELS // width)
  for top in range(0, height, rows):
    strip = image.crop((0, top, width, min(top + rows, height)))
    has_alpha = strip.mode in ('LA', 'PA', 'RGBA', 'RGBa')
    if has_alpha or 'transparency' in strip.info:
      white = Image.new('RGBA', strip.size, 'white')
      strip = Image.alpha_composite(white, strip.convert('RGBA'))
    mode = 'L' if strip.mode in ('1', 'L') else 'RGB'
    flat = flat or Image.new(mode, image.size)
    flat.paste(strip.convert(mode), (0, top))
  return flat


def _eight_bits(image):
  """Scales gray levels of more than 8 bits, which Pillow would clip at 255.

  White is 65535 for integers and 1 or 255 for floats, if all levels fit.
  Otherwise, as for measurements, whose files do not say which level is white,
  the lowest becomes 0 and the highest 255. A transparent level becomes white.
  """
  levels = np.asarray(image)
  finite = levels[np.isfinite(levels)]
  low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
  if levels.dtype.kind == 'f' and 0 <= low and high <= 255:
    scaled = levels * (255 if high <= 1 else 1)
  elif levels.dtype.kind != 'f' and 0 <= low and high < 1 << 16:
    scaled = levels >> 8
  else:
    low, high = float(low), float(high)
    scaled = (levels.astype(np.float64) - low) * (255 / max(high - low, 1e-30))
  # A pixel that is not a number becomes black.
  scaled = np.round(np.clip(np.nan_to_num(scaled), 0, 255)).astype(np.uint8)
  if 'transparency' in image.info:
    scaled[levels == image.info['transparency']] = 255
  return Image.fromarray(scaled)
