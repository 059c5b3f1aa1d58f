"""Names of collections of a graph, besides those of tf.GraphKeys."""

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
