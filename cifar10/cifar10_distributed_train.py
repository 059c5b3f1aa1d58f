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
import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import cli
from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.cluster import liveness
from cifar10.cluster import membership
from cifar10.cluster import placement
from cifar10.cluster import shared_state
from cifar10.cluster.optimizer import WorkerOptimizer
from cifar10.cluster.session import WorkerRole
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.model import techniques
from cifar10.serving import validation
from cifar10.training import hooks
from cifar10.training import run_state as run_state_lib
from cifar10.training import towers
from cifar10.training import train_dir
from cifar10.training import train_op as train_op_lib
from cifar10.training.session import monitored_training_session
from cifar10.training.watchdog import Watchdog
from six.moves import xrange
import tensorflow.compat.v1 as tf


def build(task, data, agreement, progress):
  """Builds the graph of one worker, within its device function.

  Args:
    task: cluster_spec.Task.
    data: datasets.DataSet.
    agreement: membership.Agreement.
    progress: shared_state.Progress.

  Returns:
    train_op: operation that takes a step, and meanwhile copies the next batch
      to the worker's devices.
    loss: float32 scalar tensor, the mean of this worker's towers.
    hooks: list of tf.train.SessionRunHook that the graph needs.
  """
  config, num_gpus = agreement.config, agreement.config.towers.num_gpus
  global_step = tf.train.get_or_create_global_step()
  opt = WorkerOptimizer(
    train_op_lib.optimizer(global_step, config, agreement.run_state),
    task,
    config.cluster,
    progress,
    agreement.chief_start,
  )
  images, labels = cifar10.distorted_inputs(data, config)
  batches = towers.split(images, labels, num_gpus)

  stages, tower_losses, tower_grads = [], [], []
  partitioner = placement.partitioner(task, config.cluster)
  with techniques.training_scope(config):
    with tf.variable_scope('', partitioner=partitioner):
      for i in xrange(num_gpus):
        with towers.tower(cifar10.TOWER_NAME, i) as scope:
          stage, batch = towers.staged(batches[i], scope)
          loss = cifar10.tower_loss(
            scope,
            *batch,
            len(data.classes),
            config.model,
            config.regularization,
            conv_form=config.session.conv,
          )
          stages.append(stage)
          tower_losses.append(towers.named_losses(scope, loss))
          tower_grads.append(opt.compute_gradients(loss))

  losses = towers.mean_losses(tower_losses)
  prefetch = tf.group(*stages)
  step = train_op_lib.build(
    opt,
    towers.average_gradients(tower_grads),
    list(losses.values()),
    global_step,
    config,
    # Built by all workers, so that each variable has its place.
    keeps_averages=task.is_chief,
  )
  return (
    tf.group(step, prefetch),
    losses['total_loss'],
    [hooks.PrefetchHook(prefetch)] + opt.hooks(),
  )


def train(config):
  """Runs one task of the cluster to its end.

  Args:
    config: config.Config.

  Raises:
    UserError: the cluster, the data, the training directory or the loss is
      unusable.
  """
  task = cluster_spec.task_from_config(config)
  for name, value in (
    ('early_stopping', config.optimization.early_stopping),
    ('cache_frozen', config.transfer.cache_frozen),
  ):
    if value:
      raise UserError(
        '--%s=%d: works on one machine only; leave it out' % (name, value)
      )
  if task.job == 'ps':
    membership.serve(task, config)
    return
  data = datasets.prepare(config.data, config.download, config.validation)
  examples_per_step = config.examples_per_machine * task.workers_per_step(
    config.cluster
  )
  with contextlib.ExitStack() as stack:
    if task.is_chief:
      stack.enter_context(train_dir.held(config.run.train_dir))
    server = stack.enter_context(membership.joined(task, config))
    for agreement in membership.agree(
      server,
      task,
      config,
      lambda: train_dir.prepare(config, data, examples_per_step),
    ):
      with ending.announced(server, task, config, agreement):
        _train_as_agreed(server, task, data, agreement)
  if task.is_chief:
    cli.print_next_commands(config)


def _train_as_agreed(server, task, data, agreement):
  """Builds the graph of a worker and takes its steps."""
  config, run_state = agreement.config, agreement.run_state
  # The data of a worker lies on its own machine.
  trained_on = run_state_lib.trained_on(run_state, config.data)
  datasets.check_fits(data, config.replace(**trained_on).data)
  with tf.Graph().as_default(), tf.device(
    placement.device_function(task, config.cluster)
  ), liveness.Observer(server, task, config) as observer:
    seed = run_state.seed_of_start(
      config.optimization.seed,
      agreement.chief_start - 1,
      agreement.steps_before,
    )
    tf.set_random_seed(task.own_seed(seed))
    last_step = run_state.last_step(config.optimization)
    progress = shared_state.progress(task, last_step)
    train_op, loss, worker_hooks = build(task, data, agreement, progress)
    print(
      'Each step receives %.2f MB from parameter servers and sends %.2f MB.'
      % tuple(n / 1e6 for n in placement.bytes_of_step(train_op))
    )
    role = WorkerRole(server, task, config, progress, observer)
    with _chief_watched(task, agreement, observer):
      with monitored_training_session(
        train_op,
        loss,
        data,
        config,
        run_state,
        worker_hooks,
        role,
        validation.create(data, config) if task.is_chief else None,
      ) as mon_sess:
        while not mon_sess.should_stop():
          mon_sess.run(train_op)
    if role.has_taken_last_step and not task.is_chief:
      ending.wait_until_saved(task, config, agreement, observer)


@contextlib.contextmanager
def _chief_watched(task, agreement, observer):
  """Ends a worker when the chief is gone or has ended with an error."""
  settings = agreement.config.cluster
  with Watchdog() as watchdog:
    if not task.is_chief:
      watchdog.watch(
        liveness.AnswerCheck(task.workers[:1], 'the chief', settings)
      )
      watchdog.watch(
        lambda: ending.problem_of_chief(task, agreement, observer.ending)
      )
    yield


def main():
  """The console command."""
  cli.run(train, cli.TRAINER_GROUPS + ('towers', 'cluster'), __doc__)


if __name__ == '__main__':
  main()
