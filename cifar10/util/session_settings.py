"""Settings of sessions: devices, memory, threads, types."""

import os

import tensorflow.compat.v1 as tf

from cifar10.util import log_suppression
from cifar10.util import processor


def has_gpu():
  """True if TensorFlow finds a GPU on this machine."""
  return bool(tf.config.experimental.list_physical_devices('GPU'))


def config_proto(settings, use_gpu=True, on_server=False):
  """The tf.ConfigProto of a session, with soft placement and memory growth.

  Without `use_gpu` the session sees no GPU. Without a GPU, the parts of a model
  that is divided are on as many devices of the processor. With `on_server` the
  session is one of a tf.train.Server.
  """
  devices = {} if use_gpu else {'GPU': 0}
  if settings.model_parallelism != 'none' and not has_gpu():
    devices['CPU'] = settings.num_gpus
  proto = tf.ConfigProto(allow_soft_placement=True,
                         log_device_placement=settings.log_device_placement,
                         device_count=devices,
                         intra_op_parallelism_threads=settings.intra_op_threads,
                         inter_op_parallelism_threads=settings.inter_op_threads)
  if on_server and settings.compute_type == 'bfloat16':
    # Servers refuse the operation into which Grappler joins a convolution in
    # bfloat16 and its biases.
    rewriting = proto.graph_options.rewrite_options
    rewriting.remapping = rewriting.OFF
  options = proto.gpu_options
  options.allow_growth = True
  options.per_process_gpu_memory_fraction = settings.gpu_memory_fraction
  return proto


def bypass_proxies(*addresses):
  """Has TensorFlow reach servers at `host:port`, and this machine, directly.

  A proxy that the environment names may be gone, or refuse: TensorFlow would
  wait without end. Call it before the first session with a server.
  """
  known = os.environ.get('no_proxy', os.environ.get('NO_PROXY', ''))
  if known.strip() == '*':  # All hosts: unknown to TensorFlow, and only alone.
    for name in ('grpc_proxy', 'https_proxy', 'http_proxy'):
      os.environ.pop(name, None)
    return
  hosts = {address.rpartition(':')[0].strip('[]') for address in addresses}
  # Newer versions look for the second name first, older ones only for the
  # first.
  for name in ('no_proxy', 'no_grpc_proxy'):
    before = set(os.environ.get(name, known).split(','))
    os.environ[name] = ','.join(sorted((before | hosts | {'localhost'}) - {''}))


def start_threads(settings):
  """Starts TensorFlow's threads; the first session of a process sets how many.

  With TensorFlow 2.20 it prints lines at every log level: they are discarded.
  """
  proto = config_proto(settings, use_gpu=False)
  proto.log_device_placement = False
  with log_suppression.stderr_held_back():
    with tf.Graph().as_default(), tf.Session(config=proto) as session:
      session.run(tf.constant(0))


def warn_of_slow_type(compute_type, use_gpu=True):
  """Prints a warning if a type is slower than float32 on this machine.

  With `use_gpu` the program runs on a GPU if there is one.
  """
  is_fast = (compute_type == 'float32' or (use_gpu and has_gpu()) or
             (compute_type == 'bfloat16' and cpu_has_bfloat16()))
  if not is_fast:
    print(f'WARNING: --precision={compute_type} is slower than float32 on '
          'this processor, which has no instructions for it.')


def cpu_has_bfloat16():
  """True if TensorFlow uses bfloat16 instructions of this processor."""
  return cpu_has_amx() or _uses('avx512_bf16')


def cpu_has_amx():
  """The same for instructions that multiply matrices (Intel AMX)."""
  return _uses('amx_bf16')


def _uses(feature):
  return tf.__version__ >= '2' and feature in processor.features()
