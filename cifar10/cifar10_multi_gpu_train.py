"""Trains the CIFAR-10 model on several GPUs of one machine.

    python cifar10_multi_gpu_train.py --num_gpus=2

Each GPU holds a tower, a copy of the model that shares its variables with the
others, and takes its own part of each batch. The gradients of all towers are
averaged and applied at once. Checkpoints are those of cifar10_train.py: each
of the two programs resumes the other's runs.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.cifar10 import TOWER_NAME
from cifar10.cifar10 import tower_loss
from cifar10.data import datasets
from cifar10.model import techniques
from cifar10.serving import frozen_layers
from cifar10.serving import validation
from cifar10.training import hooks
from cifar10.training import towers
from cifar10.training import train_dir
from cifar10.training import train_op as train_op_lib
from cifar10.training.session import monitored_training_session
from cifar10.training.towers import average_gradients
from six.moves import xrange
import tensorflow.compat.v1 as tf


def build(data, config, run_state, global_step, frozen=None):
  """Builds the training graph.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    run_state: run_state.RunState.
    global_step: integer variable, counts the steps.
    frozen: frozen_layers.FrozenLayers whose outputs are the input; or None.

  Returns:
    train_op: operation that takes a step with all towers, and meanwhile copies
      the next batch to their GPUs.
    loss: float32 scalar tensor, the mean of the towers' total losses.
    prefetch: operation that copies the first batch, to be run once before.
  """
  num_gpus = config.towers.num_gpus
  images, labels = cifar10.distorted_inputs(data, config, frozen)
  batches = towers.split(images, labels, num_gpus)
  opt = train_op_lib.optimizer(global_step, config, run_state)

  stages, tower_losses, tower_grads = [], [], []
  with techniques.training_scope(config):
    for i in xrange(num_gpus):
      with towers.tower(TOWER_NAME, i) as scope:
        stage, (images, labels) = towers.staged(batches[i], scope)
        loss = tower_loss(
          scope,
          images,
          labels,
          len(data.classes),
          config.model,
          config.regularization,
          conv_form=config.session.conv,
          pooled=bool(frozen),
        )
        grads = opt.compute_gradients(loss)
        stages.append(stage)
        tower_losses.append(towers.named_losses(scope, loss))
        tower_grads.append(grads)

  grads = average_gradients(tower_grads)
  losses = towers.mean_losses(tower_losses)
  prefetch = tf.group(*stages)
  step = train_op_lib.build(
    opt, grads, list(losses.values()), global_step, config
  )
  return tf.group(step, prefetch), losses['total_loss'], prefetch


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
      _print_devices(config)
      _take_steps(data, config, run_state)
  cli.print_next_commands(config)


def _take_steps(data, config, run_state):
  """Builds the graph and runs it, step by step.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    run_state: run_state.RunState.
  """
  with tf.Graph().as_default(), tf.device('/cpu:0'):
    tf.set_random_seed(run_state.seed_of_start(config.optimization.seed))
    global_step = tf.train.get_or_create_global_step()
    with techniques.training_scope(config):
      frozen = frozen_layers.create(data, config)
    train_op, loss, prefetch = build(
      data, config, run_state, global_step, frozen
    )

    with monitored_training_session(
      train_op,
      loss,
      data,
      config,
      run_state,
      [hooks.PrefetchHook(prefetch)],
      validator=validation.create(data, config),
      frozen=frozen,
    ) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)


def _print_devices(config):
  num_gpus = config.towers.num_gpus
  found = len(tf.config.experimental.list_physical_devices('GPU'))
  print(
    'Training on %s with batches of %d: %d images a step.'
    % (
      '1 tower' if num_gpus == 1 else '%d towers, each' % num_gpus,
      config.input.batch_size,
      config.examples_per_machine,
    )
  )
  if found < num_gpus:
    print(
      'WARNING: --num_gpus=%d, but TensorFlow finds %s here. Towers without a '
      'GPU of their own run on %s, which is hardly faster than one.'
      % (
        num_gpus,
        {0: 'no GPU', 1: '1 GPU'}.get(found, '%d GPUs' % found),
        "another one's" if found else 'the CPU',
      )
    )


def main():
  """The console command."""
  cli.run(train, cli.TRAINER_GROUPS + ('towers',), __doc__)


if __name__ == '__main__':
  main()
