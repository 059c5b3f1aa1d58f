"""Restores a trained model: its data set and its variables."""

import os
import sys
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.data import datasets
from cifar10.settings import FIELDS
from cifar10.store import checkpoints
from cifar10.store import saving
from cifar10.util import graph_keys


class Restoration(NamedTuple):
  """One way to restore the variables of a graph.

  Attributes:
    variables: dict of name in the checkpoint: variable.
    scaffold: tf.train.Scaffold, whose saver restores them.
  """

  variables: dict
  scaffold: tf.train.Scaffold


class Restorations(NamedTuple):
  """The two ways to restore the variables of a graph.

  Attributes:
    averaged: Restoration of the variables from their moving averages.
    plain: Restoration of the variables from themselves.
  """

  averaged: Restoration
  plain: Restoration


def describe(settings, default_data_dir=FIELDS['data_dir'].default):
  """The DataSet of a model; its files may be missing.

  Prints a warning if it assumes CIFAR-10 because `data_dir` is missing.

  Args:
    settings: settings.Settings.
    default_data_dir: a `data_dir` that need not exist.

  Returns:
    datasets.DataSet.

  Raises:
    UserError: the files that describe the data set are missing or damaged, or
      its classes or the size of its images are not those of the model.
  """
  data = datasets.describe(settings)
  guessed = settings.dataset == 'cifar10' and not os.path.isdir(
    settings.data_dir
  )
  if guessed and settings.data_dir != default_data_dir:
    print(
      'WARNING: --data_dir=%s: no such folder; assuming the classes of '
      'CIFAR-10.' % settings.data_dir,
      file=sys.stderr,
    )
  return data


def restorations():
  """Builds both ways to restore the variables of the current variable scope.

  Returns:
    Restorations; checkpoints name the variables without the scope.
  """
  averages = tf.train.ExponentialMovingAverage(0.0)  # Only for the names.
  scope = tf.get_variable_scope().name
  prefix = scope + '/' if scope else ''

  def restoration(variables):
    variables = {
      name[len(prefix) :]: variable
      for name, variable in variables.items()
      if name.startswith(prefix)
    }
    scaffold = tf.train.Scaffold(saver=saving.Saver(variables))
    return Restoration(variables, scaffold)

  with tf.name_scope(None):  # It would be part of the names of averages.
    averaged = averages.variables_to_restore(
      tf.trainable_variables() + tf.get_collection(graph_keys.STATISTICS)
    )
  return Restorations(
    averaged=restoration(averaged),
    plain=restoration(
      {v.op.name: v for v in tf.trainable_variables() + tf.model_variables()}
    ),
  )


def fitting_scaffold(restorations, checkpoint, use_moving_averages):
  """Chooses between moving averages and variables, and checks the checkpoint.

  Args:
    restorations: Restorations.
    checkpoint: path of a checkpoint.
    use_moving_averages: whether to restore the moving averages, if there are.

  Returns:
    tf.train.Scaffold, whose saver restores the variables.

  Raises:
    UserError: the checkpoint cannot be read or belongs to another model.
  """
  averaged = uses_averages(checkpoint, use_moving_averages)
  chosen = restorations.averaged if averaged else restorations.plain
  expected = {n: v.shape.as_list() for n, v in chosen.variables.items()}
  checkpoints.check_fits(checkpoint, expected)
  return chosen.scaffold


def uses_averages(checkpoint, use_moving_averages):
  """Whether a model is restored from the moving averages of its variables.

  Prints a warning if it cannot be, because the checkpoint holds none.

  Args:
    checkpoint: path of a checkpoint.
    use_moving_averages: whether it is meant to be.

  Raises:
    UserError: the checkpoint cannot be read.
  """
  if use_moving_averages and not _has_averages(checkpoint):
    print(
      'WARNING: %s holds no moving averages; using the variables themselves.'
      % checkpoint
    )
    return False
  return use_moving_averages


def _has_averages(checkpoint):
  return any(
    name.endswith(checkpoints.AVERAGE)
    for name in checkpoints.shapes(checkpoint)
  )
