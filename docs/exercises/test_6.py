"""The check of exercise 6."""

from checks import expect
import exercise_6
import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input


def test_the_tutorial_reads_the_records(tmp_path):
  images = np.random.RandomState(1).randint(0, 256, [32, 32, 3, 3], np.uint8)
  labels = np.array([[10], [1], [9]], np.uint8)
  path = str(tmp_path / 'svhn.bin')
  exercise_6.records(images, labels).tofile(path)
  paths = tf.train.string_input_producer([path])
  record = cifar10_input.read_cifar10(paths)
  with tf.train.MonitoredSession() as session:
    for i, digit in enumerate([0, 1, 9]):
      label, image = session.run([record.label, record.uint8image])
      expect(
          label == digit,
          'The label of a %d must be %d; it is %d.' % (digit, digit, label[0]))
      expect((image == images[..., i]).all(),
             'read_cifar10() must return image %d unchanged.' % i)
