"""A program of 2019, whose inputs take no folder of the data."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import cifar10
import cifar10_input
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS


def main(argv=None):
  images, labels = cifar10_input.distorted_inputs(FLAGS.batch_size)
  test_images, _ = cifar10_input.inputs('test', FLAGS.batch_size)
  others = cifar10_input.inputs(eval_data=True, batch_size=5)
  loss = cifar10.loss(cifar10.inference(images), labels)
  with tf.train.MonitoredTrainingSession() as mon_sess:
    values, first = mon_sess.run(others)
    print(mon_sess.run(test_images).shape, values.shape, first)
    print('loss = %.2f' % mon_sess.run(loss))


if __name__ == '__main__':
  tf.app.run()
