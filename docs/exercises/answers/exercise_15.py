"""Exercise 15: devices inside devices."""

import tensorflow.compat.v1 as tf


def build(inputs, model):
  """Builds model(inputs()) for worker 3 of a cluster with 2 parameter servers.

  The inputs are on the CPU of the worker, the model on its GPU 1, and the
  variables that the model creates on the CPUs of the servers, in turn.
  """
  setter = tf.train.replica_device_setter(
      ps_tasks=2, ps_device='/job:ps/cpu:0',
      worker_device='/job:worker/task:3/gpu:1')
  with tf.device(setter):
    with tf.device('/cpu:0'):
      images = inputs()
    return model(images)
