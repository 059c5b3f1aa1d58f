"""An evaluator that restores the averages and counts with in_top_k."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import math

import cifar10
import numpy as np
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string('eval_data', 'test', "'test' or 'train_eval'.")
tf.app.flags.DEFINE_string('checkpoint_dir', '/tmp/cifar10_train', 'Models.')
tf.app.flags.DEFINE_integer('num_examples', 10000, 'Examples to run.')


def eval_once(saver, top_k_op, summary_op):
  with tf.Session() as sess:
    ckpt = tf.train.get_checkpoint_state(FLAGS.checkpoint_dir)
    if not (ckpt and ckpt.model_checkpoint_path):
      print('No checkpoint file found')
      return
    saver.restore(sess, ckpt.model_checkpoint_path)
    global_step = ckpt.model_checkpoint_path.split('/')[-1].split('-')[-1]
    coord = tf.train.Coordinator()
    try:
      threads = []
      for qr in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        threads.extend(
            qr.create_threads(sess, coord=coord, daemon=True, start=True))
      num_iter = int(math.ceil(FLAGS.num_examples / FLAGS.batch_size))
      true_count, step = 0, 0
      while step < num_iter and not coord.should_stop():
        true_count += np.sum(sess.run([top_k_op]))
        step += 1
      precision = true_count / (num_iter * FLAGS.batch_size)
      print('step %s: precision @ 1 = %.3f' % (global_step, precision))
      tf.Summary().ParseFromString(sess.run(summary_op))
    except Exception as e:
      coord.request_stop(e)
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)


def main(argv=None):
  cifar10.maybe_download_and_extract()
  with tf.Graph().as_default():
    images, labels = cifar10.inputs(eval_data=FLAGS.eval_data == 'test')
    logits = cifar10.inference(images)
    top_k_op = tf.nn.in_top_k(logits, labels, 1)
    variable_averages = tf.train.ExponentialMovingAverage(
        cifar10.MOVING_AVERAGE_DECAY)
    saver = tf.train.Saver(variable_averages.variables_to_restore())
    eval_once(saver, top_k_op, tf.summary.merge_all())


if __name__ == '__main__':
  tf.app.run()
