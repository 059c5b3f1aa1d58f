"""Names in a graph: of collections that tf.GraphKeys lacks, and of a scope."""

import contextlib

import tensorflow.compat.v1 as tf

FROZEN = 'frozen'  # Variables of the model that --freeze keeps untrained.
LAYER_INPUTS = 'layer_inputs'  # Of a network's layers, the lowest first.
LEARNING_RATE = 'learning_rate'
WHITENING = 'whitening'  # Untrained filters that run/initial_values.py makes.

# The one nets.frozen_layers.FrozenLayers of a graph whose input reads features.
FROZEN_LAYERS = 'frozen_layers'

# The moving means and variances of batch normalization.
STATISTICS = 'statistics'
# Those of them that follow the batches, and the values of the batch, in the
# same order.
FOLLOWING_STATISTICS = 'following_statistics'
BATCH_STATISTICS = 'batch_statistics'

# The variable that counts the falls of --schedule=performance, and its name.
LEARNING_RATE_FALLS = 'learning_rate_falls'

# The name scope of the training input, by which guard/diagnosis.py and
# cluster/placement.py know it; that of cifar10_input.distorted_inputs.
INPUT_SCOPE = 'distorted_inputs'


@contextlib.contextmanager
def unchanged(*names):
  """A context that drops what its body adds to the collections `names`."""
  collections = [tf.get_collection_ref(name) for name in names]
  before = [list(collection) for collection in collections]
  yield
  for collection, values in zip(collections, before):
    collection[:] = values
