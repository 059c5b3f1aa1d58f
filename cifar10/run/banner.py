"""The lines that a trainer prints before the first step and after the last."""

import os
import shlex

import tensorflow.compat.v1 as tf

from cifar10.settings import Settings
from cifar10.store import config
from cifar10.util import commands
from cifar10.util import graph_keys
from cifar10.util import paths
from cifar10.util import session_settings


def lines(data, settings):
  """Describes the data, the model (the default graph) and the settings."""
  layout, defaults = data.layout, config.saved(Settings())
  trained = _parameters(tf.trainable_variables())
  frozen = _parameters(tf.get_collection(graph_keys.FROZEN))
  of_them = f' {trained:,} of them trained,' if frozen else ''
  device = 'GPU' if session_settings.has_gpu() else 'CPU'
  # Settings.differs would list the constants that `saved` fills in.
  changed = ' '.join(f'--{name}={shlex.quote(str(value))}'
                     for name, value in sorted(config.saved(settings).items())
                     if value != defaults[name])
  return [
      f'Data: {data.examples_per_epoch:,} {data.name} images to train on, '
      f'{data.count(data.test_files):,} to test on, {len(data.classes)} '
      f'classes, {layout.height} x {layout.width} pixels, from '
      f'{os.path.dirname(data.train_files[0])}.',
      f'Model: {trained + frozen:,} parameters,{of_them} '
      f'{settings.compute_type}, on the {device}.',
      f'Settings: {changed or "all default"}.'
  ]


def _parameters(variables):
  return sum(variable.shape.num_elements() for variable in variables)


def print_next_commands(settings):
  """Prints the commands that use the checkpoints of a run."""
  evaluations = paths.eval_dir_for(settings.train_dir)
  train_dir, eval_dir = map(shlex.quote, (settings.train_dir, evaluations))
  flags = f' --checkpoint_dir={train_dir}'
  if evaluations != settings.eval_dir:
    flags += f' --eval_dir={eval_dir}'
  flags += commands.changed_flags(settings, 'data')
  print(f'To evaluate: {commands.command("cifar10_eval")}{flags}')
  print(f'TensorBoard: tensorboard --logdir_spec=train:{train_dir},'
        f'eval:{eval_dir}   ({commands.install("tensorboard")})')
