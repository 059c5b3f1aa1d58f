"""Trains the CIFAR-10 model on several machines.

    cifar10_distributed_train --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 \\
        --job_name=worker --task_index=0

Run it once for each task, with its own --job_name and --task_index: the
parameter servers (ps) hold the variables, the workers compute gradients from
their own batches. Worker 0, the chief, saves; its checkpoints are those of
cifar10_train.py. The cluster may also come from Slurm, with --slurm_ps, or from
TF_CONFIG.
"""

import contextlib
import dataclasses
import os
import sys

if not __package__:  # The package is one folder up.
  package = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(package))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10_multi_gpu_train
from cifar10 import flags
from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.cluster import placement
from cifar10.cluster import shared_state
from cifar10.cluster.optimizer import WorkerOptimizer
from cifar10.cluster.worker_role import WorkerRole
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.optim import model_parallelism
from cifar10.run import banner
from cifar10.run import initial_values
from cifar10.run import session
from cifar10.run import train_dir
from cifar10.run import trainer
from cifar10.store import run_state
import tensorflow.compat.v1 as tf


def build_step(run, task, agreement, progress):
  """Builds a step of one worker, with the towers of the multi-GPU trainer.

  Returns the operation that takes a step, and meanwhile copies the next batch
  to the worker's devices; the mean loss of its towers, a float32 scalar; and a
  list of the hooks that the graph needs.
  """
  global_step, partitioner = tf.train.get_or_create_global_step(), None
  worker = WorkerOptimizer(task, run.settings, progress, agreement.chief_start)
  if run.settings.partition_ps:  # Splits large variables.
    partitioner = tf.min_max_variable_partitioner(len(task.ps))
  with tf.variable_scope('', partitioner=partitioner):
    train_op, loss, prefetch = cifar10_multi_gpu_train.build_step(
        run, global_step, worker)
  return train_op, loss, [prefetch] + worker.hooks


def train(settings):
  """Runs one task of the cluster to its end.

  Raises UserError as `trainer.train` does, or if the cluster is unusable.
  """
  task = cluster_spec.task_from_settings(settings)
  for name in ('early_stopping', 'cache_frozen', 'master'):
    value = getattr(settings, name)
    if value:
      raise UserError(f'--{name}={value}: works outside of clusters only; '
                      'leave it out')
  lenders = task.lenders(settings)
  settings = model_parallelism.with_devices(
      settings, task.worker_devices if settings.num_gpus == 1 else ())
  if task.job == 'ps':
    membership.serve(task, settings)
    return
  if task.is_chief:  # Before anything is fetched.
    initial_values.check_source(settings)
  settings, data = trainer.prepare_data(settings)
  examples_per_step = (settings.examples_per_machine *
                       task.workers_per_step(settings))
  with contextlib.ExitStack() as stack:
    if task.is_chief:
      stack.enter_context(train_dir.locked(settings.train_dir))
    server = stack.enter_context(membership.joined(task, settings))
    for agreement in membership.agree(
        server, lambda: train_dir.prepare(settings, data, examples_per_step)):
      with ending.announced(server, agreement):
        if task.index in lenders:
          membership.lend(server, agreement)
          continue
        run = trainer.Run(agreement.settings, data, agreement.state)
        take_steps(run, server, task, agreement)
  if task.is_chief:
    banner.print_next_commands(settings)


def take_steps(run, server, task, agreement):
  """Builds the graph of a worker, and trains.

  Raises UserError if its data are not those of the run.
  """
  settings, state = run.settings, run.state
  # The data of a worker lies on its own machine.
  trained_on = run_state.trained_on(state, settings)
  datasets.check_fits(run.data, dataclasses.replace(settings, **trained_on))
  place = placement.device_function(task, settings)
  with tf.Graph().as_default(), tf.device(place):
    seed = state.seed_of_start(settings.seed, agreement.chief_start - 1,
                               agreement.steps_before)
    # With equal seeds all workers would take the same images.
    tf.set_random_seed(None if seed is None else seed + task.index)
    progress = shared_state.progress(task, run.last_step)
    train_op, loss, hooks = build_step(run, task, agreement, progress)
    _print_bytes(train_op)
    role = WorkerRole(server, agreement, progress)
    with session.training_session(run, train_op, loss, hooks, role) as mon_sess:
      while not mon_sess.should_stop():
        mon_sess.run(train_op)
    if role.has_taken_last_step and not task.is_chief:
      ending.wait(server, agreement)


def _print_bytes(train_op):
  """Prints how much a step sends and receives over the network."""
  received, sent, exchanged = (
      f'{n / 1e6:.2f} MB' for n in placement.bytes_of_step(train_op))
  print(f'Each step receives {received} from parameter servers and sends '
        f'{sent}.')
  if exchanged != '0.00 MB':
    print(f'Each step sends {exchanged} from worker to worker.')


def main():
  """The console command."""
  flags.run(train, flags.TRAINER_GROUPS + ('towers', 'cluster'), __doc__)


if __name__ == '__main__':
  main()
