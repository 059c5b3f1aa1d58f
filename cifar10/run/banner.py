"""What a trainer says of a run, before its first step and at its end."""

import os
import shlex

import tensorflow.compat.v1 as tf

from cifar10.settings import Settings
from cifar10.store import config
from cifar10.util import commands
from cifar10.util import session_settings


def lines(data, settings):
  """Describes the run whose graph is the default graph.

  Args:
    data: datasets.DataSet.

  Returns:
    List of str: the data set, the model and where it runs, the settings.
  """
  layout = data.layout
  parameters = sum(v.shape.num_elements() for v in tf.trainable_variables())
  return [
    'Data: {:,} {} images to train on, {:,} to test on, {} classes, {} x {} '
    'pixels, from {}.'.format(
      data.examples_per_epoch,
      data.name,
      data.count(data.test_files),
      len(data.classes),
      layout.height,
      layout.width,
      os.path.dirname(data.train_files[0]),
    ),
    'Model: {:,} parameters, {}, on the {}.'.format(
      parameters,
      settings.precision,
      'GPU' if session_settings.has_gpu() else 'CPU',
    ),
    'Settings: {}.'.format(_changed_settings(settings) or 'all default'),
  ]


def _changed_settings(settings):
  """The settings that are not the defaults, as flags."""
  defaults = config.saved(Settings())
  return ' '.join(
    '--%s=%s' % (name, value)
    for name, value in sorted(config.saved(settings).items())
    if value != defaults[name]
  )


def print_next_commands(settings):
  """Prints what a person does next with the checkpoints of a run."""
  train_dir = shlex.quote(settings.train_dir)
  print(
    'To evaluate: %s --checkpoint_dir=%s%s'
    % (
      commands.command('cifar10_eval'),
      train_dir,
      commands.changed_flags(settings, 'data'),
    )
  )
  print(
    'TensorBoard: tensorboard --logdir_spec=train:%s,eval:%s   (%s)'
    % (train_dir, settings.eval_dir, commands.install('tensorboard'))
  )
