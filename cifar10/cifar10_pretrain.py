"""Pretrains the CIFAR-10 model for another task than its classes.

    python cifar10_pretrain.py --task=autoencoder

autoencoder and rbm train conv1, conv2, local3 and so on one after another,
each for --max_steps and in a folder of its own; --overwrite deletes the runs of
all layers at the start. corrupted and max_margin train all layers at once, to
tell images from copies that have a square of another image pasted in; pairs and
distorted_pairs, to tell if two images show the same class, or are distortions
of the same image. Only pairs uses labels.
cifar10_train starts from the result if --init_from names it.
"""

import contextlib
import dataclasses
import functools
import os
import shlex
import sys

if not __package__:  # The package is one folder up.
  package = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(package))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import flags
from cifar10 import networks
from cifar10 import pipelines
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.nets import layers
from cifar10.nets import pretraining
from cifar10.nets import variable_scope
from cifar10.nets.techniques import Techniques
from cifar10.run import combinations
from cifar10.run import session
from cifar10.run import train_dir
from cifar10.run import trainer
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.util import commands
import tensorflow.compat.v1 as tf

# The values of settings that each task supports.
_NEEDS = {task: {'network': ('tutorial',)} for task in pretraining.AUXILIARY}
_NEEDS['distorted_pairs']['input'] = ('queues',)
_NEEDS['autoencoder'] = {
    'network': ('tutorial',),
    'top_layers': ('full',),
    'columns': (1,),
    'normalization': ('lrn', 'none'),
    'dropout': (0,),
    'conv_dropout': (0,)
}
_NEEDS['rbm'] = dict(_NEEDS['autoencoder'], activation=('relu', 'sigmoid'),
                     input_dropout=(0,))

# The outputs of the network that are compared in pairs.
_PAIR_OUTPUTS = 64


def train(settings):
  """Pretrains until the last step of the last layer, or until a signal.

  Raises UserError if the data or a training directory is unusable, settings do
  not go together, or training diverges.
  """
  _check(settings)
  given = settings
  settings, data = trainer.prepare_data(settings)
  combinations.check_with_data(settings, data)  # Before runs are deleted.
  folder = os.path.join(settings.train_dir, settings.task)
  if settings.task in pretraining.AUXILIARY:
    run = dataclasses.replace(settings, train_dir=folder)
    is_done = _train_in_folder(run, data, _take_steps)
  else:
    run, is_done = _train_layers(settings, data, folder)
  if is_done:
    command = commands.command('cifar10_train')
    new = shlex.quote(os.path.join(settings.train_dir, 'train'))
    print(f'To start training from it: {command} --train_dir={new} '
          f'--init_from={shlex.quote(run.train_dir)} '
          "--init_scope='conv|local'" +
          commands.changed_flags(given, 'data', 'model'))


def _train_layers(settings, data, folder):
  """Trains one layer after another, each in a folder, on top of those before.

  Returns the Settings of the last one, and True if it is at its last step.
  """
  runs, below, names = [], '', pretraining.layer_names(settings)
  for name in names:
    metrics = settings.metrics and f'{settings.metrics}.{name}'
    others, own = f'(?!{name}/)', os.path.join(folder, name)
    runs.append(
        dataclasses.replace(settings, train_dir=own, init_from=below,
                            freeze=others, metrics=metrics, overwrite=False))
    below = own
  if settings.overwrite:
    with contextlib.ExitStack() as stack:
      for run in runs:
        stack.enter_context(train_dir.locked(run.train_dir))
      for run in runs:
        train_dir.remove_run(run.train_dir)
  for number, (name, run) in enumerate(zip(names, runs), 1):
    print(f'Pretraining {name}.')
    take_steps = functools.partial(_take_steps, layer=name,
                                   on_top=runs[number:])
    if not _train_in_folder(run, data, take_steps):
      return run, False
  return run, True


def _train_in_folder(settings, data, take_steps):
  """Trains in a folder; returns True if it is at its last step."""
  trainer.start_or_resume(settings, data, take_steps)
  newest = checkpoints.latest(settings.train_dir)
  return config.is_last(settings.train_dir, checkpoints.step(newest))


def _check(settings):
  """Raises UserError if the task does not suit the other settings."""
  task = settings.task
  if task in pretraining.AUXILIARY and settings.batch_size == 1:
    raise UserError(
        f'--batch_size=1: --task={task} compares images of a batch; '
        'expected at least 2')
  # Auxiliary tasks train an output layer of their own.
  rates = () if task in pretraining.AUXILIARY else ('softmax_rate',)
  for name in ('label_smoothing', *rates):
    if settings.is_set(name):
      raise UserError(
          f'--{name}={getattr(settings, name):g} has no effect in pretraining, '
          'which predicts no classes; leave it out')
  for name, expected in _NEEDS[task].items():
    value = getattr(settings, name)
    if value not in expected:
      needed = ' or '.join(map(str, expected))
      raise UserError(f'--{name}={value}: --task={task} needs {needed}')


def _take_steps(run, layer=None, on_top=()):
  """Builds the graph of a trainer.Run, and trains one layer, or all.

  Raises UserError if one of the Settings `on_top`, of a layer above it, is
  trained already.
  """
  settings = run.settings
  for above in on_top:
    if checkpoints.latest(above.train_dir):
      raise UserError(
          f'{above.train_dir} was trained on top of what is in '
          f'{settings.train_dir} now; to train that further, give another '
          '--train_dir, or --overwrite to train all layers anew')
  with tf.device('/cpu:0'):
    global_step = tf.train.get_or_create_global_step()
  take_images = pipelines.distorted_inputs
  if settings.task == 'distorted_pairs':
    take_images = pipelines.distorted_pairs
  images, labels = take_images(settings, run.data)
  options = layers.build_options(conv=settings.conv, is_training=True)
  with variable_scope.training_scope(settings), options:
    if layer:
      loss = _layer_loss(images, layer, settings)
    elif settings.task in pretraining.PAIRS:
      loss = _pairs_loss(images, labels, settings)
    else:
      loss = _corruption_loss(images, settings)
  train_op = cifar10.train(loss, global_step, settings, run.pace)
  with session.training_session(run, train_op, loss) as mon_sess:
    while not mon_sess.should_stop():
      mon_sess.run(train_op)


def _layer_loss(images, name, settings):
  """The loss of the layer `name` on the outputs of the layers below it."""
  networks.inference(images, settings, varied=True)
  layer = pretraining.TiedLayer(name)
  if settings.task == 'rbm':
    loss = pretraining.rbm_loss(layer, settings.activation)
  else:
    techniques = Techniques(settings, is_training=True)

    def activate(x):
      with tf.variable_scope(name, reuse=True):
        return techniques.activation(x, name='units')

    loss = pretraining.autoencoder_loss(
        layer, activate, lambda x: techniques.dropout(x, 'input_dropout'))
  penalties = [
      penalty for key in ('losses', tf.GraphKeys.REGULARIZATION_LOSSES)
      for penalty in tf.get_collection(key, name + '/')
  ]
  return tf.add_n([loss] + penalties, name='total_loss')


def _pairs_loss(images, labels, settings):
  """The loss of a model that tells images of the same label from others."""
  outputs = networks.inference(
      images, dataclasses.replace(settings, classes=('',) * _PAIR_OUTPUTS),
      is_training=True)
  loss = pretraining.contrastive_loss(outputs, labels)
  return _penalized(tf.identity(loss, name='contrastive'))


def _corruption_loss(images, settings):
  """The loss of a model that tells images from corrupted ones."""
  by_margin = settings.task == 'max_margin'
  classes = ('real',) if by_margin else ('corrupted', 'real')
  corrupted = distortions.with_pasted_squares(images)
  logits = networks.inference(tf.concat([images, corrupted], 0),
                              dataclasses.replace(settings, classes=classes),
                              is_training=True)
  if by_margin:
    margin = pretraining.margin_loss(*tf.split(logits, 2))
    return _penalized(tf.identity(margin, name='margin'))
  are_real = tf.ones([settings.examples_per_machine], tf.int32)
  labels = tf.concat([are_real, tf.zeros_like(are_real)], 0)
  return cifar10.loss(logits, labels)


def _penalized(loss):
  """The sum of a loss and the penalties on the weights."""
  tf.add_to_collection('losses', loss)
  variable_scope.add_penalties()
  return tf.add_n(tf.get_collection('losses'), name='total_loss')


def main():
  """The console command."""
  flags.run(train, flags.PRETRAINER_GROUPS, __doc__,
            train_dir='/tmp/cifar10_pretrain', optimizer='adam', max_steps=2000)


if __name__ == '__main__':
  main()
