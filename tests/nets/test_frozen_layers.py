"""Frozen layers: where they end."""

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10.data import datasets
from cifar10.data import feature_records
from cifar10.errors import UserError
from cifar10.nets import frozen_layers
from cifar10.settings import Settings

BATCH = {'normalization': 'batch'}


def frozen(**settings):
  """The FrozenLayers of the network of some settings."""
  settings = Settings(dataset='sample', cache_frozen=1, **settings)
  with tf.Graph().as_default():
    return frozen_layers.FrozenLayers(datasets.prepare(settings), settings, 24,
                                      networks.varied_network(settings))


LOCAL = {'top_layers': 'local'}


@pytest.mark.parametrize('freeze, settings, name, shape', [
    ('conv1', {}, 'norm1', (12, 12, 64)),
    ('conv1', BATCH, 'pool1', (12, 12, 64)),
    ('conv[12]', {}, 'pool2', (6, 6, 64)),
    ('conv|local3', {}, 'local3', (1, 1, 384)),
    ('conv|local', {}, 'local4', (1, 1, 192)),
    ('conv|local3', LOCAL, 'local3', (6, 6, 64)),
    ('conv|local', LOCAL, 'local4', (6, 6, 32)),
    # Layers above one that is trained.
    ('conv1|local', {}, 'norm1', (12, 12, 64)),
    ('conv|local3/w|local4', {}, 'pool2', (6, 6, 64)),
    # Batch normalization that is trained, or slopes.
    ('conv1|conv2/[wb]', BATCH, 'pool2', (6, 6, 64)),
    ('conv1|conv2/(weights|biases)', BATCH, 'pool1', (12, 12, 64)),
    ('conv1|conv2/[wb]', {'activation': 'prelu'}, 'norm1', (12, 12, 64)),
    # Dropout in between.
    ('conv|local', {'conv_dropout': 0.1}, 'norm1', (12, 12, 64)),
    ('conv|local', {'dropout': 0.1}, 'local3', (1, 1, 384)),
    ('conv', {'dropout': 0.1}, 'pool2', (6, 6, 64))
])  # yapf: disable
def test_they_end_where_outputs_are_not_the_same_in_each_step(
    freeze, settings, name, shape):
  layers = frozen(freeze=freeze, **settings)
  assert layers.name == name
  assert feature_records.shape(layers.data.layout) == shape


@pytest.mark.parametrize(
    'freeze, settings, name',
    [('conv2|local', {}, 'conv1/weights'),
     ('conv[12]/weights', {}, 'conv1/biases'), ('cnv', {}, 'conv1/weights'),
     ('conv./(weights|biases)', BATCH, 'conv1/batch_normalization/scale')])
def test_the_first_layer_must_be_frozen(freeze, settings, name):
  with pytest.raises(UserError,
                     match=f'=1: {name} is not frozen; expected --f'):
    frozen(freeze=freeze, **settings)
