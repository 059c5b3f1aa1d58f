"""Exercise 5: two towers with half of the batch each."""

import tensorflow.compat.v1 as tf

import cifar10
from cifar10 import cifar10_multi_gpu_train


def mean_gradients(images, labels, num_towers):
  """Computes the gradients of a batch on several GPUs.

  Tower i, on /gpu:i and in the name scope tower_i, computes the gradients of
  its part of the batch. Returns pairs (mean gradient, variable).
  """
  parts = zip(tf.split(images, num_towers), tf.split(labels, num_towers))
  opt = tf.train.GradientDescentOptimizer(cifar10.INITIAL_LEARNING_RATE)
  tower_grads = []
  for i, part in enumerate(parts):
    with tf.device('/gpu:%d' % i), tf.variable_scope('', reuse=i > 0):
      with tf.name_scope('%s_%d' % (cifar10.TOWER_NAME, i)) as scope:
        loss = cifar10_multi_gpu_train.tower_loss(scope, *part)
        tower_grads.append(opt.compute_gradients(loss))
  return cifar10_multi_gpu_train.average_gradients(tower_grads)
