"""A trainer of 2015: a plain Session, queue runners, a Saver, merge_all."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import os.path

import cifar10
import numpy as np
from six.moves import xrange
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string('train_dir', '/tmp/cifar10_train', 'Checkpoints.')
tf.app.flags.DEFINE_integer('max_steps', 1000000, 'Batches to run.')


def train():
  with tf.Graph().as_default():
    global_step = tf.Variable(0, trainable=False)
    images, labels = cifar10.distorted_inputs()
    logits = cifar10.inference(images)
    loss = cifar10.loss(logits, labels)
    train_op = cifar10.train(loss, global_step)

    saver = tf.train.Saver(tf.global_variables())
    summary_op = tf.summary.merge_all()
    init = tf.initialize_all_variables()
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=False))
    sess.run(init)
    tf.train.start_queue_runners(sess=sess)
    summary_writer = tf.summary.FileWriter(FLAGS.train_dir, sess.graph)

    for step in xrange(FLAGS.max_steps):
      _, loss_value = sess.run([train_op, loss])
      assert not np.isnan(loss_value), 'Model diverged with loss = NaN'
      if step % 10 == 0:
        print('step %d, loss = %.2f' % (step, loss_value))
      if step % 100 == 0:
        summary_writer.add_summary(sess.run(summary_op), step)
      if step % 1000 == 0 or (step + 1) == FLAGS.max_steps:
        path = os.path.join(FLAGS.train_dir, 'model.ckpt')
        saver.save(sess, path, global_step=step)


def main(argv=None):
  cifar10.maybe_download_and_extract()
  if tf.gfile.Exists(FLAGS.train_dir):
    tf.gfile.DeleteRecursively(FLAGS.train_dir)
  tf.gfile.MakeDirs(FLAGS.train_dir)
  train()


if __name__ == '__main__':
  tf.app.run()
