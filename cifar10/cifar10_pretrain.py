"""Pretrains the CIFAR-10 model on images without their labels.

    python cifar10_pretrain.py --task=autoencoder --max_steps=2000

autoencoder and rbm train conv1, conv2, local3 and local4 one after another,
each for --max_steps and in a folder of its own. corrupted and max_margin train
all of them at once to tell images from images with a square of another one.
cifar10_train begins with the result if --init_from names it.
"""

import os
import shlex
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.model import pretraining
from cifar10.model.techniques import Techniques
from cifar10.model.techniques import training_scope
from cifar10.training import checkpoints
from cifar10.training import train_dir
from cifar10.training.session import monitored_training_session
from cifar10.util import commands
import tensorflow.compat.v1 as tf


def train(config):
  """Pretrains until the last step of the last layer, or until a signal.

  Args:
    config: config.Config.

  Raises:
    UserError: the data or a training directory is unusable, settings do not go
      together, or training diverges.
  """
  task = config.pretraining.task
  folder = os.path.join(config.run.train_dir, task)
  data = datasets.prepare(config.data, config.download)
  if task in pretraining.AUXILIARY:
    result = folder
    is_done = _train_run(data, config.replace(train_dir=folder))
  else:
    _check(config)
    result, is_done = '', True
    for layer in pretraining.LAYERS:
      if is_done:
        run = config.replace(
          train_dir=os.path.join(folder, layer),
          init_from=result,
          freeze='(?!%s/)' % layer,  # All others.
        )
        print('Pretraining %s.' % layer)
        result, is_done = run.run.train_dir, _train_run(data, run, layer)
  if is_done:
    print(
      "To begin with it: %s --init_from=%s --init_scope='conv|local'"
      % (commands.command('cifar10_train'), shlex.quote(result))
    )


def _check(config):
  """Checks that the model has what is pretrained layer by layer.

  Raises:
    UserError: it has not.
  """
  task, model = config.pretraining.task, config.model
  for name, value, expected in (
    ('top_layers', model.top_layers, ('full',)),
    ('normalization', model.normalization, ('lrn', 'none')),
    ('activation', model.activation, ('relu', 'sigmoid')),
  ):
    if name == 'activation' and task != 'rbm':
      continue
    if value not in expected:
      raise UserError(
        '--%s=%s: --task=%s is for %s'
        % (name, value, task, ' and '.join(expected))
      )


def _train_run(data, config, layer=None):
  """Trains a layer, or all of them, in a training directory.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    layer: name of the layer; None for all.

  Returns:
    Whether it is at its last step.
  """
  with train_dir.held(config.run.train_dir):
    run_state = train_dir.prepare(config, data, config.examples_per_machine)
    if run_state is None:
      return True
    _take_steps(data, config, run_state, layer)
    newest = checkpoints.latest(config.run.train_dir)
    return checkpoints.step(newest) >= run_state.last_step(config.optimization)


def _take_steps(data, config, run_state, layer):
  """Builds the graph and runs it, step by step."""
  with tf.Graph().as_default():
    tf.set_random_seed(config.optimization.seed)
    with tf.device('/cpu:0'):
      global_step = tf.train.get_or_create_global_step()

    images, _ = cifar10.distorted_inputs(data, config)
    with training_scope(config):
      if layer:
        loss = _layer_loss(images, len(data.classes), layer, config)
      else:
        loss = _auxiliary_loss(images, config)
    train_op = cifar10.train(loss, global_step, config, run_state)

    with monitored_training_session(
      train_op, loss, data, config, run_state
    ) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)


def _layer_loss(images, num_classes, name, config):
  """The loss of one layer, which gets what the layers below make of images.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    num_classes: number of classes that the model will be trained for.
    name: name of the layer.
    config: config.Config.

  Returns:
    float32 scalar tensor.
  """
  cifar10.inference(
    images, num_classes, config.model, conv_form=config.session.conv
  )
  layer = pretraining.TiedLayer(name)
  if config.pretraining.task == 'rbm':
    loss = pretraining.rbm_loss(layer, config.model.activation)
  else:
    techniques = Techniques(config.model, config.regularization)

    def activate(x):
      with tf.variable_scope(name, reuse=True):
        return techniques.activate(x, name='units')

    loss = pretraining.autoencoder_loss(
      layer, activate, lambda x: techniques.dropout(x, 'input_dropout')
    )
  return cifar10.total_loss(tf.identity(loss, name='reconstruction'))


def _auxiliary_loss(images, config):
  """The loss of a model that tells images from corrupted ones.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    config: config.Config.

  Returns:
    float32 scalar tensor.
  """
  by_margin = config.pretraining.task == 'max_margin'
  corrupted = distortions.with_foreign_squares(images)
  logits = cifar10.inference(
    tf.concat([images, corrupted], 0),
    1 if by_margin else 2,
    config.model,
    config.regularization,
    conv_form=config.session.conv,
  )
  if by_margin:
    margin = pretraining.margin_loss(*tf.split(logits, 2))
    return cifar10.total_loss(tf.identity(margin, name='margin'))
  are_real = tf.ones([config.examples_per_machine], tf.int32)
  labels = tf.concat([are_real, tf.zeros_like(are_real)], 0)
  return cifar10.loss(logits, labels)


def main():
  """The console command."""
  cli.run(
    train,
    cli.PRETRAINER_GROUPS,
    __doc__,
    train_dir='/tmp/cifar10_pretrain',
    optimizer='adam',
  )


if __name__ == '__main__':
  main()
