"""The training directory: what a run writes there, and how a run begins."""

import dataclasses
import glob
import os

from cifar10.data import datasets
from cifar10.training import checkpoints
from cifar10.training import run_state

# What a trainer writes; --overwrite deletes nothing else. `checkpoint` goes
# first: what is left without it cannot be resumed by mistake.
_RUN_FILES = (
  'checkpoint',
  checkpoints.PREFIX + '-*',
  'graph.pbtxt',
  'events.out.tfevents.*',
  run_state.CONFIG_FILE,
  run_state.STATE_FILE,
)


def prepare(config, data, examples_per_step):
  """Prepares the training directory for a run that starts or is resumed.

  Args:
    config: config.Config.
    data: datasets.DataSet to train on.
    examples_per_step: training examples that a step takes, on all machines.

  Returns:
    The run_state.RunState to train with; None if the run is at
    `max_steps` already.

  Raises:
    UserError: the directory cannot be used, or holds a run on other classes.
  """
  directory = config.run.train_dir
  os.makedirs(directory, exist_ok=True)
  if config.run.overwrite:
    remove_run(directory)
  checkpoints.check_named(directory)
  checkpoint = checkpoints.latest(directory)
  state = run_state.begin(data, examples_per_step)
  if checkpoint is None:
    return state
  step = checkpoints.step(checkpoint)
  if step >= config.optimization.max_steps:
    print(
      '%s is at step %d already, and --max_steps=%d: nothing to do.'
      % (directory, step, config.optimization.max_steps)
    )
    return None
  saved = run_state.load(directory)
  if saved is not None:
    datasets.check_classes(data, config.data, saved.classes)
    stretches = run_state.resumed_at(step, saved.stretches, examples_per_step)
    state = dataclasses.replace(state, stretches=stretches)
  print('Resuming from %s.' % checkpoint)
  return state


def remove_run(directory):
  """Deletes what a trainer has written into `directory`, and no other file."""
  for pattern in _RUN_FILES:
    for path in glob.glob(os.path.join(glob.escape(directory), pattern)):
      os.remove(path)
