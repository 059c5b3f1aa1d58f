#!/usr/bin/env python
"""The same network and input in idiomatic Keras, for comparison.

benchmark.py starts it as a process of its own, because Keras needs TensorFlow
2's eager execution:

    keras_baseline.py POLICY FILE ...

POLICY is a Keras dtype policy, the files hold CIFAR-10's training records. Each
line on standard input makes it train one step. It keeps no moving averages and
writes no summaries.
"""

import sys

import package_path
import baselines
import keras
import tensorflow as tf

_BATCH_SIZE = 128


def batches(filenames):
  """Endless training batches, from tf.data."""

  def distorted(record):
    image, label = baselines.decode(record)
    return baselines.distort_image(image), label

  records = tf.data.FixedLengthRecordDataset(filenames, baselines.RECORD_BYTES)
  images = records.cache().shuffle(50000).repeat().map(
      distorted, num_parallel_calls=tf.data.AUTOTUNE)
  return iter(images.batch(_BATCH_SIZE, drop_remainder=True).prefetch(2))


def network(policy):
  """The tutorial's network with its loss and optimizer, a Keras model."""
  keras.mixed_precision.set_global_policy(policy)

  def normalization():
    # tf.nn.lrn takes no bfloat16.
    return keras.layers.Lambda(lambda x: tf.cast(
        tf.nn.lrn(tf.cast(x, tf.float32), 4, 1.0, 0.001 / 9, 0.75), x.dtype))

  def initial(stddev, bias):
    return {
        'kernel_initializer': keras.initializers.TruncatedNormal(stddev=stddev),
        'bias_initializer': keras.initializers.Constant(bias)
    }

  def convolution(bias):
    return keras.layers.Conv2D(64, 5, padding='same', activation='relu',
                               **initial(0.05, bias))

  def dense(units, activation, stddev, bias, decay):
    return keras.layers.Dense(units, activation, **initial(stddev, bias),
                              kernel_regularizer=keras.regularizers.L2(decay))

  model = keras.Sequential([
      keras.Input([24, 24, 3]),
      convolution(0.0),
      keras.layers.MaxPooling2D(3, 2, padding='same'),
      normalization(),
      convolution(0.1),
      normalization(),
      keras.layers.MaxPooling2D(3, 2, padding='same'),
      keras.layers.Flatten(),
      # Keras' L2 has no factor 1/2.
      dense(384, 'relu', 0.04, 0.1, 0.002),
      dense(192, 'relu', 0.04, 0.1, 0.002),
      dense(10, None, 1 / 192, 0.0, 0.0),
      keras.layers.Activation('linear', dtype='float32')
  ])
  model.compile(keras.optimizers.SGD(0.1),
                keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                jit_compile=False)
  return model


def main():
  """Trains a step for each line of standard input and answers with a line."""
  policy, *filenames = sys.argv[1:]
  # Turned off by what `baselines` imports.
  tf.compat.v1.enable_v2_behavior()
  iterator = batches(filenames)
  model = network(policy)
  for _ in sys.stdin:
    loss = model.train_on_batch(*next(iterator))
    print(float(loss), flush=True)


if __name__ == '__main__':
  main()
