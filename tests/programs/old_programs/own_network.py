"""An own reader, network and summaries, made with the tutorial's helpers."""

import os
import sys

import cifar10
import cifar10_input
import tensorflow.compat.v1 as tf

folder, kind = sys.argv[1:]
del sys.argv[1:]
BATCH_SIZE = 4
tf.logging.set_verbosity(tf.logging.INFO)
if kind == 'resource':
  tf.enable_resource_variables()


def distorted_inputs():
  names = [os.path.join(folder, 'data_batch_%d.bin' % i) for i in range(1, 6)]
  read_input = cifar10_input.read_cifar10(tf.train.string_input_producer(names))
  image = tf.cast(read_input.uint8image, tf.float32)
  image = tf.image.per_image_standardization(tf.random_crop(image, [24, 24, 3]))
  for shuffle in (False, True):
    batch = cifar10_input._generate_image_and_label_batch(
        image, read_input.label, 20, BATCH_SIZE, shuffle=shuffle)
  return batch


def inference(images):
  with tf.variable_scope('conv1', reuse=tf.AUTO_REUSE) as scope:
    kernel = cifar10._variable_with_weight_decay('weights', [5, 5, 3, 8],
                                                 stddev=5e-2, wd=0.004)
    conv = tf.nn.conv2d(images, kernel, [1, 2, 2, 1], padding='SAME')
    biases = cifar10._variable_on_cpu('biases', [8],
                                      tf.constant_initializer(0.0))
    conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    cifar10._activation_summary(conv1)
    cifar10._activation_summary(conv)
  pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME', name='pool')
  cifar10._activation_summary(pool1)
  rows = tf.reshape(pool1, [BATCH_SIZE, -1])
  with tf.variable_scope('softmax_linear'):
    dim = rows.get_shape()[1]
    weights = cifar10._variable_with_weight_decay('weights', [dim, 10], 0.01, 0)
  return kernel, tf.matmul(rows, weights)


global_step = tf.train.get_or_create_global_step()
images, labels = distorted_inputs()
tf.summary.image('images', images)
kernel, logits = inference(images)
loss = cifar10.loss(logits, labels)
tf.summary.scalar('learning_rate', tf.constant(0.1))
train_op = cifar10.train(loss, global_step)
saver = tf.train.Saver({'conv1/weights': kernel})
reset = kernel.assign(tf.zeros([5, 5, 3, 8]))
summary_op = tf.summary.merge_all()
assert any(kernel is variable for variable in tf.trainable_variables())
tf.logging.info('It is built.')
hook = tf.train.LoggingTensorHook({'loss': loss}, every_n_iter=2)
with tf.train.MonitoredTrainingSession(hooks=[hook]) as sess:
  for _ in range(3):
    sess.run(train_op)
  sess.run(reset)
  summary = tf.Summary.FromString(sess.run(summary_op))
tags = sorted(value.tag for value in summary.value)
assert len(set(tags)) == len(tags), tags
print(*tags)
