"""Settings of programs: runs, sessions, clusters, evaluation, answers."""

from typing import Optional, Tuple

from cifar10.settings.field import MOST_STEPS
from cifar10.settings.field import choice
from cifar10.settings.field import count
from cifar10.settings.field import flag
from cifar10.settings.field import group
from cifar10.settings.field import setting
from cifar10.settings.field import share


@group()
class Towers:
  """The towers of a machine."""

  num_gpus: int = count(1, 'How many GPUs to train on.', least=1, most=64)


@group(agreed=False)
class Run:
  """The training directory, and what a run writes and prints."""

  train_dir: str = flag(
    '/tmp/cifar10_train',
    'Where checkpoints and summaries are written.',
    reported=False,
    searched=False,
    shared=False,
    holds_checkpoints=True,
  )
  overwrite: bool = flag(
    False,
    'Start afresh; the run in --train_dir is deleted once the new one is '
    'ready.',
    reported=False,
    searched=False,
    shared=False,
  )
  save_secs: int = count(
    600, 'Seconds between checkpoints; 0: not by time.', searched=False
  )
  save_steps: int = count(
    0,
    'Steps between checkpoints; 0: not by steps.',
    most=MOST_STEPS,
    searched=False,
  )
  max_to_keep: int = count(
    0,
    'How many of the newest checkpoints to keep; 0: all of them.',
    searched=False,
  )
  log_frequency: int = count(
    10,
    'Steps between lines on the console.',
    least=1,
    most=MOST_STEPS,
    searched=False,
  )
  progress: bool = flag(
    False,
    'On a terminal, show one live line instead of those lines.',
    reported=False,
    searched=False,
  )
  stall_secs: int = count(
    120,
    'Seconds without a step after which training ends with an error; the '
    'last whole step is saved.',
    least=1,
    searched=False,
  )
  summary_steps: int = setting(100, least=1, most=MOST_STEPS)


@group(saved=False, shared=False)
class Metrics:
  """Numbers of a run in a file, for other programs."""

  metrics: str = flag(
    '',
    'File to append a line of JSON to for each line on the console; in a '
    'cluster, by the chief only.',
    is_path=True,
  )


@group(agreed=False)
class Session:
  """How sessions use the machine."""

  precision: str = choice(
    'float32',
    ('float32', 'bfloat16', 'float16'),
    'The type in which convolutions and matrix products are computed; '
    "Winograd's convolutions in at least float32. Variables, their averages "
    'and the loss are always float32.',
    exported=True,
  )
  conv: str = choice(
    'auto',
    ('auto', 'direct', 'winograd'),
    'How convolutions are computed: direct, by tf.nn.conv2d; winograd, with '
    "fewer multiplications, by Winograd's algorithm, in at least float32; or "
    'auto, the form that is expected to be faster, by device and size.',
    exported=True,
  )
  gpu_memory_fraction: float = share(
    0.0,
    'Fraction of the memory of each GPU to take; 0: grow on demand.',
    searched=False,
  )
  intra_op_threads: int = count(
    0,
    'Threads that share one operation; 0: one per core.',
    most=1 << 16,
    searched=False,
  )
  inter_op_threads: int = count(
    0,
    'Operations that run at the same time; 0: one per core.',
    most=1 << 16,
    searched=False,
  )
  log_device_placement: bool = flag(
    False, 'Print the device of every operation.', searched=False
  )


@group()
class Cluster:
  """The cluster, this task's place in it, and what travels between tasks."""

  ps_hosts: str = flag(
    '',
    'The parameter servers: host:port,host:port,...',
    agreed=False,
    reported=False,
  )
  worker_hosts: str = flag(
    '',
    'The workers: host:port,host:port,... The first one is the chief.',
    agreed=False,
    reported=False,
  )
  job_name: str = choice(
    '',
    ('', 'ps', 'worker'),
    'The job of this task.',
    agreed=False,
    reported=False,
  )
  task_index: int = count(
    0, 'The number of this task in its job.', agreed=False, reported=False
  )
  slurm_ps: int = count(
    0,
    'In a step of Slurm: how many of its tasks are parameter servers; the '
    'others are workers. 0: the cluster comes from the flags above, or from '
    'TF_CONFIG.',
    agreed=False,
    reported=False,
  )
  sync: bool = flag(
    True,
    'Average the gradients of all workers before each step; --nosync: each '
    'worker applies its own at once.',
  )
  backup_workers: int = count(
    0,
    'How many workers a synchronous step need not wait for.',
    needs=('sync', None),
  )
  ps_strategy: str = choice(
    'round_robin',
    ('round_robin', 'by_size'),
    'How variables are spread over the parameter servers.',
  )
  partition_ps: bool = flag(
    False, 'Split large variables over the parameter servers.'
  )
  model_parallel: bool = flag(
    False,
    'Put the convolutions on the first GPU of a worker and the fully '
    'connected layers on the second.',
    agreed=False,
  )
  grad_dtype: str = choice(
    'float32',
    ('float32', 'bfloat16', 'float16'),
    'The type in which gradients are sent to the parameter servers.',
  )
  connect_timeout_secs: int = count(
    60,
    'Seconds that another task may be out of reach.',
    least=1,
    most=2147483,
    agreed=False,
  )
  operation_timeout_ms: int = count(
    0, 'Time limit of a step, in milliseconds; 0: none.', agreed=False
  )


@group(saved=False)
class Checkpoint:
  """Which run a trained model comes from."""

  checkpoint_dir: str = flag(
    '/tmp/cifar10_train',
    'Where the checkpoints are, or a model that comes with the package, '
    'pretrained:tutorial or pretrained:fast; evaluation and prediction take '
    'several, and average the probabilities of their networks.',
    holds_checkpoints=True,
  )
  use_moving_averages: bool = flag(
    True, 'Use the moving averages of the variables.', exported=True
  )


@group(saved=False)
class Ensemble:
  """Several trained networks, and where they run."""

  ensemble: str = choice(
    'graph',
    ('graph', 'processes'),
    'Where the networks of several --checkpoint_dir run: in one graph; or in '
    'processes of their own, any of which may be lost.',
  )
  networks: Tuple = ()


@group(saved=False)
class Inference:
  """Where a trained model runs."""

  eval_device: str = choice(
    'gpu',
    ('gpu', 'cpu'),
    'Where the model runs; gpu falls back to the CPU if there is no GPU.',
  )
  tta: bool = flag(
    False,
    'Average over mirrored and shifted copies of each image, six in all: '
    'more precise, and six times the work.',
    exported=True,
  )


@group(saved=False)
class Evaluation:
  """What is evaluated, and when."""

  eval_dir: str = flag(
    '/tmp/cifar10_eval',
    'Where the summaries of the evaluation are written.',
    is_path=True,
  )
  eval_data: str = choice(
    'test', ('test', 'train_eval'), 'Which images to evaluate on.'
  )
  eval_interval_secs: int = count(
    300, 'Minimum seconds between two evaluations.'
  )
  run_once: bool = flag(False, 'Evaluate the newest checkpoint and end.')


@group(saved=False)
class Answers:
  """What is printed about images with a trained model."""

  top_k: Optional[int] = count(
    None,
    'Evaluation prints precision @ k too (default 1); prediction prints the '
    'k most probable classes (default 3).',
    least=1,
  )
  json: bool = flag(False, 'Print a JSON object in place of each line of text.')


@group(saved=False)
class Prediction:
  """What is drawn of labeled pictures."""

  grid: str = flag(
    '',
    'Picture file to draw, in the format of its extension: a sheet of the '
    'pictures with their classes.',
    is_path=True,
  )


@group(saved=False)
class Export:
  """Which checkpoint is exported, in which formats."""

  checkpoint: str = flag(
    '',
    'The checkpoint to export: a step of the run in --checkpoint_dir, the '
    'path of a checkpoint, or a model of the package; empty: the newest one.',
    holds_checkpoints=True,
  )
  export_dir: str = flag(
    '/tmp/cifar10_export',
    'Folder to write a SavedModel to; empty: none.',
    is_path=True,
  )
  tflite: str = flag(
    '', 'File to write a TensorFlow Lite model to.', is_path=True
  )
  frozen_graph: str = flag('', 'File to write a frozen graph to.', is_path=True)
