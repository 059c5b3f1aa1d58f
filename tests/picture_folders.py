"""Picture files and folders of them, for tests, and data sets made of them."""

import numpy as np
from PIL import Image

from tests import processes
from tests import short_runs


def noise(height, width, channels=3, seed=0):
  """Random pixels: uint8 [height, width, channels]."""
  random = np.random.RandomState(seed)
  return random.randint(0, 256, (height, width, channels)).astype(np.uint8)


def save(path, pixels, **options):
  """Saves a picture in the format of its extension; returns the path, a string.

  Takes uint8 [height, width, channels], or [height, width] for gray, and the
  options of the format, as Pillow takes them.
  """
  if pixels.ndim == 3 and pixels.shape[2] == 1:
    pixels = pixels[..., 0]
  Image.fromarray(pixels).save(str(path), **options)
  return str(path)


def write_pngs(folder, images):
  """Writes images as 0.png, 1.png, ... into a folder; makes the folder."""
  folder.mkdir(parents=True, exist_ok=True)
  for number, image in enumerate(images):
    save(folder / ('%d.png' % number), image)


def write_noise(folder, counts, size=8, channels=3):
  """Writes PNG files of noise into class folders, which are in a folder.

  `counts` is a dict of class name: number of pictures. Returns a list of (class
  name, image), no two alike.
  """
  made = []
  for name, count in sorted(counts.items()):
    seeds = range(len(made), len(made) + count)
    images = [noise(size, size, channels, seed) for seed in seeds]
    write_pngs(folder / name, images)
    made += [(name, image) for image in images]
  return made


def shapes(count, size, seed=0):
  """Images of three classes: {name: uint8 [count, size, size, 3]}.

  Red discs, green squares and blue triangles on gray, anywhere in the image.
  """
  random = np.random.RandomState(seed)
  y, x = np.mgrid[:size, :size]
  drawn = {}
  for label, name in enumerate(('disc', 'square', 'triangle')):
    images = random.randint(90, 160, (count, size, size, 3)).astype(np.uint8)
    for image in images:
      radius = random.randint(size // 5, size // 3)
      middle = random.randint(radius, size - radius, 2)
      top, left = y - middle[0], x - middle[1]
      inside = (top**2 + left**2 < radius**2, np.maximum(abs(top),
                                                         abs(left)) < radius,
                (abs(top) < radius) & (2 * abs(left) < top + radius))[label]
      color = random.randint(0, 60, 3)
      color[label] = random.randint(180, 256)
      image[inside] = color
    drawn[name] = images
  return drawn


def make_dataset(folder, out, *flags):
  """Runs make_dataset.py; returns its status, output and error output."""
  script = short_runs.script('make_dataset')
  return processes.run([script, str(folder), '--out=%s' % out, *flags])
