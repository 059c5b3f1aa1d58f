"""Which model is meant: of what data, and from which variables.

For programs that use a model and do not train it.
"""

import os
import sys
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.training import checkpoints
from cifar10.data import datasets
from cifar10.config import Config


class Restoration(NamedTuple):
  """Where the variables come from, by names in a checkpoint, and how."""

  variables: dict
  scaffold: tf.train.Scaffold


class Restorations(NamedTuple):
  """The ways to fill the variables of a graph.

  Attributes:
    averaged: Restoration of the variables from their moving averages.
    plain: Restoration of the variables from themselves.
  """

  averaged: Restoration
  plain: Restoration


def describe(config):
  """The DataSet of a model; its files need not be there.

  Prints a warning where the folder that would describe it is not there.

  Args:
    config: Config.

  Returns:
    datasets.DataSet.

  Raises:
    UserError: a datasets.json does not describe one.
  """
  data = datasets.describe(config)
  guessed = config.dataset == Config.dataset and not os.path.isdir(
    config.data_dir
  )
  if guessed and config.data_dir != Config.data_dir:
    print(
      'WARNING: --data_dir=%s: there is no such folder; the classes are taken '
      "for CIFAR-10's." % config.data_dir,
      file=sys.stderr,
    )
  return data


def build(config):
  """Builds both ways to restore the model in the default graph.

  Args:
    config: Config.

  Returns:
    Restorations.
  """
  averages = tf.train.ExponentialMovingAverage(config.moving_average_decay)

  def restoration(variables):
    scaffold = tf.train.Scaffold(saver=tf.train.Saver(variables))
    return Restoration(variables, scaffold)

  return Restorations(
    averaged=restoration(averages.variables_to_restore()),
    plain=restoration({v.op.name: v for v in tf.trainable_variables()}),
  )


def fitting_scaffold(restorations, checkpoint, config):
  """The averages where they are wanted and there, else the variables.

  Prints a warning where they are wanted and not there.

  Args:
    restorations: Restorations.
    checkpoint: path of a checkpoint.
    config: Config.

  Returns:
    tf.train.Scaffold, whose saver restores them.

  Raises:
    UserError: the checkpoint cannot be read or is of another model.
  """
  wanted = config.use_moving_averages
  restoration = restorations.averaged if wanted else restorations.plain
  names = checkpoints.shapes(checkpoint)
  if wanted and not any(
    name.endswith('/ExponentialMovingAverage') for name in names
  ):
    print(
      'WARNING: %s holds no moving averages; taking the variables '
      'themselves.' % checkpoint
    )
    restoration = restorations.plain
  expected = {n: v.shape.as_list() for n, v in restoration.variables.items()}
  checkpoints.check_fits(checkpoint, expected)
  return restoration.scaffold
