"""The settings of all programs, in small frozen groups.

A program names the groups that it takes: their fields are its flags. The
defaults are the tutorial's, taken from its constants.
"""

import dataclasses
from typing import Optional, Tuple

from cifar10 import cifar10


def _flag(default, text, **limits):
  """A field that is a flag, with its help text and limits."""
  metadata = dict(limits, help=text)
  return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Data:
  """Which data set, and where it lies."""

  dataset: str = _flag(
    'cifar10',
    'The data set. cifar10 means the data set that --data_dir/dataset.json '
    'describes, if there is one.',
    choices=('cifar10', 'cifar100', 'svhn', 'sample'),
  )
  cifar100_labels: str = _flag(
    'fine',
    'Which labels of CIFAR-100: its 100 classes or its 20 groups of classes.',
    choices=('fine', 'coarse'),
  )
  data_dir: str = _flag(
    '/tmp/cifar10_data', 'The folder of the data set; fetched data goes there.'
  )
  # Names of the classes that the model was trained on; empty if not known.
  classes: Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Download:
  """Where a data set is fetched from."""

  data_url: str = _flag(
    '',
    'Address to fetch the data set from, a mirror or a file:// address: of '
    'the archive, or for svhn of the folder of its two files. Default: the '
    'official address.',
  )
  data_sha256: str = _flag(
    '',
    'SHA-256 of the file to fetch; for svhn both, with a comma between. '
    'Default: that of the official file.',
  )


@dataclasses.dataclass(frozen=True)
class Input:
  """How images are put into batches."""

  batch_size: int = _flag(
    128,
    'Images in a batch; each GPU takes one batch.',
    lower_bound=1,
    upper_bound=1 << 16,
  )


@dataclasses.dataclass(frozen=True)
class Model:
  """What the model is made of."""

  top_layers: str = _flag(
    'full',
    'What local3 and local4 are: full, fully connected; or local, locally '
    'connected as in cuda-convnet.',
    choices=('full', 'local'),
  )


@dataclasses.dataclass(frozen=True)
class Optimization:
  """How variables are trained."""

  max_steps: int = _flag(
    1000000,
    'Global step at which training ends.',
    lower_bound=1,
    upper_bound=(1 << 63) - 1,
  )
  epochs: int = _flag(
    0,
    'Epochs, passes over the training images, after which training ends; 0: '
    'only --max_steps counts.',
    lower_bound=0,
  )
  learning_rate: float = _flag(
    cifar10.INITIAL_LEARNING_RATE, 'Initial learning rate.', lower_bound=0.0
  )
  num_epochs_per_decay: float = cifar10.NUM_EPOCHS_PER_DECAY
  learning_rate_decay_factor: float = cifar10.LEARNING_RATE_DECAY_FACTOR
  moving_average_decay: float = cifar10.MOVING_AVERAGE_DECAY
  clip_norm: float = _flag(
    0.0, 'Largest global norm of the gradients; 0: no limit.', lower_bound=0.0
  )
  seed: Optional[int] = _flag(
    None, 'Makes a run repeatable: same seed, same numbers.'
  )


@dataclasses.dataclass(frozen=True)
class Towers:
  """The towers of a machine."""

  num_gpus: int = _flag(1, 'How many GPUs to train on.', lower_bound=1)


@dataclasses.dataclass(frozen=True)
class Run:
  """The training directory, and what a run writes and prints."""

  train_dir: str = _flag(
    '/tmp/cifar10_train', 'Where checkpoints and summaries are written.'
  )
  overwrite: bool = _flag(
    False, 'Delete the run in --train_dir first, and start afresh.'
  )
  save_secs: int = _flag(
    600, 'Seconds between checkpoints; 0: not by time.', lower_bound=0
  )
  save_steps: int = _flag(
    0, 'Steps between checkpoints; 0: not by steps.', lower_bound=0
  )
  max_to_keep: int = _flag(
    0,
    'How many of the newest checkpoints to keep; 0: all of them.',
    lower_bound=0,
  )
  log_frequency: int = _flag(
    10, 'Steps between lines on the console.', lower_bound=1
  )
  progress: bool = _flag(
    False, 'On a terminal, show one live line instead of those lines.'
  )
  stall_secs: int = _flag(
    120,
    'Seconds without a step after which training ends with an error; the '
    'last whole step is saved.',
    lower_bound=1,
  )
  summary_steps: int = 100


@dataclasses.dataclass(frozen=True)
class Metrics:
  """Numbers of a run in a file, for other programs."""

  metrics: str = _flag(
    '', 'File to append a line of JSON to for each line on the console.'
  )


@dataclasses.dataclass(frozen=True)
class Cluster:
  """The cluster, this task's place in it, and what travels between tasks."""

  ps_hosts: str = _flag('', 'The parameter servers: host:port,host:port,...')
  worker_hosts: str = _flag(
    '', 'The workers: host:port,host:port,... The first one is the chief.'
  )
  job_name: str = _flag(
    '', 'The job of this task.', choices=('', 'ps', 'worker')
  )
  task_index: int = _flag(
    0, 'The number of this task in its job.', lower_bound=0
  )
  sync: bool = _flag(
    True,
    'Average the gradients of all workers before each step; --nosync: each '
    'worker applies its own at once.',
  )
  backup_workers: int = _flag(
    0,
    'How many workers a synchronous step need not wait for.',
    lower_bound=0,
  )
  ps_strategy: str = _flag(
    'round_robin',
    'How variables are spread over the parameter servers.',
    choices=('round_robin', 'by_size'),
  )
  partition_ps: bool = _flag(
    False, 'Split large variables over the parameter servers.'
  )
  model_parallel: bool = _flag(
    False,
    'Put the convolutions on the first GPU of a worker and the fully '
    'connected layers on the second.',
  )
  grad_dtype: str = _flag(
    'float32',
    'The type in which gradients are sent to the parameter servers.',
    choices=('float32', 'bfloat16', 'float16'),
  )
  connect_timeout_secs: int = _flag(
    60, 'Seconds that another task may be out of reach.', lower_bound=1
  )
  operation_timeout_ms: int = _flag(
    0, 'Time limit of a step, in milliseconds; 0: none.', lower_bound=0
  )


@dataclasses.dataclass(frozen=True)
class Checkpoint:
  """Which run a trained model comes from."""

  checkpoint_dir: str = _flag(
    '/tmp/cifar10_train', 'Where the checkpoints are.'
  )
  use_moving_averages: bool = _flag(
    True, 'Use the moving averages of the variables.'
  )


@dataclasses.dataclass(frozen=True)
class Inference:
  """Where a trained model runs."""

  eval_device: str = _flag(
    'gpu',
    'Where the model runs; gpu falls back to the CPU if there is no GPU.',
    choices=('gpu', 'cpu'),
  )


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """What is evaluated, and when."""

  eval_dir: str = _flag(
    '/tmp/cifar10_eval', 'Where the summaries of the evaluation are written.'
  )
  eval_data: str = _flag(
    'test', 'Which images to evaluate on.', choices=('test', 'train_eval')
  )
  eval_interval_secs: int = _flag(
    300, 'Minimum seconds between two evaluations.', lower_bound=0
  )
  run_once: bool = _flag(False, 'Evaluate the newest checkpoint and end.')


@dataclasses.dataclass(frozen=True)
class Answers:
  """What is printed about images with a trained model."""

  top_k: Optional[int] = _flag(
    None,
    'Among how many most probable classes the right one may be, in '
    'evaluation (default 1); how many to print, in prediction (default 3).',
    lower_bound=1,
  )
  json: bool = _flag(
    False, 'Print a JSON object in place of each line of text.'
  )


@dataclasses.dataclass(frozen=True)
class Prediction:
  """What is drawn of labeled pictures."""

  grid: str = _flag(
    '',
    'Picture file to draw, in the format of its extension: a sheet of the '
    'pictures with their classes.',
  )


@dataclasses.dataclass(frozen=True)
class Export:
  """Which checkpoint is exported, in which formats."""

  checkpoint: str = _flag(
    '',
    'The checkpoint to export: a step of the run in --checkpoint_dir, or the '
    'path of a checkpoint; empty: the newest one.',
  )
  export_dir: str = _flag(
    '/tmp/cifar10_export', 'Folder to write a SavedModel to; empty: none.'
  )
  tflite: str = _flag('', 'File to write a TensorFlow Lite model to.')
  frozen_graph: str = _flag('', 'File to write a frozen graph to.')


@dataclasses.dataclass(frozen=True)
class Session:
  """How sessions use the machine."""

  precision: str = _flag(
    'float32',
    'The type in which convolutions and matrix products are computed; '
    "Winograd's convolutions in at least float32. Variables, their averages "
    'and the loss are always float32.',
    choices=('float32', 'bfloat16', 'float16'),
  )
  conv: str = _flag(
    'auto',
    'How convolutions are computed: direct, by tf.nn.conv2d; winograd, with '
    "fewer multiplications, by Winograd's algorithm, in at least float32; or "
    'auto, the form that is expected to be faster, by device and size.',
    choices=('auto', 'direct', 'winograd'),
  )
  gpu_memory_fraction: float = _flag(
    0.0,
    'Fraction of the memory of each GPU to take; 0: grow on demand.',
    lower_bound=0.0,
    upper_bound=1.0,
  )
  intra_op_threads: int = _flag(
    0,
    'Threads that share one operation; 0: one per core.',
    lower_bound=0,
    upper_bound=1 << 16,
  )
  inter_op_threads: int = _flag(
    0,
    'Operations that run at the same time; 0: one per core.',
    lower_bound=0,
    upper_bound=1 << 16,
  )
  log_device_placement: bool = _flag(
    False, 'Print the device of every operation.'
  )
