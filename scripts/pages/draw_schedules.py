"""Draws the schedules of the learning rate: docs/schedules.svg.

    python scripts/pages/draw_schedules.py docs/schedules.svg

The rates are those of the trainers' `optimizer()` in 5,000 steps of 128 images
of CIFAR-10, with the flags of `scripts/benchmarks/experiments/techniques.json`.
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10 import cifar10
from cifar10.optim import schedules
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import graph_keys
import chart
import svg
import tensorflow.compat.v1 as tf

_STEPS, _EVERY = 5000, 10
# What is set besides --schedule, and what of it stands above the curve.
_SHOWN = {
    'exponential': ({
        'num_epochs_per_decay': 6.0
    }, 'every 6 epochs; dashed: continuous'),
    'constant': ({}, ''),
    'piecewise': ({
        'boundaries': '8,11',
        'rates': '0.1,0.01,0.001'
    }, 'new rates at the epochs 8 and 11'),
    'power': ({
        'num_epochs_per_decay': 5.0
    }, 'half after 5 epochs'),
    'performance': ({
        'validation_steps': 250,
        'patience': 2,
        'learning_rate_decay_factor': 0.3
    }, 'if nothing is better after epoch 7'),
    'one_cycle': ({}, 'up for 30 % of the run, down to 0')
}
_LAST_BETTER = 7  # Epochs; the precision of an example, not of a run.
_COLUMNS, _CELL, _AXES = 2, (316, 226), (252, 130)  # Pixels.


def rates(**changes):
  """Points (epoch, learning rate) of a run with some settings."""
  settings = cifar10.with_constants(Settings(max_steps=_STEPS, **changes))
  examples = cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN
  state = run_state.RunState((), examples, ((0, settings.batch_size),))
  validations = []
  for step in range(0, _STEPS + 1, settings.validation_steps):
    validations.append((step, min(state.epochs(step), _LAST_BETTER)))
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.train.get_or_create_global_step()
    cifar10.train(tf.get_variable('loss', []) + 0, step, settings,
                  state.pace(settings))
    (rate,) = tf.get_collection(graph_keys.LEARNING_RATE)
    falls = tf.get_collection(schedules.FALLS)

    def rate_at(now):
      done = [pair for pair in validations if pair[0] <= now]
      count = schedules.count_falls(done, settings.patience)
      for variable in falls:
        variable.load(count, session)
      step.load(now, session)
      return session.run(rate)

    return [(state.epochs(now), float(rate_at(now)))
            for now in range(0, _STEPS, _EVERY)]


def draw():
  """Draws each schedule in axes of its own; returns the svg.Picture."""
  kinds = FIELDS['schedule'].metadata['choices']
  rows = -(-len(kinds) // _COLUMNS)
  picture = svg.Picture(24 + rows * _CELL[1])
  for number, kind in enumerate(kinds):
    row, column = divmod(number, _COLUMNS)
    corner = 52 + column * _CELL[0], 60 + row * _CELL[1]
    axes = chart.Axes(picture, corner, _AXES, (0, 13), (0, 0.105))
    changes, note = _SHOWN[kind]
    axes.title(kind, note or 'always the same')
    axes.grid((0, 4, 8, 12), (0, 0.05, 0.1))
    if kind == 'exponential':
      axes.curve(rates(schedule=kind, staircase=False, **changes), 'blue',
                 dashed=True, width=1.8)
    axes.curve(rates(schedule=kind, **changes), 'blue')
  picture.text(picture.width / 2, picture.height - 10,
               'learning rate over the epochs', size=svg.NOTE, anchor='middle')
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
