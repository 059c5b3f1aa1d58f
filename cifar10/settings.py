"""The settings of all programs, in small frozen groups.

A program names the groups that it takes: their fields are its flags. The
defaults are the tutorial's, taken from its constants. Other groups are in the
wings that they are for.
"""

import dataclasses
from typing import Optional, Tuple

from cifar10 import cifar10
from cifar10.util.flag_field import LARGEST
from cifar10.util.flag_field import MOST
from cifar10.util.flag_field import MOST_STEPS
from cifar10.util.flag_field import flag
from cifar10.util.flag_field import setting


@dataclasses.dataclass(frozen=True)
class Data:
  """Which data set, and where it lies."""

  dataset: str = flag(
    'cifar10',
    'The data set. cifar10 means the data set that --data_dir/dataset.json '
    'describes, if there is one.',
    choices=('cifar10', 'cifar100', 'svhn', 'sample'),
    fixed=True,
    searched=False,
    exported=True,
  )
  cifar100_labels: str = flag(
    'fine',
    'Which labels of CIFAR-100: its 100 classes or its 20 groups of classes.',
    choices=('fine', 'coarse'),
    fixed=True,
    searched=False,
    needs=('dataset', ('cifar100',)),
    exported=True,
  )
  data_dir: str = flag(
    '/tmp/cifar10_data',
    'The folder of the data set; fetched data goes there.',
    agreed=False,
    searched=False,
    is_path=True,
    exported=True,
  )
  # Names of the classes that the model was trained on; empty if not known.
  classes: Tuple[str, ...] = ()
  # Height, width and depth of the images that it was trained on; the same.
  image_shape: Tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Download:
  """Where a data set is fetched from."""

  data_url: str = flag(
    '',
    'Address to fetch the data set from, a mirror or a file:// address: of '
    'the archive, or for svhn of the folder of its two files. Default: the '
    'official address.',
    saved=False,
  )
  data_sha256: str = flag(
    '',
    'SHA-256 of the file to fetch; for svhn both, with a comma between. '
    'Default: that of the official file.',
    saved=False,
  )


@dataclasses.dataclass(frozen=True)
class Recipe:
  """A set of settings that work well together."""

  recipe: str = flag(
    'tutorial',
    "Settings to begin with: tutorial, the defaults; better, the tutorial's "
    'network trained to a higher precision in the time of its 100,000 steps; '
    'or fast, 94 % of CIFAR-10 in minutes on a processor. Flags given as well '
    'take precedence.',
    choices=('tutorial', 'better', 'fast'),
    agreed=False,
  )


@dataclasses.dataclass(frozen=True)
class Input:
  """How images are put into batches."""

  batch_size: int = flag(
    128,
    'Images in a batch; each GPU takes one batch.',
    lower_bound=1,
    upper_bound=1 << 16,
  )


@dataclasses.dataclass(frozen=True)
class Optimization:
  """How long variables are trained, and how fast."""

  max_steps: int = flag(
    1000000,
    'Global step at which training ends.',
    lower_bound=1,
    upper_bound=MOST_STEPS,
    agreed=False,
  )
  epochs: int = flag(
    0,
    'Epochs, passes over the training images, after which training ends; 0: '
    'only --max_steps counts.',
    lower_bound=0,
    upper_bound=MOST,
    agreed=False,
  )
  early_stopping: int = flag(
    0,
    'Validations without a better precision after which training ends, with '
    'the best checkpoint; 0: none.',
    lower_bound=0,
    upper_bound=MOST,
    agreed=False,
  )
  learning_rate: Optional[float] = flag(
    None,
    'Initial learning rate; the highest one of one_cycle. Default: %g for sgd, '
    'and what suits each of the other optimizers.'
    % cifar10.INITIAL_LEARNING_RATE,
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=(
      'schedule',
      ('exponential', 'constant', 'power', 'performance', 'one_cycle'),
    ),
  )
  moving_average_decay: float = flag(
    cifar10.MOVING_AVERAGE_DECAY,
    'Decay of the moving averages of the variables; less at first: '
    '(1 + step) / (10 + step).',
    lower_bound=0.0,
    upper_bound=1.0,
  )
  seed: Optional[int] = flag(
    None,
    'Makes a run repeatable: same seed, same numbers.',
    lower_bound=-MOST_STEPS,
    upper_bound=MOST_STEPS,
    agreed=False,
  )


@dataclasses.dataclass(frozen=True)
class Schedule:
  """How the learning rate falls, by the examples seen."""

  schedule: str = flag(
    'exponential',
    'How the learning rate changes: exponential, by '
    '--learning_rate_decay_factor every --num_epochs_per_decay; constant; '
    'piecewise, --rates between --boundaries; power, like '
    '1 / (1 + epochs / num_epochs_per_decay) ** power; performance, by the '
    'factor after --patience validations without a better precision; or '
    'one_cycle, up to --learning_rate during --warmup of the run and down to 0 '
    'at its end.',
    choices=(
      'exponential',
      'constant',
      'piecewise',
      'power',
      'performance',
      'one_cycle',
    ),
  )
  num_epochs_per_decay: float = flag(
    cifar10.NUM_EPOCHS_PER_DECAY,
    'Epochs after which the learning rate falls.',
    lower_bound=1e-3,
    upper_bound=1e30,
    needs=('schedule', ('exponential', 'power')),
  )
  learning_rate_decay_factor: float = flag(
    cifar10.LEARNING_RATE_DECAY_FACTOR,
    'The factor by which it falls.',
    lower_bound=0.0,
    upper_bound=1.0,
    needs=('schedule', ('exponential', 'performance')),
  )
  staircase: bool = flag(
    True,
    'exponential falls in steps; --nostaircase: a little at each step.',
    needs=('schedule', ('exponential',)),
  )
  boundaries: str = flag(
    '',
    'Epochs at which a piecewise rate changes: 100,150.',
    needs=('schedule', ('piecewise',)),
  )
  rates: str = flag(
    '',
    'The rates before, between and after them: 0.1,0.01,0.001.',
    needs=('schedule', ('piecewise',)),
  )
  power: float = flag(
    1.0,
    'The power of --schedule=power.',
    lower_bound=0.0,
    upper_bound=LARGEST,
    needs=('schedule', ('power',)),
  )
  patience: int = flag(
    3,
    'Validations without a better precision after which the rate of '
    '--schedule=performance falls.',
    lower_bound=1,
    upper_bound=MOST,
    needs=('schedule', ('performance',)),
  )
  warmup: float = flag(
    0.3,
    'The share of the run during which one_cycle rises.',
    lower_bound=0.001,
    upper_bound=0.999,
    needs=('schedule', ('one_cycle',)),
  )


@dataclasses.dataclass(frozen=True)
class Validation:
  """Which training images are trained on, and which show how that goes."""

  validation_examples: int = flag(
    0,
    'How many training images, the last ones, to hold out from training for '
    'validation.',
    lower_bound=0,
    upper_bound=MOST,
    fixed=True,
    searched=False,
  )
  labelled_examples: int = flag(
    0,
    'How many training images, the first ones, to train on, as if no others '
    'had labels; 0: all that are not held out.',
    lower_bound=0,
    upper_bound=MOST,
    fixed=True,
    searched=False,
  )
  validation_steps: int = flag(
    1000,
    'Steps between validations.',
    lower_bound=1,
    upper_bound=MOST_STEPS,
    needs=('validation_examples', None),
    agreed=False,
    searched=False,
  )


@dataclasses.dataclass(frozen=True)
class Towers:
  """The towers of a machine."""

  num_gpus: int = flag(
    1, 'How many GPUs to train on.', lower_bound=1, upper_bound=64
  )


@dataclasses.dataclass(frozen=True)
class Run:
  """The training directory, and what a run writes and prints."""

  train_dir: str = flag(
    '/tmp/cifar10_train',
    'Where checkpoints and summaries are written.',
    reported=False,
    agreed=False,
    searched=False,
    shared=False,
    holds_checkpoints=True,
  )
  overwrite: bool = flag(
    False,
    'Start afresh; the run in --train_dir is deleted once the new one is '
    'ready.',
    reported=False,
    agreed=False,
    searched=False,
    shared=False,
  )
  save_secs: int = flag(
    600,
    'Seconds between checkpoints; 0: not by time.',
    lower_bound=0,
    upper_bound=MOST,
    agreed=False,
    searched=False,
  )
  save_steps: int = flag(
    0,
    'Steps between checkpoints; 0: not by steps.',
    lower_bound=0,
    upper_bound=MOST_STEPS,
    agreed=False,
    searched=False,
  )
  max_to_keep: int = flag(
    0,
    'How many of the newest checkpoints to keep; 0: all of them.',
    lower_bound=0,
    upper_bound=MOST,
    agreed=False,
    searched=False,
  )
  log_frequency: int = flag(
    10,
    'Steps between lines on the console.',
    lower_bound=1,
    upper_bound=MOST_STEPS,
    agreed=False,
    searched=False,
  )
  progress: bool = flag(
    False,
    'On a terminal, show one live line instead of those lines.',
    reported=False,
    agreed=False,
    searched=False,
  )
  stall_secs: int = flag(
    120,
    'Seconds without a step after which training ends with an error; the '
    'last whole step is saved.',
    lower_bound=1,
    upper_bound=MOST,
    agreed=False,
    searched=False,
  )
  summary_steps: int = setting(
    100, lower_bound=1, upper_bound=MOST_STEPS, agreed=False
  )


@dataclasses.dataclass(frozen=True)
class Metrics:
  """Numbers of a run in a file, for other programs."""

  metrics: str = flag(
    '',
    'File to append a line of JSON to for each line on the console; in a '
    'cluster, by the chief only.',
    saved=False,
    shared=False,
    is_path=True,
  )


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """What is evaluated, and when."""

  eval_dir: str = flag(
    '/tmp/cifar10_eval',
    'Where the summaries of the evaluation are written.',
    saved=False,
    is_path=True,
  )
  eval_data: str = flag(
    'test',
    'Which images to evaluate on.',
    choices=('test', 'train_eval'),
    saved=False,
  )
  eval_interval_secs: int = flag(
    300,
    'Minimum seconds between two evaluations.',
    lower_bound=0,
    upper_bound=MOST,
    saved=False,
  )
  run_once: bool = flag(
    False,
    'Evaluate the newest checkpoint and end.',
    saved=False,
  )


@dataclasses.dataclass(frozen=True)
class Session:
  """How sessions use the machine."""

  precision: str = flag(
    'float32',
    'The type in which convolutions and matrix products are computed; '
    "Winograd's convolutions in at least float32. Variables, their averages "
    'and the loss are always float32.',
    choices=('float32', 'bfloat16', 'float16'),
    agreed=False,
    exported=True,
  )
  conv: str = flag(
    'auto',
    'How convolutions are computed: direct, by tf.nn.conv2d; winograd, with '
    "fewer multiplications, by Winograd's algorithm, in at least float32; or "
    'auto, the form that is expected to be faster, by device and size.',
    choices=('auto', 'direct', 'winograd'),
    agreed=False,
    exported=True,
  )
  gpu_memory_fraction: float = flag(
    0.0,
    'Fraction of the memory of each GPU to take; 0: grow on demand.',
    lower_bound=0.0,
    upper_bound=1.0,
    agreed=False,
    searched=False,
  )
  intra_op_threads: int = flag(
    0,
    'Threads that share one operation; 0: one per core.',
    lower_bound=0,
    upper_bound=1 << 16,
    agreed=False,
    searched=False,
  )
  inter_op_threads: int = flag(
    0,
    'Operations that run at the same time; 0: one per core.',
    lower_bound=0,
    upper_bound=1 << 16,
    agreed=False,
    searched=False,
  )
  log_device_placement: bool = flag(
    False,
    'Print the device of every operation.',
    agreed=False,
    searched=False,
  )
