"""Trains the CIFAR-10 model on several GPUs of one machine.

    python cifar10_multi_gpu_train.py --num_gpus=2

Each GPU holds a tower, a copy of the model that shares its variables with the
others, and takes its own part of each batch. The gradients of all towers are
averaged and applied at once. With --model_parallelism there is one tower, whose
parts are on all GPUs. Checkpoints are those of cifar10_train.py: each of the
two programs resumes the other's runs.
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
from cifar10.optim import model_parallelism
from cifar10.optim import towers
from cifar10.run import hooks
from cifar10.run import session
from cifar10.run import trainer
from cifar10.settings import Settings
from cifar10.util import tutorial_flags
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS


def tower_loss(scope, images, labels, settings=Settings()):
  """The total loss of one tower, a float32 scalar.

  Args:
    scope: name scope of the tower, 'tower_0/'.
    images: float32, [batch, height, width, depth], its part of the batch.
    labels: int32, [batch].
    settings: settings.Settings; by default the tutorial's.
  """
  logits = networks.inference(images, settings, is_training=True)
  # Only this tower's losses: all towers share the collection 'losses'.
  return cifar10.loss(logits, labels, scope, settings.label_smoothing)


def average_gradients(tower_grads):
  """Averages the gradients of each variable over all towers.

  This is where the towers wait for one another.

  Args:
    tower_grads: for each tower a list of pairs (gradient, variable), with the
      same variables in the same order.

  Returns:
    List of pairs (mean gradient, variable).
  """
  average_grads = []
  with tf.name_scope('train/'):
    for grad_and_vars in zip(*tower_grads):
      # ((gradient of tower 0, variable), (gradient of tower 1, variable), ..)
      grads = [grad for grad, _ in grad_and_vars]
      variable = grad_and_vars[0][1]  # The towers share it.
      average_grads.append((towers.mean(grads), variable))
  return average_grads


def build_step(run, global_step, worker=None):
  """Builds a step of all towers of a machine.

  Args:
    run: trainer.Run.
    global_step, worker: as for `cifar10.train`.

  Returns:
    train_op: operation that takes a step with all towers, and meanwhile copies
      the next batch to their GPUs.
    loss: float32 scalar, the mean of the towers' total losses.
    prefetch: hooks.PrefetchHook, which copies the first batch.
  """
  settings = run.settings
  images, labels = pipelines.distorted_inputs(settings, run.data)
  parts = towers.split(images, labels, settings.num_towers)
  stages, tower_losses, tower_grads = [], [], []
  with variable_scope.training_scope(settings):
    for i in range(settings.num_towers):
      with towers.tower(cifar10.TOWER_NAME, i) as scope, \
           model_parallelism.placed(settings):
        # The step takes a batch that waits in the memory of the GPU.
        stage, (images, labels) = towers.staged(parts[i], scope)
        stages.append(stage)
        loss = tower_loss(scope, images, labels, settings)
        tower_losses.append(towers.named_losses(scope, loss))
        tower_grads.append(towers.gradients(loss))

  grads = average_gradients(tower_grads)
  loss = towers.mean_loss(tower_losses)
  train_op = cifar10.train(loss, global_step, settings, run.pace, grads, worker)
  stage_all = tf.group(*stages)
  return tf.group(train_op, stage_all), loss, hooks.PrefetchHook(stage_all)


def train(settings=None):
  """Trains CIFAR-10 until the last step or a signal; see `trainer.train`."""
  settings = settings or tutorial_flags.settings(
      'train_dir', 'max_steps', 'num_gpus', 'log_device_placement')
  trainer.train(model_parallelism.with_devices(settings), take_steps)


def take_steps(run):
  """Builds the graph of a trainer.Run in the default graph, and trains."""
  settings = run.settings
  towers.print_devices(settings)
  with tf.device('/cpu:0'):
    global_step = tf.train.get_or_create_global_step()
    train_op, loss, prefetch = build_step(run, global_step)

    # Restores the newest checkpoint, if any (run/role.py). Its hooks print,
    # write summaries (run/hooks.py) and save (store/saving.py).
    with session.training_session(run, train_op, loss, [prefetch]) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)


def main(argv=None):
  """The console command; reads the flags from sys.argv."""
  del argv  # Of tf.app.run.
  flags.run(train, flags.TRAINER_GROUPS + ('towers',), __doc__)


if __name__ == '__main__':
  main()
