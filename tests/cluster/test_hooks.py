"""Hooks of a worker."""

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import hooks


def test_a_step_has_a_time_limit_and_saving_has_none():
  never = tf.FIFOQueue(1, [tf.int32]).dequeue()
  with tf.train.MonitoredSession(hooks=[hooks.TimeLimitHook(200)]) as session:
    with pytest.raises(tf.errors.DeadlineExceededError):
      session.run(never)
