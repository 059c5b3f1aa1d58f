"""Exercise 17: a learning rate that counts epochs."""

import tensorflow.compat.v1 as tf

import cifar10


def learning_rate(global_step, batch_size, num_towers):
  """Falls by LEARNING_RATE_DECAY_FACTOR every NUM_EPOCHS_PER_DECAY epochs.

  Each tower has a batch of its own in each step.
  """
  decay_steps = 136718  # Change this: it is right for 128 images in a step.
  return tf.train.exponential_decay(cifar10.INITIAL_LEARNING_RATE, global_step,
                                    decay_steps,
                                    cifar10.LEARNING_RATE_DECAY_FACTOR,
                                    staircase=True)
