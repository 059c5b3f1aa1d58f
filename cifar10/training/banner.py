"""What a trainer says of a run before its first step."""

import os

import tensorflow.compat.v1 as tf

from cifar10.util import session_settings


def lines(data, config):
  """Describes the run whose graph is the default graph.

  Args:
    data: datasets.DataSet.
    config: config.Config.

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
      config.session.precision,
      'GPU' if session_settings.has_gpu() else 'CPU',
    ),
    'Settings: {}.'.format(_changed_settings(config) or 'all default'),
  ]


def _changed_settings(config):
  """The settings that are not the defaults, as flags."""
  defaults = type(config)().saved_settings()
  return ' '.join(
    '--%s=%s' % (name, value)
    for name, value in sorted(config.saved_settings().items())
    if value != defaults[name]
  )
