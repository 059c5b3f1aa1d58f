"""The user's own pictures: finding, reading and scaling them.

Pillow, an optional package, reads the files, in all of its formats except those
below. `fit` scales a picture of any size to the image size of a data set, so
that it can become a record and pass through the same graph as the images that
the model is trained on.
"""

import functools
import io
import os
import stat
import sys
import warnings

import numpy as np

from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import optional_packages

# What Pillow opens, but is no picture or not safe: EPS runs Ghostscript, a
# program of its own; it only recognizes the others, or hands them to plugins.
_NO_PICTURES = frozenset(('BUFR', 'EPS', 'GRIB', 'HDF5', 'IPTC', 'MPEG', 'WMF'))
_MODES = {1: 'L', 3: 'RGB'}
_NUM_NAMED = 3  # How many of the files that are skipped are named.


def need_pillow():
  """Checks that Pillow is installed.

  Raises:
    UserError: it is not installed.
  """
  optional_packages.need('PIL', 'pictures', 'reading pictures needs Pillow')


@functools.lru_cache(maxsize=None)
def _extensions():
  """The formats that are read: a dict of Pillow's names by '.png' and so on."""
  from PIL import Image

  return {
    extension: name
    for extension, name in Image.registered_extensions().items()
    if name in Image.OPEN and name not in _NO_PICTURES
  }


def find(names):
  """Replaces each folder by the pictures in it.

  Prints how many other files there are in a folder.

  Args:
    names: list of paths of files and folders, and `-` for standard input.

  Returns:
    List of paths, and `-`. In the place of a folder stand the pictures in it
    and in its subfolders, sorted, without hidden ones.

  Raises:
    OSError: a folder cannot be read.
    UserError: there are no pictures.
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
      '%s: no pictures found; expected files, folders of files in formats that '
      'Pillow reads, or - for a picture on standard input'
      % (', '.join(names) or 'no arguments')
    )
  return found


def in_folder(folder):
  """The paths of all pictures in a folder and its subfolders.

  A picture is a file with the extension of a format that is read. Skips hidden
  files and folders, and named pipes.

  Args:
    folder: path of the folder.

  Returns:
    Sorted list of paths.

  Raises:
    OSError: a folder cannot be read.
  """
  return sorted(
    path
    for path in _visible_files(folder)
    if os.path.splitext(path)[1].lower() in _extensions() and not _is_pipe(path)
  )


def report_others(folder, found):
  """Prints how many files in a folder are skipped, in one line, if any are.

  Does not count hidden files.

  Args:
    folder: path of the folder.
    found: iterable of the paths of the files in it that are not skipped.
  """
  others = sorted(set(_visible_files(folder)).difference(found))
  if others:
    line = '%d other file%s in %s skipped: %s%s' % (
      len(others),
      's' if others[1:] else '',
      os.path.join(folder, ''),
      ', '.join(others[:_NUM_NAMED]),
      ', ...' if others[_NUM_NAMED:] else '',
    )
    print(printable(line), file=sys.stderr)


def _visible_files(folder):
  """Yields the paths of the files in a folder and its subfolders.

  Leaves out hidden files and hidden folders.

  Raises:
    OSError: a folder cannot be read.
  """

  def fail(error):
    raise error

  for path, folders, names in os.walk(folder, onerror=fail):
    folders[:] = [name for name in folders if not name.startswith('.')]
    for name in names:
      if not name.startswith('.'):
        yield os.path.join(path, name)


def _is_pipe(path):
  """Whether `path` is a named pipe, which would block a reader."""
  return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def read(name):
  """Reads a picture of any size, in 8 bits for each channel.

  Rotates it according to its EXIF orientation, puts transparent parts on a
  white background, and takes the first frame of an animation.

  Args:
    name: path of a file in a format that Pillow reads, or `-` for standard
      input.

  Returns:
    PIL.Image.Image of mode L, for gray, or RGB.

  Raises:
    UserError: the file cannot be read, is damaged or is not a picture.
  """
  from PIL import Image
  from PIL import ImageOps

  try:
    source = io.BytesIO(sys.stdin.buffer.read()) if name == '-' else name
    formats = sorted(set(_extensions().values()))
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # About large sizes and odd metadata.
      with Image.open(source, formats=formats) as image:
        # Pillow rotates a TIFF file on loading; Pillow 9 would do so twice.
        rotated = image.format == 'TIFF'
        upright = image if rotated else ImageOps.exif_transpose(image)
        flat = _on_white(_eight_bits(upright))
        return flat.convert('L' if flat.mode in ('1', 'L') else 'RGB')
  except Image.UnidentifiedImageError as error:
    raise UserError(
      '%s: not a picture; expected a format that Pillow reads, such as PNG or '
      'JPEG' % name
    ) from error
  # Pillow raises many types of exceptions for damaged files, even struct.error.
  except Exception as error:
    problem = getattr(error, 'strerror', None) or error
    raise UserError('%s: cannot be read: %s' % (name, problem)) from error


def fit(image, size, channels):
  """Scales the largest central square of a picture to size x size pixels.

  The filter has antialiasing: each pixel of the result is a weighted mean of
  all pixels that it covers. A picture of the right size is not changed.

  Args:
    image: PIL.Image.Image, as `read` returns it.
    size: height and width of the result, in pixels.
    channels: 3 for red, green and blue, or 1 for gray.

  Returns:
    uint8 array, [size, size, channels].
  """
  from PIL import Image
  from PIL import ImageOps

  image = image.convert(_MODES[channels])
  if image.size != (size, size):
    image = ImageOps.fit(image, (size, size), Image.LANCZOS)
  return np.asarray(image, np.uint8).reshape(size, size, channels)


def _eight_bits(image):
  """Scales levels of more than 8 bits, which Pillow would clip at 255."""
  from PIL import Image

  if image.mode == 'F':
    levels = _scale_floats(np.asarray(image))
  elif image.mode[0] == 'I':
    levels = np.asarray(image)
    if levels.min() >= 0 and levels.max() < 1 << 16:
      levels = (levels >> 8).astype(np.uint8)
    else:
      levels = _stretch(levels)
  else:
    return image
  return Image.fromarray(levels)


def _scale_floats(levels):
  """Scales float gray levels to uint8; white is 1 or 255 if all levels fit."""
  finite = levels[np.isfinite(levels)]
  for white in (1, 255):
    if finite.size and finite.min() >= 0 and finite.max() <= white:
      return _to_uint8(levels * (255 / white))
  return _stretch(levels)


def _stretch(levels):
  """Scales gray levels of any range to uint8, the lowest to 0, the highest 255.

  For measurements, whose files do not say which level is white.
  """
  levels = levels.astype(np.float64)
  finite = levels[np.isfinite(levels)]
  if not finite.size or finite.min() == finite.max():
    return np.zeros(levels.shape, np.uint8)
  low, high = finite.min(), finite.max()
  return _to_uint8((levels - low) * (255 / (high - low)))


def _to_uint8(levels):
  """Rounds levels from 0 to 255; a pixel that is not a number becomes black."""
  return np.round(np.clip(np.nan_to_num(levels), 0, 255)).astype(np.uint8)


def _on_white(image):
  """Composites a picture with transparency onto white."""
  from PIL import Image

  modes = ('LA', 'PA', 'RGBA', 'RGBa')
  if image.mode not in modes and 'transparency' not in image.info:
    return image
  image = image.convert('RGBA')
  white = Image.new('RGBA', image.size, 'white')
  return Image.alpha_composite(white, image)
