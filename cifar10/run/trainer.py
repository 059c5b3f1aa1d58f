"""The frame of every trainer: data, directory, lock and graph.

A trainer builds a graph and takes steps, see cifar10_train.py; everything else
is a hook of its session, see session.py.
"""

import dataclasses
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10.run import banner
from cifar10.run import initial_values
from cifar10.run import master
from cifar10.run import train_dir


class Run(NamedTuple):
  """A training run, or the part of one process in it."""

  settings: Any  # settings.Settings, as `prepare_data` returns them.
  data: Any  # datasets.DataSet to train on.
  state: Any  # run_state.RunState at the start.

  @property
  def last_step(self):
    """The global step at which training ends."""
    return self.state.last_step(self.settings)

  @property
  def pace(self):
    """Converts epochs to steps, a schedules.Pace."""
    return self.state.pace(self.settings)


def prepare_data(settings):
  """Fetches and checks the data of a trainer.

  Returns the settings with the tutorial's constants, the classes and the shape
  of the images, and the datasets.DataSet. Raises UserError if it is unusable.
  """
  settings = cifar10.with_constants(settings)
  data = cifar10.maybe_download_and_extract(settings)
  found = {'classes': data.classes, 'image_shape': data.layout[:3]}
  return dataclasses.replace(settings, **found), data


def train(settings, take_steps):
  """Trains until the last step, or until a signal.

  `take_steps` is a function of a Run, which builds the default graph and takes
  steps in a `session.training_session` until that should stop. Raises UserError
  if the data or the training directory is unusable, or training diverges.
  """
  initial_values.check_source(settings)  # Before anything is fetched.
  settings, data = prepare_data(settings)
  start_or_resume(settings, data, take_steps)
  banner.print_next_commands(settings)


def start_or_resume(settings, data, take_steps):
  """Starts or resumes the run in --train_dir, unless it is at its end.

  `settings` and `data` are from `prepare_data`; `take_steps` is as for `train`.
  Raises UserError if the directory is unusable or --master does not answer,
  OSError if the directory cannot be written to, and what `take_steps` raises.
  """
  with train_dir.locked(settings.train_dir):
    state = train_dir.prepare(settings, data, settings.examples_per_machine)
    if state is not None:
      with tf.Graph().as_default(), master.placed(settings):
        tf.set_random_seed(state.seed_of_start(settings.seed))
        take_steps(Run(settings, data, state))
