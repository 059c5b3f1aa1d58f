"""Trains the CIFAR-10 model on several machines.

    cifar10_distributed_train --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 \\
        --job_name=worker --task_index=0

is to be run once for each task, with its own --job_name and --task_index: the
parameter servers (ps) hold the variables, the workers compute gradients from
batches of their own. Worker 0, the chief, saves; its checkpoints are those of
cifar10_train.py. The cluster may also come from TF_CONFIG.
"""

import os
import sys
from typing import Any, NamedTuple

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10.cluster import shared_state
from cifar10 import cifar10
from cifar10 import cli
from cifar10.cluster import cluster_spec
from cifar10.cluster import hooks as cluster_hooks
from cifar10.cluster import session as cluster_session
from cifar10.data import datasets
from cifar10.cluster import placement
from cifar10.training import session as session_lib
from cifar10.util import summaries
from cifar10.training import towers as towers_lib
from cifar10.training import train_op
import tensorflow.compat.v1 as tf

_FLAGS = cli.TRAINER_FLAGS + (
  'num_gpus',
  'ps_hosts',
  'worker_hosts',
  'job_name',
  'task_index',
  'sync',
  'backup_workers',
  'ps_strategy',
  'partition_ps',
  'model_parallel',
  'grad_dtype',
  'connect_timeout_secs',
  'stall_secs',
  'operation_timeout_ms',
)


class TrainingGraph(NamedTuple):
  """Handles of a worker's graph.

  Attributes:
    train_op: operation that takes one step.
    prefetch: operation to be run once before.
    loss: float32 scalar tensor, the mean of this worker's towers.
    optimizer: what applies gradients; with --sync, when those of the other
      workers are there too.
    progress: shared_state.Progress.
  """

  train_op: Any
  prefetch: Any
  loss: Any
  optimizer: Any
  progress: shared_state.Progress


class Updates(tf.train.Optimizer):
  """Gradient descent and the moving averages, as one update.

  What a tf.train.SyncReplicasOptimizer does with the gradients of a step.
  """

  def __init__(self, optimizer, config):
    super().__init__(use_locking=False, name='Updates')
    self._optimizer = optimizer
    self._config = config

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    with tf.container(''):  # The averages are those of the model.
      return train_op.update(
        self._optimizer, list(grads_and_vars), global_step, self._config
      )


def build(task, data, config):
  """Builds the graph of one worker; to be called within its device function.

  Args:
    task: cluster_spec.Task.
    data: datasets.DataSet.
    config: Config.

  Returns:
    TrainingGraph.
  """
  global_step = tf.train.get_or_create_global_step()
  progress = shared_state.progress(task, config.max_steps)
  read_at = global_step.read_value()
  learning_rate = train_op.learning_rate(global_step, config)
  descent = tf.train.GradientDescentOptimizer(learning_rate)
  optimizer = Updates(descent, config)
  if config.sync:
    optimizer = tf.train.SyncReplicasOptimizer(
      optimizer,
      replicas_to_aggregate=config.machines_per_step,
      total_num_replicas=len(task.workers),
    )
  images, labels = cifar10.distorted_inputs(data, config)
  with tf.variable_scope('', partitioner=placement.partitioner(task, config)):
    towers = towers_lib.build(
      images, labels, descent, len(data.classes), config
    )
  # Built by all, so that each variable has its place; kept by the chief.
  losses_averaged = train_op.average_losses(list(towers.losses.values()))
  train_op.summarize(towers.gradients)
  with tf.control_dependencies([gradient for gradient, _ in towers.gradients]):
    staleness = global_step.read_value() - read_at
    noted = tf.group(
      tf.scatter_add(progress.steps, task.index, 1),
      tf.scatter_update(progress.staleness, task.index, staleness),
    )
  # The last gradient to be computed, and a small one, is sent when that has
  # been read, so that this worker's own step is not counted.
  (first, variable), *others = towers.gradients
  with tf.control_dependencies([staleness]):
    first = tf.identity(first)
  gradients = placement.sent_as([(first, variable)] + others, config.grad_dtype)
  summaries.scalar('staleness', tf.reduce_mean(tf.to_float(progress.staleness)))
  with cluster_hooks.sync_container(config.chief_starts):
    updated = optimizer.apply_gradients(gradients, global_step)
  if config.sync:
    # What the optimizer's own hook looks at; unused, it logs an error.
    tf.group(optimizer.ready_for_local_init_op)
  train_op = tf.group(
    updated, noted, towers.prefetch, *([losses_averaged] * task.is_chief)
  )
  return TrainingGraph(
    train_op, towers.prefetch, towers.losses['total_loss'], optimizer, progress
  )


def train(config):
  """Runs one task of the cluster to its end.

  Args:
    config: Config.

  Raises:
    UserError: the cluster, the data, the training directory or the loss is
      unusable.
  """
  task = cluster_spec.task_from_config(config)
  config = cluster_spec.for_cluster(config, task)
  if task.job == 'ps':
    cluster_session.serve(task, config)
    return
  data = datasets.prepare(config)
  with cluster_session.membership(task, config) as server:
    for run in cluster_session.agree(
      server, task, config, lambda: session_lib.begin(config, data)
    ):
      _work(server, task, data, run)


def _work(server, task, data, config):
  """Builds the graph of a worker and takes its steps."""
  with tf.Graph().as_default(), tf.device(
    placement.device_function(task, config)
  ):
    tf.set_random_seed(config.seed)
    graph = build(task, data, config)
    print(
      'Each step receives %.2f MB from parameter servers and sends %.2f MB.'
      % tuple(n / 1e6 for n in placement.bytes_of_step(graph.train_op))
    )
    with cluster_session.training_session(server, task, config, graph) as session:
      while not session.should_stop():
        session.run(graph.train_op)


def main():
  """The console command."""
  cli.run(train, _FLAGS, __doc__)


if __name__ == '__main__':
  main()
