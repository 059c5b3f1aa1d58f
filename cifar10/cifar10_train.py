"""Trains the CIFAR-10 model on one device.

    python cifar10_train.py --max_steps=100000

Prints the loss and the speed every 10 steps. Started again with the same
--train_dir, it resumes from the last checkpoint.
"""

import os
import sys

if not __package__:  # The package is one folder up.
  package = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(package))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import flags
from cifar10 import networks
from cifar10 import pipelines
from cifar10.nets import variable_scope
from cifar10.run import session
from cifar10.run import trainer
from cifar10.util import tutorial_flags
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS


def train(settings=None):
  """Trains CIFAR-10 until the last step or a signal; see `trainer.train`."""
  settings = settings or tutorial_flags.settings(
      'train_dir', 'max_steps', 'log_device_placement', 'log_frequency')
  trainer.train(settings, take_steps)


def take_steps(run):
  """Builds the graph of a trainer.Run in the default graph, and trains."""
  settings = run.settings
  with tf.device('/cpu:0'):
    global_step = tf.train.get_or_create_global_step()

  # Images and labels, from cifar10_input.py unless --input says otherwise.
  images, labels = pipelines.distorted_inputs(settings, run.data)

  # The logits of cifar10.inference, unless --network says otherwise.
  with variable_scope.training_scope(settings):
    logits = networks.inference(images, settings, is_training=True)

  # The loss, and the operation that takes a step to make it smaller.
  loss = cifar10.loss(logits, labels, label_smoothing=settings.label_smoothing)
  train_op = cifar10.train(loss, global_step, settings, run.pace)

  # Restores the newest checkpoint, if any (run/role.py). Its hooks print, write
  # summaries (run/hooks.py) and save (store/saving.py).
  with session.training_session(run, train_op, loss) as mon_sess:
    while not mon_sess.should_stop():
      mon_sess.run(train_op)


def main(argv=None):
  """The console command; reads the flags from sys.argv."""
  del argv  # Of tf.app.run.
  flags.run(train, flags.TRAINER_GROUPS, __doc__)


if __name__ == '__main__':
  main()
