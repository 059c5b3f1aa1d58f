"""Trains the CIFAR-10 model on one device.

    python cifar10_train.py --max_steps=100000

Prints the loss and the speed every 10 steps. Started again with the same
--train_dir, it resumes from the last checkpoint.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.data import datasets
from cifar10.model import techniques
from cifar10.serving import frozen_layers
from cifar10.serving import validation
from cifar10.training import train_dir
from cifar10.training.session import monitored_training_session
import tensorflow.compat.v1 as tf


def train(config):
  """Trains until the last step, or until a signal.

  Args:
    config: config.Config.

  Raises:
    UserError: the data or the training directory is unusable, or
      training diverges.
  """
  data = datasets.prepare(config.data, config.download, config.validation)
  with train_dir.held(config.run.train_dir):
    run_state = train_dir.prepare(config, data, config.examples_per_machine)
    if run_state is not None:
      _take_steps(data, config, run_state)
  cli.print_next_commands(config)


def _take_steps(data, config, run_state):
  """Builds the graph and runs it, step by step.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    run_state: run_state.RunState.
  """
  with tf.Graph().as_default():
    tf.set_random_seed(run_state.seed_of_start(config.optimization.seed))
    with tf.device('/cpu:0'):
      global_step = tf.train.get_or_create_global_step()

    # Images and labels, the model, its loss, and the step that trains it.
    with techniques.training_scope(config):
      frozen = frozen_layers.create(data, config)
    images, labels = cifar10.distorted_inputs(data, config, frozen)
    with techniques.training_scope(config):
      logits = cifar10.inference(
        images,
        len(data.classes),
        config.model,
        config.regularization,
        conv_form=config.session.conv,
        pooled=bool(frozen),
      )
    loss = cifar10.loss(
      logits, labels, label_smoothing=config.regularization.label_smoothing
    )
    train_op = cifar10.train(loss, global_step, config, run_state)

    with monitored_training_session(
      train_op,
      loss,
      data,
      config,
      run_state,
      validator=validation.create(data, config),
      frozen=frozen,
    ) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)


def main():
  """The console command."""
  cli.run(train, cli.TRAINER_GROUPS, __doc__)


if __name__ == '__main__':
  main()
