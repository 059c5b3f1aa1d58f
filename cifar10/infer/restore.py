"""Restores a trained model: its data set and its variables."""

import os
import sys
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import zoo
from cifar10.data import datasets
from cifar10.errors import printable
from cifar10.settings import FIELDS
from cifar10.store import checkpoints
from cifar10.store import saving
from cifar10.util import graph_keys


class Savers(NamedTuple):
  """Both ways to restore the variables of a model."""

  averaged: saving.Saver  # From their moving averages.
  plain: saving.Saver  # From the variables themselves.

  def choose(self, checkpoint, use_moving_averages):
    """The Saver for a checkpoint; warns if it lacks averages that are wanted.

    Raises UserError if it cannot be read or belongs to another model.
    """
    chosen, names = self.plain, checkpoints.shapes(checkpoint)
    if use_moving_averages:
      if any(name.endswith(checkpoints.AVERAGE) for name in names):
        chosen = self.averaged
      else:
        print(f'WARNING: {checkpoint} holds no moving averages; using the '
              'variables themselves.')
    expected = {name: v.shape.as_list() for name, v in chosen.named}
    checkpoints.check_fits(checkpoint, expected)
    return chosen


def savers():
  """Builds the Savers of the current variable scope.

  Checkpoints name the variables without the scope.
  """
  averages = tf.train.ExponentialMovingAverage(0.0)  # Only for the names.
  scope = tf.get_variable_scope().name
  prefix = scope + '/' if scope else ''

  def saver_of(variables):
    inside = {n: v for n, v in variables.items() if n.startswith(prefix)}
    return saving.Saver({n[len(prefix):]: v for n, v in inside.items()})

  trained = tf.trainable_variables()
  with tf.name_scope(None):  # It would be part of the names of averages.
    averaged = averages.variables_to_restore(
        trained + tf.get_collection(graph_keys.STATISTICS))
  plain = {v.op.name: v for v in trained + tf.model_variables()}
  return Savers(saver_of(averaged), saver_of(plain))


def announce(path):
  """Says on standard error which model a program uses: a path."""
  print(printable(f'Model: {path}'), file=sys.stderr)


def describe_data(settings):
  """The DataSet of a model, as `datasets.describe` finds it.

  That of a model of the package is CIFAR-10, whatever else is in the default
  `data_dir`. Warns if CIFAR-10 is assumed because `data_dir` is missing.
  """
  is_packaged = zoo.is_model(settings.run_dir) and settings.dataset == 'cifar10'
  if is_packaged and 'data_dir' not in settings.given:
    return datasets.cifar10(settings.data_dir)
  data, folder = datasets.describe(settings), settings.data_dir
  is_guessed = settings.dataset == 'cifar10' and not os.path.isdir(folder)
  if is_guessed and folder != FIELDS['data_dir'].default:
    problem = f'WARNING: --data_dir={folder}: no such folder'
    print(f'{problem}; assuming the classes of CIFAR-10.', file=sys.stderr)
  return data
