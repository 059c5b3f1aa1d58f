"""Parts of one model: which devices there are, and what runs on them."""

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.errors import UserError
from cifar10.optim import model_parallelism
from cifar10.settings import Settings
from cifar10.util import session_settings


@pytest.mark.parametrize(
    'settings, tasks, problem',
    [({
        'model_parallelism': 'layers',
        'num_gpus': 3
    }, (), 'layers: found 3 GPUs or workers; expected 2$'),
     ({
         'model_parallelism': 'layers'
     }, ('/job:worker/task:0',), 'layers: found 1 GPUs'),
     ({
         'model_parallelism': 'filters'
     }, (), 'filters: found 1 GPUs or workers; expected 2 or more, see --num_'),
     ({
         'model_parallelism': 'filters',
         'num_gpus': 2,
         'columns': 4
     }, (), 'filters: found 2 .* expected 4, one for each of --columns$'),])
def test_devices_that_do_not_fit_are_refused(settings, tasks, problem):
  with pytest.raises(UserError, match='^--model_parallelism=' + problem):
    model_parallelism.with_devices(Settings(**settings), tasks)


def test_devices_are_gpus_or_tasks_or_parts_of_the_processor(monkeypatch):
  parts = Settings(model_parallelism='filters', num_gpus=2)
  assert model_parallelism.with_devices(Settings(num_gpus=2)).devices == ()
  tasks = model_parallelism.with_devices(
      parts, ['/job:worker/task:%d' % i for i in range(3)])
  assert tasks.devices == tuple(
      '/job:worker/task:%d/gpu:0' % i for i in range(3))
  for has_gpu, kind in ((True, 'gpu'), (False, 'cpu')):
    monkeypatch.setattr(session_settings, 'has_gpu', lambda has=has_gpu: has)
    devices = model_parallelism.with_devices(parts).devices
    assert devices == tuple('/%s:%d' % (kind, i) for i in range(2))
  assert session_settings.config_proto(parts).device_count['CPU'] == 2
  # Towers take one batch each, the parts of a model one together.
  assert parts.examples_per_machine == parts.batch_size
  assert Settings(num_gpus=2).examples_per_machine == 2 * parts.batch_size


@pytest.mark.parametrize('kind, there', [('filters', 'conv2/column_1/conv2'),
                                         ('layers', 'local4/local4'),
                                         ('layers', ' dropout/')])
def test_parts_run_where_they_are_placed(monkeypatch, kind, there):
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: False)
  config = model_parallelism.with_devices(
      Settings(model_parallelism=kind, num_gpus=2, dropout=0.5,
               conv_dropout=0.1))
  metadata, options = tf.RunMetadata(), tf.RunOptions(
      trace_level=tf.RunOptions.FULL_TRACE)
  with tf.Graph().as_default(), model_parallelism.placed(config):
    logits = networks.inference(tf.zeros([1, 8, 8, 3]), config,
                                is_training=True)
    with tf.Session(config=session_settings.config_proto(config)) as session:
      session.run(tf.global_variables_initializer())
      session.run(logits, options=options, run_metadata=metadata)
  ran = {
      device.device.rpartition('CPU:')[2]:
          ' '.join(node.node_name for node in device.node_stats)
      for device in metadata.step_stats.dev_stats
  }
  assert there in ran['1'] and there not in ran['0']
  assert 'conv1/' in ran['0'] and ' conv_dropout/' in ran['0']
