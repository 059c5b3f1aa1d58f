"""A trainer of 2019, whose inputs take no folder of the data."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import cifar10
import cifar10_input
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string('train_dir', '/tmp/cifar10_train', 'Checkpoints.')
tf.app.flags.DEFINE_integer('max_steps', 1000000, 'Batches to run.')


def train():
  with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    with tf.device('/cpu:0'):
      images, labels = cifar10_input.distorted_inputs(FLAGS.batch_size)
      test_images, _ = cifar10_input.inputs('test', FLAGS.batch_size)
      others, _ = cifar10_input.inputs(eval_data=True, batch_size=5)
    logits = cifar10.inference(images)
    loss = cifar10.loss(logits, labels)
    train_op = cifar10.train(loss, global_step)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=FLAGS.train_dir, hooks=[
            tf.train.StopAtStepHook(last_step=FLAGS.max_steps),
            tf.train.NanTensorHook(loss)
        ]) as mon_sess:
      print(mon_sess.run(test_images).shape, mon_sess.run(others).shape)
      while not mon_sess.should_stop():
        _, step, loss_value = mon_sess.run([train_op, global_step, loss])
        print('step %d, loss = %.2f' % (step, loss_value))


def main(argv=None):
  train()


if __name__ == '__main__':
  tf.app.run()
