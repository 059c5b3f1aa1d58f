"""Exercise 9: a Saver for some layers."""

import tensorflow.compat.v1 as tf


def restore_convolutions(session, path):
  """Restores conv1 and conv2 of the default graph; the rest stays as it is.

  `path` is the checkpoint of the package's model. It holds only the moving
  averages of the variables: conv1/weights/ExponentialMovingAverage and so on.
  """
  # Change this.
  tf.train.Saver().restore(session, path)
