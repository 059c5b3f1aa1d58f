"""Folders of pictures, and processes that make data sets of them."""

import os
import subprocess
import sys

import numpy as np
from PIL import Image

from tests import short_runs

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'make_dataset.py')


def noise(count, size=8, channels=3, seed=0):
  """Images that are all different: uint8 [count, size, size, channels]."""
  random = np.random.RandomState(seed)
  shape = (count, size, size, channels)
  return random.randint(0, 256, shape).astype(np.uint8)


def write_pngs(folder, images):
  """Writes images as 0.png, 1.png, ... into a folder, which is made."""
  folder.mkdir(parents=True, exist_ok=True)
  for number, image in enumerate(images):
    pixels = image[..., 0] if image.shape[2] == 1 else image
    Image.fromarray(pixels).save(str(folder / ('%d.png' % number)))


def write_noise(folder, counts, size=8, channels=3):
  """Writes PNGs of noise into folders of classes: [(class, image)]."""
  made = []
  for seed, (name, count) in enumerate(sorted(counts.items())):
    images = noise(count, size, channels, seed)
    write_pngs(folder / name, images)
    made += [(name, image) for image in images]
  return made


def shapes(count, size, seed=0):
  """Images of three classes: {name: uint8 [count, size, size, 3]}.

  Red discs, green squares and blue triangles on grey, anywhere in the image.
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
      inside = (
        top**2 + left**2 < radius**2,
        np.maximum(abs(top), abs(left)) < radius,
        (abs(top) < radius) & (2 * abs(left) < top + radius),
      )[label]
      colour = random.randint(0, 60, 3)
      colour[label] = random.randint(180, 256)
      image[inside] = colour
    drawn[name] = images
  return drawn


def make_dataset(folder, out, *flags):
  """Runs the script: returns status, output and error output."""
  process = subprocess.Popen(
    [sys.executable, SCRIPT, str(folder), '--out=%s' % out] + list(flags),
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    universal_newlines=True,
  )
  out, err = process.communicate(timeout=300)
  return process.returncode, out, err
