"""Draws the data flow of a training step: docs/tutorial/step.svg.

    python scripts/pages/draw_step.py docs/tutorial/step.svg

The numbers are those of the code, for two towers with the default settings.
"""

import os
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import shuffle_queue
from cifar10.settings import Settings
import svg

_SETTINGS = Settings(num_gpus=2)
_LEFT, _RIGHT = 12, svg.WIDTH - 12
_MIDDLE = svg.WIDTH / 2
_PARTS = 124  # The middle of what is on the left, with its text on the right.
_TEXT = 240
# The upper edges of the parts, from top to bottom.
_FILES, _READING, _RAW, _DISTORTING, _READY = 14, 82, 276, 344, 464
_TOWERS, _UPDATE, _END = 544, 740, 976


def _text(picture, y, title, note):
  picture.text(_TEXT, y, title, bold=True)
  picture.text(_TEXT, y + 22, note, size=svg.NOTE)


def _down(picture, x, start, end):
  picture.arrow(f'M{x:g} {start}V{end - 2}')


def _queue(picture, y, title, note):
  """A queue, 44 pixels high: cells in a row, and what it holds."""
  for cell in range(6):
    picture.rect(_PARTS - 90 + 31 * cell, y, 25, 44, 'gray', radius=2)
  _text(picture, y + 18, title, note)


def _reading(picture):
  """From the files to batches of records that are shuffled."""
  paths = datasets.in_folder('').train_files
  for number in range(len(paths)):
    x = _PARTS - 90 + 38 * number
    picture.add(f'<path class="gray" d="M{x} {_FILES}h20l8 8v36h-28z"/>')
  first, last = (os.path.basename(path) for path in (paths[0], paths[-1]))
  _text(picture, _FILES + 18, f'{first}, …', f'to {last}')
  _down(picture, _PARTS, _FILES + 44, _READING + 40)
  picture.area(_LEFT, _READING, _RIGHT - _LEFT, 168,
               'One thread reads and shuffles', indent=_TEXT - _LEFT)
  picture.box(_PARTS - 90, _READING + 40, 180, 40, ['reader'])
  picture.text(_TEXT, _READING + 66,
               f'{cifar10_input._RECORDS_PER_READ:,} records at a time',
               size=svg.NOTE)
  _down(picture, _PARTS, _READING + 80, _READING + 104)
  records = cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN
  _queue(picture, _READING + 104, 'shuffle queue',
         f'a whole epoch: {records:,} records, in random order')
  _down(picture, _PARTS, _READING + 148, _RAW)
  _queue(
      picture, _RAW, 'queue of raw batches',
      f'{shuffle_queue._RAW_BATCHES} batches of '
      f'{_SETTINGS.examples_per_machine} records')


def _distorting(picture):
  """From records to images that wait for the next step."""
  _down(picture, _PARTS, _RAW + 44, _DISTORTING + 38)
  picture.area(
      _LEFT, _DISTORTING, _RIGHT - _LEFT, 92,
      f'{cifar10_input.NUM_PREPROCESS_THREADS} threads distort, '
      'a batch each', indent=_TEXT - _LEFT)
  picture.box(_PARTS - 90, _DISTORTING + 38, _RIGHT - _PARTS + 70, 40,
              [', '.join(distortions.TUTORIAL) + ', standardization'])
  _down(picture, _PARTS, _DISTORTING + 78, _READY)
  size, batches = cifar10.IMAGE_SIZE, cifar10_input._READY_BATCHES
  _queue(
      picture, _READY, 'queue of ready batches',
      f'{batches} batches of {_SETTINGS.examples_per_machine} images, '
      f'{size} × {size} × 3')


def _computing(picture):
  """From images to the gradients of each tower."""
  width = 250
  for tower, x in enumerate((52, _RIGHT - 40 - width)):
    middle = x + width / 2
    picture.area(x, _TOWERS, width, 166, f'{cifar10.TOWER_NAME}_{tower}',
                 'blue')
    picture.text(x + width - 12, _TOWERS + 25, f'GPU {tower}', size=svg.NOTE,
                 anchor='end')
    picture.box(x + 16, _TOWERS + 38, width - 32, 54,
                ['inference(), loss()', f'{_SETTINGS.batch_size} images'],
                'blue')
    _down(picture, middle, _TOWERS + 92, _TOWERS + 112)
    picture.box(x + 16, _TOWERS + 112, width - 32, 40, ['gradients'], 'blue')
    half = _MIDDLE - 20 + 40 * tower
    picture.arrow(f'M{middle} {_TOWERS + 152}V{_UPDATE + 18}H{half}'
                  f'V{_UPDATE + 36}')
    # The batch is divided.
    picture.arrow(f'M{_PARTS} {_READY + 44}V{_READY + 60}H{middle}'
                  f'V{_TOWERS + 36}')
    # Each tower takes the variables.
    side, inside = (28, x + 14) if tower == 0 else (_RIGHT - 16, x + width - 14)
    picture.arrow(f'M{side} {_UPDATE + 98}V{_TOWERS + 65}H{inside}',
                  dashed=True)


def _updating(picture):
  """From gradients to new variables, and their averages."""
  picture.area(_LEFT, _UPDATE, _RIGHT - _LEFT, _END - _UPDATE - 12, 'CPU',
               'orange', indent=40)
  x, width = 52, _RIGHT - 40 - 52
  picture.box(_MIDDLE - 150, _UPDATE + 38, 300, 40, ['average_gradients()'],
              'orange')
  _down(picture, _MIDDLE, _UPDATE + 78, _UPDATE + 98)
  picture.box(24, _UPDATE + 98, _RIGHT - 36, 40,
              ['variables: updated once, read by each tower'], 'orange')
  _down(picture, _MIDDLE, _UPDATE + 138, _UPDATE + 158)
  picture.box(x, _UPDATE + 158, width, 54, [
      'moving averages of the variables',
      f'decay {cifar10.MOVING_AVERAGE_DECAY:g}; the evaluator uses these'
  ], 'orange')


def draw():
  """Draws the parts from top to bottom; returns the svg.Picture."""
  picture = svg.Picture(_END)
  _reading(picture)
  _distorting(picture)
  _updating(picture)
  _computing(picture)
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
