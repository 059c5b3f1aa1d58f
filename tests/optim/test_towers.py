"""Towers: their batches, devices and means."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10.optim import towers
from cifar10.settings import Settings
from tests import graphs


def test_a_batch_is_split_into_equal_parts():
  images = np.arange(12, dtype=np.float32).reshape(6, 2, 1, 1)
  labels = np.arange(6, dtype=np.int32)
  parts = towers.split(tf.constant(images), tf.constant(labels), 3)
  for i, (some_images, some_labels) in enumerate(graphs.run(parts)):
    np.testing.assert_array_equal(some_images, images[2 * i:2 * i + 2])
    assert some_labels.tolist() == [2 * i, 2 * i + 1]


def test_a_staged_batch_is_the_one_that_was_put_before():
  source = tf.placeholder(tf.float32, [2])
  stage, (waiting,) = towers.staged([source], 'place')
  assert waiting.shape.as_list() == [2]
  with tf.Session() as session:
    session.run(stage, {source: [1, 2]})
    for batch, next_batch in (([1, 2], [3, 4]), ([3, 4], [5, 6])):
      found, _ = session.run([waiting, stage], {source: next_batch})
      assert found.tolist() == batch


@pytest.mark.parametrize('num_gpus, end',
                         [(1, 'run on the CPU.\n'),
                          (2, ' is hardly faster than one.\n')])
def test_missing_gpus_are_told(num_gpus, end, monkeypatch, capsys):
  monkeypatch.setattr(tf.config.experimental, 'list_physical_devices',
                      lambda kind: [])
  towers.print_devices(Settings(num_gpus=num_gpus))
  out = capsys.readouterr().out
  assert f'WARNING: --num_gpus={num_gpus}, but TensorFlow finds no GPU' in out
  assert out.endswith(end)


def test_losses_are_averaged_by_name():
  names = 'cross_entropy', 'total_loss'
  losses = [
      dict(zip(names, map(tf.constant, values)))
      for values in ((1.0, 2.0), (2.0, 6.0))
  ]
  tf.add_to_collection('losses', losses[0]['cross_entropy'])
  total = towers.mean_loss(losses)
  means = [*tf.get_collection('losses'), total]
  assert tuple(mean.op.name for mean in means) == names
  assert graphs.run(means) == [1.5, 4.0]
