"""A trainer of 2016: a MonitoredTrainingSession with a hook for its lines."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

from datetime import datetime
import time

import cifar10
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string('train_dir', '/tmp/cifar10_train', 'Checkpoints.')
tf.app.flags.DEFINE_integer('max_steps', 1000000, 'Batches to run.')
tf.app.flags.DEFINE_integer('log_frequency', 10, 'Steps between lines.')


class _Lines(tf.train.SessionRunHook):
  """Prints loss and speed."""

  def __init__(self, loss):
    self._loss = loss

  def begin(self):
    self._step = -1
    self._since = time.time()

  def before_run(self, run_context):
    self._step += 1
    return tf.train.SessionRunArgs(self._loss)

  def after_run(self, run_context, run_values):
    if self._step % FLAGS.log_frequency:
      return
    now = time.time()
    seconds = (now - self._since) / FLAGS.log_frequency
    self._since = now
    print('%s: step %d, loss = %.2f (%.1f examples/sec)' %
          (datetime.now(), self._step, run_values.results,
           FLAGS.batch_size / seconds))


def train():
  with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    with tf.device('/cpu:0'):
      images, labels = cifar10.distorted_inputs()
    logits = cifar10.inference(images)
    loss = cifar10.loss(logits, labels)
    train_op = cifar10.train(loss, global_step)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=FLAGS.train_dir, hooks=[
            tf.train.StopAtStepHook(last_step=FLAGS.max_steps),
            tf.train.NanTensorHook(loss),
            _Lines(loss)
        ], config=tf.ConfigProto(log_device_placement=False)) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)


def main(argv=None):
  cifar10.maybe_download_and_extract()
  train()


if __name__ == '__main__':
  tf.app.run()
