"""Trains the CIFAR-10 model on one device.

    python cifar10_train.py --max_steps=100000

Prints the loss and the speed every 10 steps. Started again with the same
--train_dir it goes on from the last checkpoint.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.data import datasets
from cifar10.training import session as session_lib
import tensorflow.compat.v1 as tf


def train(config):
  """Trains until `config.max_steps`, or a signal.

  Args:
    config: Config.

  Raises:
    UserError: the data, the training directory or the loss is unusable.
  """
  data = datasets.prepare(config)
  config = session_lib.begin(config, data)
  if config is None:
    return
  with tf.Graph().as_default():
    tf.set_random_seed(config.seed)
    with tf.device('/cpu:0'):
      global_step = tf.train.get_or_create_global_step()

    images, labels = cifar10.distorted_inputs(data, config)
    logits = cifar10.inference(
      images, len(data.classes), config.precision, config.top_layers
    )
    loss = cifar10.loss(logits, labels)
    train_op = cifar10.train(loss, global_step, config)

    with session_lib.training_session(config, train_op, loss) as session:
      while not session.should_stop():
        session.run(train_op)


def main():
  """The console command."""
  cli.run(train, cli.TRAINER_FLAGS, __doc__)


if __name__ == '__main__':
  main()
