"""Every number that shapes a run, in one frozen dataclass.

The entry scripts fill a `Config` from their flags and pass it down; nothing
below them reads a flag. A trainer saves it as `config.json` beside its
checkpoints. The defaults are the tutorial's.
"""

import dataclasses
import json
import os
from typing import Optional, Tuple

from cifar10.util import files
from cifar10.errors import UserError

FILE_NAME = 'config.json'


def _field(default, text, **limits):
  """A field with its help text and the limits of its flag, if it has one."""
  metadata = dict(limits, help=text)
  return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Config:
  """The settings of one run. Where a field has a flag, the names are equal."""

  # The data.
  dataset: str = _field(
    'cifar10',
    'The data set. Where --data_dir holds a dataset.json, as '
    'scripts/make_dataset.py makes it, cifar10 is what that describes.',
    choices=('cifar10', 'cifar100', 'svhn', 'sample'),
  )
  cifar100_labels: str = _field(
    'fine',
    'Which labels of CIFAR-100: its 100 classes or its 20 groups of classes.',
    choices=('fine', 'coarse'),
  )
  data_dir: str = _field(
    '/tmp/cifar10_data', 'Where the data set is, or is put if it is not there.'
  )
  data_url: str = _field(
    '',
    'Where to fetch the data set from, a mirror or a file:// address: the '
    'archive, or for svhn the folder of its two files. Default: its official '
    'place.',
  )
  data_sha256: str = _field(
    '',
    'SHA-256 that the fetched file must have; for svhn both, with a comma '
    'between. Default: that of the official file.',
  )
  examples_per_epoch: int = 50000  # Training examples, from the files.
  classes: Tuple[str, ...] = ()  # Their names, from the data.

  # The model.
  precision: str = _field(
    'float32',
    'What convolutions and matrix products are computed in. Variables, their '
    'averages and the loss are float32 always.',
    choices=('float32', 'bfloat16', 'float16'),
  )
  top_layers: str = _field(
    'full',
    'What local3 and local4 are: full, fully connected; or local, locally '
    'connected as in cuda-convnet.',
    choices=('full', 'local'),
  )

  # Training.
  batch_size: int = _field(
    128, 'Images in a batch; a batch for each GPU.', lower_bound=1
  )
  num_gpus: int = _field(1, 'How many GPUs to train on.', lower_bound=1)
  max_steps: int = _field(
    1000000, 'Global step at which training ends.', lower_bound=1
  )
  learning_rate: float = _field(0.1, 'Initial learning rate.', lower_bound=0.0)
  num_epochs_per_decay: float = 350.0
  learning_rate_decay_factor: float = 0.1
  moving_average_decay: float = 0.9999
  clip_norm: float = _field(
    0.0, 'Largest global norm of the gradients; 0: no limit.', lower_bound=0.0
  )
  seed: Optional[int] = _field(
    None, 'Makes a run repeatable: same seed, same numbers.'
  )
  # The run so far: (first step, examples a step) of each of its stretches.
  stretches: Tuple[Tuple[int, int], ...] = ()

  # The training directory and what is written there.
  train_dir: str = _field(
    '/tmp/cifar10_train', 'Where checkpoints and summaries are written.'
  )
  overwrite: bool = _field(
    False, 'Delete the run in --train_dir and start afresh.'
  )
  save_secs: int = _field(
    600, 'Seconds between checkpoints; 0: not by time.', lower_bound=0
  )
  save_steps: int = _field(
    0, 'Steps between checkpoints; 0: not by steps.', lower_bound=0
  )
  max_to_keep: int = _field(
    0, 'Delete all but so many newest checkpoints; 0: keep all.', lower_bound=0
  )
  log_frequency: int = _field(
    10, 'Steps between lines on the console.', lower_bound=1
  )
  progress: bool = _field(
    False, 'On a terminal, show one live line in place of those lines.'
  )
  summary_steps: int = 100

  # The cluster.
  ps_hosts: str = _field('', 'The parameter servers: host:port,host:port,...')
  worker_hosts: str = _field('', 'The workers, as --ps_hosts; first the chief.')
  job_name: str = _field('', 'What this task is.', choices=('', 'ps', 'worker'))
  task_index: int = _field(0, 'Number of this task in its job.', lower_bound=0)
  sync: bool = _field(
    True,
    'Average the gradients of all workers before each step; --nosync: each '
    'worker applies its own at once.',
  )
  backup_workers: int = _field(
    0, 'So many workers need not be waited for in a step.', lower_bound=0
  )
  machines_per_step: int = 1  # Workers whose batches make one step.
  chief_starts: int = 1  # How often a chief has begun at these servers.
  ps_strategy: str = _field(
    'round_robin',
    'How variables are spread over parameter servers.',
    choices=('round_robin', 'by_size'),
  )
  partition_ps: bool = _field(
    False, 'Split large variables over all parameter servers.'
  )
  model_parallel: bool = _field(
    False,
    'Put the convolutions on the first device of a worker and the fully '
    'connected layers on the second.',
  )
  grad_dtype: str = _field(
    'float32',
    'Type in which gradients are sent to parameter servers.',
    choices=('float32', 'bfloat16', 'float16'),
  )
  connect_timeout_secs: int = _field(
    60, 'How long other tasks may be out of reach.', lower_bound=1
  )
  stall_secs: int = _field(
    120, 'How long a step may wait for the other workers.', lower_bound=1
  )
  operation_timeout_ms: int = _field(
    0, 'Limit of every single call of the session; 0: none.', lower_bound=0
  )

  # Evaluation.
  checkpoint_dir: str = _field(
    '/tmp/cifar10_train', 'Where the checkpoints are.'
  )
  eval_dir: str = _field(
    '/tmp/cifar10_eval', 'Where the summaries of the evaluation are written.'
  )
  eval_data: str = _field(
    'test', 'Which images to evaluate on.', choices=('test', 'train_eval')
  )
  eval_interval_secs: int = _field(
    300, 'Least seconds between two evaluations.', lower_bound=0
  )
  run_once: bool = _field(False, 'Evaluate the newest checkpoint and end.')
  use_moving_averages: bool = _field(
    True, 'Take the moving averages of the variables.'
  )
  eval_device: str = _field(
    'gpu',
    'Where to evaluate; gpu falls back to the CPU where there is none.',
    choices=('gpu', 'cpu'),
  )

  # Labels for people's own pictures.
  top_k: int = _field(
    3, 'How many classes to print, the likeliest first.', lower_bound=1
  )
  json: bool = _field(
    False, 'Print a JSON object for each picture, with all probabilities.'
  )
  grid: str = _field(
    '', 'PNG to draw, a sheet of the pictures with their classes below.'
  )

  # The export.
  checkpoint: str = _field(
    '',
    'Which checkpoint to take: a step of the run in --checkpoint_dir, or the '
    'path of a checkpoint; empty: the newest one.',
  )
  export_dir: str = _field(
    '/tmp/cifar10_export', 'Folder to write a SavedModel to; empty: none.'
  )
  tflite: str = _field('', 'File to write a TensorFlow Lite model to.')
  frozen_graph: str = _field('', 'File to write a frozen graph to.')

  # The session.
  gpu_memory_fraction: float = _field(
    0.0,
    'Share of the memory of each GPU to take; 0: grow on demand.',
    lower_bound=0.0,
    upper_bound=1.0,
  )
  intra_op_threads: int = _field(
    0, 'Threads that share one operation; 0: one for each core.', lower_bound=0
  )
  inter_op_threads: int = _field(
    0, 'Operations that run side by side; 0: one for each core.', lower_bound=0
  )
  log_device_placement: bool = _field(
    False, 'Print the device of every operation.'
  )

  @property
  def examples_per_machine(self):
    """Training examples that one machine, with all its towers, takes a step."""
    return self.batch_size * self.num_gpus

  @property
  def examples_per_step(self):
    """Training examples consumed by one step of all machines together."""
    return self.examples_per_machine * self.machines_per_step

  @property
  def run_dir(self):
    """The directory of the run whose model is used."""
    if self.checkpoint and not self.checkpoint.isdecimal():
      return os.path.dirname(self.checkpoint)
    return self.checkpoint_dir

  @property
  def step_offset(self):
    """How far the examples seen are ahead of the global step, in steps.

    The learning rate decays by examples seen, and a checkpoint holds the
    global step only. Where a step has not always had as many examples as
    now, this is added to count all examples in steps of the present size.
    """
    if not self.stretches:
      return 0
    seen = 0
    for (start, size), (end, _) in zip(self.stretches, self.stretches[1:]):
      seen += (end - start) * size
    start, size = self.stretches[-1]
    return seen // size - start

  def resumed_from(self, saved, step):
    """This config, going on at `step` of the run that `saved` began.

    Args:
      saved: the Config of the run so far.
      step: global step of the checkpoint that training goes on from; not
        necessarily the last one of the run so far.
    """
    stretches = saved.stretches or ((0, saved.examples_per_step),)
    stretches = tuple(s for s in stretches if s[0] < step)
    if not stretches or stretches[-1][1] != self.examples_per_step:
      stretches += ((step, self.examples_per_step),)
    return dataclasses.replace(self, stretches=stretches)

  def save(self, directory):
    """Writes `config.json` into `directory`, whole or not at all."""
    value = dataclasses.asdict(self)
    value['data_dir'] = os.path.abspath(self.data_dir)  # From elsewhere too.
    text = json.dumps(value, indent=2, sort_keys=True)
    files.write_atomically(
      os.path.join(directory, FILE_NAME), (text + '\n').encode('utf-8')
    )


def load(directory):
  """The Config saved in `directory`, or None where there is none.

  Fields that this version does not know are passed over, and those that the
  file lacks have their defaults, so that runs outlive versions.

  Raises:
    UserError: the file holds no JSON object, or a value of another type.
  """
  path = os.path.join(directory, FILE_NAME)
  values = files.read_json(path)
  if values is None:
    return None
  loaded = {}
  for field in dataclasses.fields(Config):
    if field.name in values:
      loaded[field.name] = _typed(values[field.name], field, path)
  return Config(**loaded)


def _typed(value, field, path):
  """`value` from JSON, as the type that the field has."""
  try:
    if field.name == 'stretches':
      return tuple((int(start), int(size)) for start, size in value)
    if field.name == 'classes':
      return tuple(str(name) for name in value)
    if value is None and field.default is None:
      return None
    expected = int if field.default is None else type(field.default)
    if isinstance(value, expected) or (expected, type(value)) == (float, int):
      return value
  except (TypeError, ValueError):
    pass
  raise UserError(
    '%s: %s is %s; expected a value as %s'
    % (path, field.name, json.dumps(value), json.dumps(field.default))
  )
