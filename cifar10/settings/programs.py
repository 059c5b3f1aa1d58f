"""Settings of programs: runs, sessions, clusters, evaluation, export."""

from typing import Optional, Tuple

from cifar10.settings.field import MOST_STEPS
from cifar10.settings.field import Group
from cifar10.settings.field import choice
from cifar10.settings.field import count
from cifar10.settings.field import setting
from cifar10.settings.field import share


class Towers(Group):
  """The devices of a machine, and what each of them computes.

  num_gpus: Number of GPUs to train on.
  model_parallelism: none, each GPU has a tower with a batch of its own; or each
    has a part of one model: layers, the first GPU the convolutions and the
    second one the fully connected layers; filters, each GPU some of the filters
    or units of each layer. In a cluster with --num_gpus=1, the workers take the
    place of the GPUs.
  """

  num_gpus: int = count(1, 1, 64)
  model_parallelism: str = choice('none', 'layers', 'filters')
  # TensorFlow's names of the devices of one divided model; empty: towers.
  devices: Tuple[str, ...] = ()


class Running(Group, agreed=False, searched=False):
  """The training directory, and a run's files and console lines.

  train_dir: Where checkpoints and summaries are written.
  overwrite: Start from scratch; the run in --train_dir is deleted once the
    graph of the new one is built, before its first checkpoint.
  save_secs: Seconds between checkpoints; 0: do not save by time.
  save_steps: Save a checkpoint at steps that are multiples of this; 0: do not
    save by steps.
  max_to_keep: Number of newest checkpoints to keep; 0: all of them.
  log_frequency: Steps between lines on the console.
  progress: On a terminal, update one live line instead of printing lines.
  stall_secs: Seconds without a step after which training saves the last
    complete step and ends with an error.
  master: The TensorFlow server that runs the graph, grpc://host:port; empty:
    this process.
  """

  train_dir: str = setting('/tmp/cifar10_train', reported=False, shared=False,
                           holds_checkpoints=True)
  overwrite: bool = setting(False, reported=False, shared=False)
  save_secs: int = count(600)
  save_steps: int = count(0, most=MOST_STEPS)
  max_to_keep: int = count(0)
  log_frequency: int = count(10, 1, MOST_STEPS)
  progress: bool = setting(False, reported=False)
  stall_secs: int = count(120, 1)
  master: str = setting('', reported=False, shared=False)
  # Steps between summaries.
  summary_steps: int = count(100, 1, MOST_STEPS, searched=True)


class Metrics(Group, saved=False, shared=False):
  """Numbers of a run in a file, for other programs.

  metrics: File that receives a line of JSON for each line on the console; in a
    cluster, only the chief writes it.
  """

  metrics: str = setting('', is_path=True)


class Session(Group, agreed=False):
  """Types, threads and memory of a session.

  precision: The type of convolutions and matrix products; Winograd's algorithm
    always computes in float32. Variables, their averages and the loss are
    always float32.
  conv: How to compute convolutions: direct, by tf.nn.conv2d; winograd, by
    Winograd's algorithm, with fewer multiplications; or auto, whichever is
    likely to be faster for the device and the size.
  gpu_memory_fraction: Fraction of the memory of each GPU to take; 0: grow on
    demand.
  intra_op_threads: Threads that share one operation; 0: one per core.
  inter_op_threads: Operations that run at the same time; 0: one per core.
  log_device_placement: Print the device of every operation.
  """

  precision: str = choice('float32', 'bfloat16', 'float16', exported=True)
  conv: str = choice('auto', 'direct', 'winograd', exported=True)
  gpu_memory_fraction: float = share(0.0, searched=False)
  intra_op_threads: int = count(0, most=1 << 16, searched=False)
  inter_op_threads: int = count(0, most=1 << 16, searched=False)
  log_device_placement: bool = setting(False, searched=False)


class Cluster(Group):
  """The cluster, this task's place in it, and the traffic between tasks.

  ps_hosts: The parameter servers: host:port,host:port,...
  worker_hosts: The workers: host:port,host:port,... The first one is the chief.
  job_name: The job of this task.
  task_index: The number of this task in its job.
  slurm_ps: In a job step of Slurm, the number of its tasks that are parameter
    servers; the others are workers. 0: the cluster comes from --ps_hosts and
    --worker_hosts, or from TF_CONFIG.
  sync: Average the gradients of all workers before each step; --nosync: each
    worker applies its own at once.
  backup_workers: Number of workers that a synchronous step need not wait for.
  ps_strategy: How variables are spread over the parameter servers.
  partition_ps: Split large variables over the parameter servers.
  grad_dtype: The type in which gradients are sent to the parameter servers.
  connect_timeout_secs: Seconds to wait for a task that cannot be reached.
  operation_timeout_ms: Time limit of a step, in milliseconds; 0: none.
  """

  ps_hosts: str = setting('', agreed=False, reported=False)
  worker_hosts: str = setting('', agreed=False, reported=False)
  job_name: str = choice('', 'ps', 'worker', agreed=False, reported=False)
  task_index: int = count(0, agreed=False, reported=False)
  slurm_ps: int = count(0, agreed=False, reported=False)
  sync: bool = True
  backup_workers: int = count(0, needs='sync')
  ps_strategy: str = choice('round_robin', 'by_size')
  partition_ps: bool = False
  grad_dtype: str = choice('float32', 'bfloat16', 'float16')
  connect_timeout_secs: int = count(60, 1, 2147483, agreed=False)
  operation_timeout_ms: int = count(0, agreed=False)


class Checkpoint(Group, saved=False):
  """The run that a trained model comes from.

  checkpoint_dir: The folder of the checkpoints, or a model that comes with the
    package, pretrained:tutorial or pretrained:fast. Evaluation and prediction
    take several, and average the probabilities of their networks.
  use_moving_averages: Use the moving averages of the variables.
  """

  checkpoint_dir: str = setting('/tmp/cifar10_train', holds_checkpoints=True)
  use_moving_averages: bool = setting(True, exported=True)


class Ensemble(Group, saved=False):
  """Several trained networks, and where they run.

  ensemble: Where the networks of several --checkpoint_dir run: graph, in one
    graph; or processes, each in a process of its own: if one fails, the others
    still answer.
  """

  ensemble: str = choice('graph', 'processes')
  networks: Tuple = ()  # The Settings of each, if there are several.


class Inference(Group, saved=False):
  """Inference with a trained model.

  eval_device: Where the model runs; without a GPU, gpu means the CPU.
  tta: If the model is unsure of an image, average over six shifted and mirrored
    copies, or three where a mirrored image changes its class: more precise, and
    up to six times the work, about twice with the models of the package.
  """

  eval_device: str = choice('gpu', 'cpu')
  tta: bool = setting(False, exported=True)


class Evaluation(Group, saved=False):
  """Images, folder and times of evaluations.

  eval_dir: Where the summaries of the evaluation are written.
  eval_data: Which images to evaluate on.
  eval_interval_secs: Minimum seconds between two evaluations.
  run_once: Evaluate the newest checkpoint and end.
  """

  eval_dir: str = setting('/tmp/cifar10_eval', is_path=True)
  eval_data: str = choice('test', 'train_eval')
  eval_interval_secs: int = count(300)
  run_once: bool = False
  # Images that an old program evaluates, in whole batches; 0: all of them.
  num_examples: int = 0


class Answers(Group, saved=False):
  """Printed answers of a trained model.

  top_k: Evaluation also prints precision @ k (default 1); prediction prints the
    k most probable classes (default 3).
  json: Print a JSON object instead of each line of text.
  """

  top_k: Optional[int] = count(None, 1)
  json: bool = False


class Prediction(Group, saved=False):
  """Drawings of labeled pictures.

  grid: File for a contact sheet of the pictures with their classes; its
    extension is its format.
  """

  grid: str = setting('', is_path=True)


class Export(Group, saved=False):
  """The checkpoint to export, and the formats.

  checkpoint: The checkpoint to export: a step of the run in --checkpoint_dir,
    the path of a checkpoint, or a model of the package; empty: the newest one.
  export_dir: Folder for a SavedModel; /tmp/cifar10_export if no other format
    is named.
  tflite: File for a TensorFlow Lite model.
  frozen_graph: File for a frozen graph, whose variables are constants.
  html: File for a web page that runs the model in a browser.
  """

  checkpoint: str = setting('', holds_checkpoints=True)
  export_dir: str = setting('', is_path=True)
  tflite: str = setting('', is_path=True)
  frozen_graph: str = setting('', is_path=True)
  html: str = setting('', is_path=True)
