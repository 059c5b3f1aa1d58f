"""Pretrains the CIFAR-10 model on images without their labels.

    python cifar10_pretrain.py --task=autoencoder

autoencoder and rbm train conv1, conv2, local3 and local4 one after another,
each for --max_steps and in a folder of its own. corrupted and max_margin train
all of them at once, to tell images from copies that have a square of another
image pasted in. cifar10_train starts from the result if --init_from names it.
"""

import contextlib
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

# What a task needs of some settings, to be able to train a layer by itself.
_NEEDS = {
  'corrupted': {'network': ('tutorial',)},
  'max_margin': {'network': ('tutorial',)},
  'autoencoder': {
    'network': ('tutorial',),
    'top_layers': ('full',),
    'normalization': ('lrn', 'none'),
    'dropout': (0,),
    'conv_dropout': (0,),
  },
}
_NEEDS['rbm'] = dict(
  _NEEDS['autoencoder'], activation=('relu', 'sigmoid'), input_dropout=(0,)
)


def train(config):
  """Pretrains until the last step of the last layer, or until a signal.

  Args:
    config: config.Config.

  Raises:
    UserError: the data or a training directory is unusable, settings do not go
      together, or training diverges.
  """
  _check(config)
  task = config.pretraining.task
  folder = os.path.join(config.run.train_dir, task)
  data = datasets.prepare(config.data, config.download)
  train_dir.check_images(config, data)  # Before runs are deleted.
  if task in pretraining.AUXILIARY:
    run = config.replace(train_dir=folder)
    is_done = _train_run(data, run)
  else:
    run, is_done = _train_layers(data, config, folder)
  if is_done:
    print(
      'To start training from it: %s --train_dir=%s --init_from=%s '
      "--init_scope='conv|local'%s"
      % (
        commands.command('cifar10_train'),
        shlex.quote(os.path.join(config.run.train_dir, 'train')),
        shlex.quote(run.run.train_dir),
        cli.changed_flags(config, ['data', 'model']),
      )
    )


def _train_layers(data, config, folder):
  """Trains one layer after another, each on top of those before.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    folder: where the layers have their folders.

  Returns:
    The Config of the last layer, and whether that is at its last step.
  """
  runs, source = [], ''
  for layer in pretraining.LAYERS:
    run = config.replace(
      train_dir=os.path.join(folder, layer),
      init_from=source,
      freeze='(?!%s/)' % layer,  # All others.
      overwrite=False,
    )
    if config.metrics.metrics:
      run = run.replace(metrics='%s.%s' % (config.metrics.metrics, layer))
    runs.append(run)
    source = run.run.train_dir
  if config.run.overwrite:
    with contextlib.ExitStack() as stack:
      for run in runs:
        stack.enter_context(train_dir.held(run.run.train_dir))
      for run in runs:
        train_dir.remove_run(run.run.train_dir)
  for number, (layer, run) in enumerate(zip(pretraining.LAYERS, runs), 1):
    print('Pretraining %s.' % layer)
    if not _train_run(data, run, layer, on_top=runs[number:]):
      return run, False
  return run, True


def _check(config):
  """Checks that the task suits the model, and that settings have an effect.

  Raises:
    UserError: they do not.
  """
  task = config.pretraining.task
  if task in pretraining.AUXILIARY and config.input.batch_size == 1:
    raise UserError(
      '--batch_size=1: --task=%s takes squares from other images of a batch; '
      'expected at least 2' % task
    )
  for name, value in (
    ('label_smoothing', config.regularization.label_smoothing),
    ('softmax_rate', config.optimizer.softmax_rate),
  ):
    if config.is_set(name):
      raise UserError(
        '--%s=%g has no effect in pretraining, which has no labels; leave it '
        'out' % (name, value)
      )
  values = config.flat(['model', 'regularization'])
  for name, expected in _NEEDS.get(task, {}).items():
    if values[name] not in expected:
      raise UserError(
        '--%s=%s: --task=%s needs %s'
        % (name, values[name], task, ' or '.join(str(e) for e in expected))
      )


def _train_run(data, config, layer=None, on_top=()):
  """Trains a layer, or all of them, in a training directory.

  Args:
    data: datasets.DataSet.
    config: config.Config.
    layer: name of the layer; None for all.
    on_top: Configs of the layers above it.

  Returns:
    Whether it is at its last step.

  Raises:
    UserError: it has steps to take, but a layer above is trained already.
  """
  with train_dir.held(config.run.train_dir):
    run_state = train_dir.prepare(config, data, config.examples_per_machine)
    if run_state is None:
      return True
    for above in on_top:
      if checkpoints.latest(above.run.train_dir):
        raise UserError(
          '%s was trained on top of what is in %s now; to train that further, '
          'give another --train_dir, or --overwrite to train all layers anew'
          % (above.run.train_dir, config.run.train_dir)
        )
    _take_steps(data, config, run_state, layer)
    newest = checkpoints.latest(config.run.train_dir)
    return checkpoints.step(newest) >= run_state.last_step(config.optimization)


def _take_steps(data, config, run_state, layer):
  """Builds the graph and runs it, step by step."""
  with tf.Graph().as_default():
    tf.set_random_seed(run_state.seed_of_start(config.optimization.seed))
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
  """The loss of one layer, on the outputs of the layers below it.

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
  layer = pretraining.TiedLayer(name, config.session.conv)
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
  penalties = [
    penalty
    for key in ('losses', tf.GraphKeys.REGULARIZATION_LOSSES)
    for penalty in tf.get_collection(key, name + '/')
  ]
  return tf.add_n([loss] + penalties, name='total_loss')


def _auxiliary_loss(images, config):
  """The loss of a model that tells images from corrupted ones.

  Args:
    images: float32 tensor, [batch, height, width, depth].
    config: config.Config.

  Returns:
    float32 scalar tensor.
  """
  by_margin = config.pretraining.task == 'max_margin'
  corrupted = distortions.with_pasted_squares(images)
  logits = cifar10.inference(
    tf.concat([images, corrupted], 0),
    1 if by_margin else 2,
    config.model,
    config.regularization,
    conv_form=config.session.conv,
  )
  if by_margin:
    margin = pretraining.margin_loss(*tf.split(logits, 2))
    return cifar10.penalized(tf.identity(margin, name='margin'))
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
    max_steps=2000,
  )


if __name__ == '__main__':
  main()
