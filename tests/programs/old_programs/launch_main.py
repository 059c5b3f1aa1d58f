"""A launcher: it sets flags, and has a main of the tutorial's run."""

import sys

import cifar10_train
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS
FLAGS.data_dir, FLAGS.train_dir = sys.argv[1:]
del sys.argv[1:]
FLAGS.batch_size = 8
FLAGS.max_steps = 3
tf.app.run(main=cifar10_train.main)
