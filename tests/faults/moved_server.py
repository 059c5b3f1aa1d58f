"""Runs a program whose server listens at another port than its flags say.

    python moved_server.py PORT cifar10_distributed_train.py FLAGS

All tasks of a cluster are given the same addresses. Here one of them is that of
a proxy, which leads to this task: see proxy.py.
"""

import runpy
import sys

import tensorflow.compat.v1 as tf


def move(port):
  """Has tf.train.Server listen at `port`, whatever the cluster says."""
  original = tf.train.Server

  def server(cluster, job_name, task_index, **options):
    jobs = cluster.as_dict()
    jobs[job_name][task_index] = '127.0.0.1:%d' % port
    return original(tf.train.ClusterSpec(jobs), job_name=job_name,
                    task_index=task_index, **options)

  tf.train.Server = server


if __name__ == '__main__':
  move(int(sys.argv[1]))
  sys.argv = sys.argv[2:]
  runpy.run_path(sys.argv[0], run_name='__main__')
