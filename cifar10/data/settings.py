"""The settings of how training images are read, and how distorted."""

import dataclasses

from cifar10.data import distortions
from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Pipeline:
  """How training images get from the disk into the graph."""

  input: str = flag(
    'queues',
    "Where batches of training images come from: queues, the tutorial's; "
    'preloaded, one variable that holds all records; or tf_data, a '
    'tf.data.Dataset.',
    choices=('queues', 'preloaded', 'tf_data'),
    agreed=False,
  )


@dataclasses.dataclass(frozen=True)
class Augmentation:
  """How training images are distorted, each in its own way."""

  augment: str = flag(
    ','.join(distortions.TUTORIAL),
    'The distortions of training images, with commas between: %s; empty: none.'
    % ', '.join(distortions.NAMES),
  )
  max_shift: float = flag(
    distortions.MAX_SHIFT,
    'The share of the side of an image by which shift moves it at most.',
    lower_bound=0.0,
    upper_bound=0.5,
    needs=('augment', ('shift',)),
  )
