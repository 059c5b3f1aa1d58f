"""People's own pictures: found, read, and brought to the shape of a data set.

Pillow, an extra, reads the files. A picture of any size becomes a record of
the data set, so that all that comes after treats it as it treats the images
that the model is trained on.
"""

import io
import os
import stat
import sys
import warnings

import numpy as np

from cifar10.util import optional_packages
from cifar10.errors import UserError

_EXTENSIONS = ('.bmp', '.gif', '.jpeg', '.jpg', '.png')
_FORMATS = ('BMP', 'GIF', 'JPEG', 'PNG')
_MODES = {1: 'L', 3: 'RGB'}


def need_pillow():
  """Checks that Pillow is there.

  Raises:
    UserError: it is not.
  """
  optional_packages.need('PIL', 'pictures', 'pictures are read with Pillow')


def find(names):
  """The pictures that `names` stand for.

  Args:
    names: list of files, folders, and `-` for standard input.

  Returns:
    List of them, with each folder replaced by the pictures in it and in all
    folders below, sorted; hidden ones are left out.

  Raises:
    OSError: a folder cannot be read.
    UserError: there is none.
  """
  found = []
  for name in names:
    found += in_folder(name) if os.path.isdir(name) else [name]
  if not found:
    raise UserError(
      '%s: no picture found; expected files, folders with %s files, or - for '
      'a picture on standard input'
      % (', '.join(names) or 'no arguments', ' '.join(_EXTENSIONS))
    )
  return found


def in_folder(folder):
  """The paths of all pictures in a folder and those below, sorted.

  Hidden files and folders are passed over.

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
  """Whether to read it would wait for another process."""
  return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def read(name):
  """Reads a picture, whole and of any size.

  The way up is the one that its camera has noted, what is transparent is on
  white, and of several frames the first is taken.

  Args:
    name: path of a PNG, JPEG, BMP or GIF file, or `-` for standard input.

  Returns:
    PIL.Image.Image, grey or in colour, without transparency.

  Raises:
    UserError: it cannot be read, is damaged or is no picture.
  """
  from PIL import Image
  from PIL import ImageOps

  try:
    source = io.BytesIO(sys.stdin.buffer.read()) if name == '-' else name
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # Of large sizes, and odd notes.
      with Image.open(source, formats=_FORMATS) as image:
        return _on_white(_eight_bits(ImageOps.exif_transpose(image)))
  except Image.UnidentifiedImageError as error:
    raise UserError(
      '%s: no picture; expected PNG, JPEG, BMP or GIF' % name
    ) from error
  # For a damaged file Pillow has errors of many kinds, struct.error too.
  except Exception as error:
    problem = getattr(error, 'strerror', None) or error
    raise UserError('%s: cannot be read: %s' % (name, problem)) from error


def fit(image, size, channels):
  """The middle square of a picture, as large as can be, scaled to `size`.

  Each pixel of the result is made of all that it covers, so that nothing is
  passed over in a large photograph. A picture of `size` stays as it is.

  Args:
    image: PIL.Image.Image, as `read` gives it.
    size: height and width of the result, in pixels.
    channels: 3 for red, green and blue, or 1 for grey.

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
  """A grey picture of 16 bits as one of 8, which Pillow would cut off."""
  if not image.mode.startswith('I'):
    return image
  from PIL import Image

  return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _on_white(image):
  """A picture without transparency."""
  from PIL import Image

  if (
    image.mode not in ('LA', 'PA', 'RGBA') and 'transparency' not in image.info
  ):
    return image
  image = image.convert('RGBA')
  white = Image.new('RGBA', image.size, 'white')
  return Image.alpha_composite(white, image)


def record(image, layout, label=0):
  """An image as a record of a data set.

  Args:
    image: uint8 array, [layout.height, layout.width, layout.depth].
    layout: dataset.Layout with one label.
    label: integer.

  Returns:
    uint8 array, [layout.record_bytes].
  """
  labels = [label >> 8 * i & 255 for i in range(layout.label_bytes)][::-1]
  return np.concatenate(
    [np.array(labels, np.uint8), image.transpose(2, 0, 1).ravel()]
  )
