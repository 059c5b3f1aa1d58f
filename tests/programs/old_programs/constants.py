"""Sets the tutorial's constants on one of its modules, and shows the effect."""

import sys

import cifar10
import cifar10_input
import tensorflow.compat.v1 as tf

cifar10.FLAGS.data_dir, where = sys.argv[1:]
cifar10.FLAGS.batch_size = 8
module = cifar10 if where == 'cifar10' else cifar10_input
module.IMAGE_SIZE = 16
module.NUM_CLASSES = 12
module.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN = 16
module.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL = 20
cifar10.NUM_EPOCHS_PER_DECAY = 1.5
cifar10.LEARNING_RATE_DECAY_FACTOR = 0.5
cifar10.INITIAL_LEARNING_RATE = 0.25
cifar10.MOVING_AVERAGE_DECAY = 0.125

test_images, _ = cifar10.inputs(eval_data=True)
images, labels = cifar10.distorted_inputs()
logits = cifar10.inference(images)
print(test_images.shape, images.shape, logits.shape)
print(cifar10.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL,
      cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_EVAL)
graph = tf.get_default_graph()
(queue,) = [
    op for op in graph.get_operations() if op.type == 'RandomShuffleQueueV2'
]
print(queue.get_attr('capacity'))
train_op = cifar10.train(cifar10.loss(logits, labels),
                         tf.train.get_or_create_global_step())
rate = graph.get_tensor_by_name('train/ExponentialDecay:0')
averages = tf.train.ExponentialMovingAverage(cifar10.MOVING_AVERAGE_DECAY)
variables = {v.op.name: v for v in tf.global_variables()}
bias = variables['conv1/biases']
average = variables[averages.average_name(bias)]
with tf.train.MonitoredSession() as sess:
  rates = [float(sess.run(rate))]
  sess.run(train_op)
  plain, averaged = sess.run([bias, average])  # Both were 0 before.
  print('%.3f' % (averaged.sum() / plain.sum()))
  for _ in range(3):
    rates.append(float(sess.run(rate)))
    sess.run(train_op)
  print(rates)
