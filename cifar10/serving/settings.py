"""The settings of trained models: which, where they run, what they answer."""

import dataclasses
from typing import Optional, Tuple

from cifar10.util.flag_field import MOST
from cifar10.util.flag_field import flag


@dataclasses.dataclass(frozen=True)
class Checkpoint:
  """Which run a trained model comes from."""

  checkpoint_dir: str = flag(
    '/tmp/cifar10_train',
    'Where the checkpoints are, or a model that comes with the package, '
    'pretrained:tutorial or pretrained:fast; evaluation and prediction take '
    'several, and average the probabilities of their networks.',
    saved=False,
    holds_checkpoints=True,
  )
  use_moving_averages: bool = flag(
    True,
    'Use the moving averages of the variables.',
    saved=False,
    exported=True,
  )


@dataclasses.dataclass(frozen=True)
class Ensemble:
  """Several trained networks, and where they run."""

  ensemble: str = flag(
    'graph',
    'Where the networks of several --checkpoint_dir run: in one graph; or in '
    'processes of their own, any of which may be lost.',
    choices=('graph', 'processes'),
    saved=False,
  )
  # The config.Config of each of them; empty if there is only one.
  networks: Tuple = ()


@dataclasses.dataclass(frozen=True)
class Inference:
  """Where a trained model runs."""

  eval_device: str = flag(
    'gpu',
    'Where the model runs; gpu falls back to the CPU if there is no GPU.',
    choices=('gpu', 'cpu'),
    saved=False,
  )
  tta: bool = flag(
    False,
    'Average over mirrored and shifted copies of each image, six in all: more '
    'precise, and six times the work.',
    saved=False,
    exported=True,
  )


@dataclasses.dataclass(frozen=True)
class Answers:
  """What is printed about images with a trained model."""

  top_k: Optional[int] = flag(
    None,
    'Evaluation prints precision @ k too (default 1); prediction prints the k '
    'most probable classes (default 3).',
    lower_bound=1,
    upper_bound=MOST,
    saved=False,
  )
  json: bool = flag(
    False,
    'Print a JSON object in place of each line of text.',
    saved=False,
  )


@dataclasses.dataclass(frozen=True)
class Prediction:
  """What is drawn of labeled pictures."""

  grid: str = flag(
    '',
    'Picture file to draw, in the format of its extension: a sheet of the '
    'pictures with their classes.',
    saved=False,
    is_path=True,
  )


@dataclasses.dataclass(frozen=True)
class Export:
  """Which checkpoint is exported, in which formats."""

  checkpoint: str = flag(
    '',
    'The checkpoint to export: a step of the run in --checkpoint_dir, the path '
    'of a checkpoint, or a model of the package; empty: the newest one.',
    saved=False,
    holds_checkpoints=True,
  )
  export_dir: str = flag(
    '/tmp/cifar10_export',
    'Folder to write a SavedModel to; empty: none.',
    saved=False,
    is_path=True,
  )
  tflite: str = flag(
    '',
    'File to write a TensorFlow Lite model to.',
    saved=False,
    is_path=True,
  )
  frozen_graph: str = flag(
    '',
    'File to write a frozen graph to.',
    saved=False,
    is_path=True,
  )
