"""Exercise 1: probabilities in place of logits."""

import tensorflow.compat.v1 as tf

import cifar10


def probabilities(images):
  """Returns the probability of each class, [batch, 10]."""
  logits = cifar10.inference(images)
  return logits  # Change this.
