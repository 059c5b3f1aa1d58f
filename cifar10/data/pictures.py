"""The user's own pictures: finding, reading and scaling them.

Pillow, an optional package, reads the files. `fit` scales a picture of any size
to the image size of a data set, so that it can become a record and pass through
the same graph as the images that the model is trained on.
"""

import io
import os
import stat
import sys
import warnings

import numpy as np

from cifar10.errors import UserError
from cifar10.util import optional_packages

_EXTENSIONS = ('.bmp', '.gif', '.jpeg', '.jpg', '.png')
_FORMATS = ('BMP', 'GIF', 'JPEG', 'PNG')
_MODES = {1: 'L', 3: 'RGB'}


def need_pillow():
  """Checks that Pillow is installed.

  Raises:
    UserError: it is not installed.
  """
  optional_packages.need('PIL', 'pictures', 'reading pictures needs Pillow')


def find(names):
  """Replaces each folder by the pictures in it.

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
    found += in_folder(name) if os.path.isdir(name) else [name]
  if not found:
    raise UserError(
      '%s: no pictures found; expected files, folders with %s files, or - for '
      'a picture on standard input'
      % (', '.join(names) or 'no arguments', ' '.join(_EXTENSIONS))
    )
  return found


def in_folder(folder):
  """The paths of all pictures in a folder and its subfolders.

  Skips hidden files and folders, and named pipes.

  Args:
    folder: path of the folder.

  Returns:
    Sorted list of paths.

  Raises:
    OSError: a folder cannot be read.
  """

  def fail(error):
    raise error

  found = []
  for path, folders, names in os.walk(folder, onerror=fail):
    folders[:] = [name for name in folders if not name.startswith('.')]
    found += [
      os.path.join(path, name)
      for name in names
      if name.lower().endswith(_EXTENSIONS)
      and not name.startswith('.')
      and not _is_pipe(os.path.join(path, name))
    ]
  return sorted(found)


def _is_pipe(path):
  """Whether `path` is a named pipe, which would block a reader."""
  return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def read(name):
  """Reads a picture of any size.

  Rotates it according to its EXIF orientation, puts transparent parts on a
  white background, and takes the first frame of an animation.

  Args:
    name: path of a PNG, JPEG, BMP or GIF file, or `-` for standard input.

  Returns:
    PIL.Image.Image, gray or in color, without transparency.

  Raises:
    UserError: the file cannot be read, is damaged or is not a picture.
  """
  from PIL import Image
  from PIL import ImageOps

  try:
    source = io.BytesIO(sys.stdin.buffer.read()) if name == '-' else name
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # About large sizes and odd metadata.
      with Image.open(source, formats=_FORMATS) as image:
        return _on_white(_eight_bits(ImageOps.exif_transpose(image)))
  except Image.UnidentifiedImageError as error:
    raise UserError(
      '%s: not a picture; expected PNG, JPEG, BMP or GIF' % name
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
  """Converts 16-bit gray to 8 bits by scaling; Pillow would clip at 255."""
  if not image.mode.startswith('I'):
    return image
  from PIL import Image

  return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _on_white(image):
  """Composites a picture with transparency onto white."""
  from PIL import Image

  if (
    image.mode not in ('LA', 'PA', 'RGBA') and 'transparency' not in image.info
  ):
    return image
  image = image.convert('RGBA')
  white = Image.new('RGBA', image.size, 'white')
  return Image.alpha_composite(white, image)
