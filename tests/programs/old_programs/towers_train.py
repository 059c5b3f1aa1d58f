"""A multi-GPU trainer that builds its towers by itself."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import os.path
import re

import cifar10
from six.moves import xrange
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string('train_dir', '/tmp/cifar10_train', 'Checkpoints.')
tf.app.flags.DEFINE_integer('max_steps', 1000000, 'Batches to run.')
tf.app.flags.DEFINE_integer('num_gpus', 1, 'Towers.')


def tower_loss(scope):
  images, labels = cifar10.distorted_inputs()
  logits = cifar10.inference(images)
  _ = cifar10.loss(logits, labels)
  losses = tf.get_collection('losses', scope)
  total_loss = tf.add_n(losses, name='total_loss')
  for l in losses + [total_loss]:
    name = re.sub('%s_[0-9]*/' % cifar10.TOWER_NAME, '', l.op.name)
    tf.summary.scalar(name, l)
  return total_loss


def average_gradients(tower_grads):
  average_grads = []
  for grad_and_vars in zip(*tower_grads):
    grads = tf.concat([tf.expand_dims(g, 0) for g, _ in grad_and_vars], 0)
    average_grads.append((tf.reduce_mean(grads, 0), grad_and_vars[0][1]))
  return average_grads


def train():
  with tf.Graph().as_default(), tf.device('/cpu:0'):
    global_step = tf.get_variable('global_step', [],
                                  initializer=tf.constant_initializer(0),
                                  trainable=False)
    num_batches_per_epoch = (cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN /
                             FLAGS.batch_size)
    lr = tf.train.exponential_decay(
        cifar10.INITIAL_LEARNING_RATE, global_step,
        int(num_batches_per_epoch * cifar10.NUM_EPOCHS_PER_DECAY),
        cifar10.LEARNING_RATE_DECAY_FACTOR, staircase=True)
    opt = tf.train.GradientDescentOptimizer(lr)
    tower_grads = []
    with tf.variable_scope(tf.get_variable_scope()):
      for i in xrange(FLAGS.num_gpus):
        with tf.device('/gpu:%d' % i):
          with tf.name_scope('%s_%d' % (cifar10.TOWER_NAME, i)) as scope:
            loss = tower_loss(scope)
            tf.get_variable_scope().reuse_variables()
            summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
            tower_grads.append(opt.compute_gradients(loss))
    grads = average_gradients(tower_grads)
    summaries.append(tf.summary.scalar('learning_rate', lr))
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    variable_averages = tf.train.ExponentialMovingAverage(
        cifar10.MOVING_AVERAGE_DECAY, global_step)
    variables_averages_op = variable_averages.apply(tf.trainable_variables())
    train_op = tf.group(apply_gradient_op, variables_averages_op)

    saver = tf.train.Saver(tf.global_variables())
    summary_op = tf.summary.merge(summaries)
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    sess.run(tf.global_variables_initializer())
    tf.train.start_queue_runners(sess=sess)
    for step in xrange(FLAGS.max_steps):
      _, loss_value = sess.run([train_op, loss])
      print('step %d, loss = %.2f' % (step, loss_value))
    sess.run(summary_op)
    path = os.path.join(FLAGS.train_dir, 'model.ckpt')
    saver.save(sess, path, global_step=step)


def main(argv=None):
  cifar10.maybe_download_and_extract()
  tf.gfile.MakeDirs(FLAGS.train_dir)
  train()


if __name__ == '__main__':
  tf.app.run()
