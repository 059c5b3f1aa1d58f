"""The settings of the distortions of training images."""

import dataclasses

from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Augmentation:
  """How training images are distorted, each in its own way."""

  augment: str = flag(
    'crop,flip,brightness,contrast',
    'The distortions of training images, with commas between: crop, flip, '
    'brightness, contrast, shift, rotate, resize, saturation, hue, cutout; '
    'empty: none.',
  )
