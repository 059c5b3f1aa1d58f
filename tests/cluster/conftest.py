"""A parameter server, for tests of what tasks of a cluster share."""

import pytest
import tensorflow.compat.v1 as tf

from tests import clusters


@pytest.fixture(name='ps')
def _ps():
  """The address and the target of a parameter server in this process."""
  (address,) = clusters.free_addresses(1)
  server = tf.train.Server({'ps': [address]}, job_name='ps', task_index=0)
  yield address, server.target
