"""Trains on another number of classes, by a session of its choice."""

import sys

import cifar10
import cifar10_input
import tensorflow.compat.v1 as tf

data_dir, where, count, session, *fetches = sys.argv[1:]
cifar10.FLAGS.data_dir = data_dir
cifar10.FLAGS.batch_size = 8
(cifar10 if where == 'cifar10' else cifar10_input).NUM_CLASSES = int(count)
if fetches:
  cifar10.maybe_download_and_extract()
images, labels = cifar10.distorted_inputs()
logits = cifar10.inference(images)
loss = cifar10.loss(logits, labels)
train_op = cifar10.train(loss, tf.train.get_or_create_global_step())
if session == 'Session':
  sess = tf.Session()
  sess.run(tf.global_variables_initializer())
  tf.train.start_queue_runners(sess=sess)
else:
  sess = tf.train.MonitoredTrainingSession()
seen = set()
with sess:
  for _ in range(9):
    seen.update(sess.run([train_op, labels])[1])
print(logits.shape, len(seen) > int(count) // 2, max(seen) < int(count))
