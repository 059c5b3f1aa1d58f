"""The frame of every trainer: data, directory, lock, graph and session.

A trainer builds a graph and takes steps; see cifar10_train.py. What else
happens in a run hangs on its session.
"""

import dataclasses
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.run import banner
from cifar10.run import session
from cifar10.run import train_dir


class Run(NamedTuple):
  """A training run, or the part of it that one process takes.

  Attributes:
    settings: settings.Settings, with the constants of the tutorial, the classes
      and the size of the images.
    data: datasets.DataSet to train on.
    state: run_state.RunState at the start.
  """

  settings: Any
  data: Any
  state: Any

  @property
  def last_step(self):
    """The global step at which training ends."""
    return self.state.last_step(self.settings)

  def session(self, train_op, loss, hooks=(), role=None):
    """The session that takes the steps, see `session.training_session`."""
    return session.training_session(self, train_op, loss, hooks, role)


def prepared(settings):
  """The settings and the data of a trainer.

  Returns:
    settings: settings.Settings as Run has them.
    data: datasets.DataSet, fetched and checked.

  Raises:
    UserError: the data is unusable.
  """
  settings = cifar10.with_constants(settings)
  data = cifar10.maybe_download_and_extract(settings)
  return dataclasses.replace(
    settings, classes=data.classes, image_shape=data.layout[:3]
  ), data


def train(settings, take_steps):
  """Trains until the last step, or until a signal.

  Args:
    settings: settings.Settings.
    take_steps: function of a Run that builds the default graph, and takes steps
      in a session of the Run until that should stop.

  Raises:
    UserError: the data or the training directory is unusable, or training
      diverges.
  """
  settings, data = prepared(settings)
  go_on(settings, data, take_steps)
  banner.print_next_commands(settings)


def go_on(settings, data, take_steps):
  """Begins the run in --train_dir or resumes it, unless it is at its end.

  Args:
    settings, data: from `prepared`.
    take_steps: as `train` takes it.
  """
  with train_dir.held(settings.train_dir):
    state = train_dir.prepare(settings, data, settings.examples_per_machine)
    if state is not None:
      with tf.Graph().as_default():
        tf.set_random_seed(state.seed_of_start(settings.seed))
        take_steps(Run(settings, data, state))
