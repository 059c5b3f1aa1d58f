"""The picture of the distortions: scripts/benchmarks/draw_augmentations.py."""

import os

from matplotlib import image as image_lib
import numpy as np

from cifar10.data import distortions
from tests import short_runs

draw_augmentations = short_runs.module_at(
    os.path.join(short_runs.ROOT, 'scripts', 'benchmarks',
                 'draw_augmentations.py'))


def test_a_row_for_each_distortion(tmp_path):
  figure = draw_augmentations.draw()
  (axes,) = figure.axes
  names = [label.get_text() for label in axes.get_yticklabels()]
  assert set(names) == {*distortions.NAMES, 'none', "the tutorial's", 'all'
                       } - {'alternating_flip'}
  sheet = axes.get_images()[0].get_array()
  # 24 pixels, and a line between; two of each of four images.
  assert sheet.shape == (25 * len(names), 25 * 8, 3)
  rows = np.split(np.asarray(sheet), len(names))
  same, flipped = rows[names.index('none')], rows[names.index('flip')]
  first, again = np.split(same[:, :50], 2, axis=1)
  assert (first == again).all() and not (same == flipped).all()
  # Each pixel of an image is 4 x 4 of the file.
  out = str(tmp_path / 'out.png')
  draw_augmentations.charts.save_png(figure, out, has_photos=True,
                                     bbox_inches=None)
  picture = image_lib.imread(out)
  assert picture.shape[:2] == (100 * len(names), 1000)
  assert os.path.getsize(out) < 160000
