"""How sessions use the machine: devices, memory, threads, precision."""

import tensorflow.compat.v1 as tf

from cifar10.util import log_suppression

_CPU_INFO = '/proc/cpuinfo'


def has_gpu():
  """Whether TensorFlow finds a GPU on this machine."""
  return bool(tf.config.experimental.list_physical_devices('GPU'))


def session_config(config, use_gpu=True):
  """The tf.ConfigProto of every session: memory grows, placement is soft.

  Args:
    config: Config.
    use_gpu: False hides the GPUs from the session.
  """
  proto = tf.ConfigProto(
    allow_soft_placement=True,
    log_device_placement=config.log_device_placement,
    device_count={} if use_gpu else {'GPU': 0},
    intra_op_parallelism_threads=config.intra_op_threads,
    inter_op_parallelism_threads=config.inter_op_threads,
  )
  proto.gpu_options.allow_growth = True
  if config.gpu_memory_fraction:
    fraction = config.gpu_memory_fraction
    proto.gpu_options.per_process_gpu_memory_fraction = fraction
  return proto


def start(config):
  """Starts TensorFlow's threads; to be called before any other session.

  The first session of a process decides on the threads of all. With
  TensorFlow 2.20 it also writes lines on the terminal that heed no log level.

  Args:
    config: Config.
  """
  proto = session_config(config, use_gpu=False)
  proto.log_device_placement = False
  with log_suppression.stderr_held_back():
    with tf.Graph().as_default(), tf.Session(config=proto) as session:
      session.run(tf.constant(0))


def warn_of_slow_precision(config, use_gpu=True):
  """Prints a warning where `config.precision` is no gain on this machine.

  Args:
    config: Config.
    use_gpu: whether a GPU is used where there is one.
  """
  if config.precision == 'float32' or (use_gpu and has_gpu()):
    return
  if config.precision == 'bfloat16' and _cpu_has_bfloat16():
    return
  print(
    'WARNING: --precision=%s is slower than float32 on this processor, which '
    'has no instructions for it.' % config.precision
  )


def _cpu_has_bfloat16():
  """Whether the processor multiplies bfloat16, and TensorFlow makes use of it.

  TensorFlow 1 has no fast bfloat16 on any processor.
  """
  try:
    with open(_CPU_INFO) as file:
      features = file.read().split()
  except OSError:
    return False
  return tf.__version__ >= '2' and (
    'avx512_bf16' in features or 'amx_bf16' in features
  )
