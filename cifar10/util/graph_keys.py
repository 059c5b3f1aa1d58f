"""Names of collections of a graph, besides those of tf.GraphKeys."""

# Variables of the model that --freeze keeps from being trained.
FROZEN = 'frozen'

# The inputs of the model's layers, from the images up.
LAYER_INPUTS = 'layer_inputs'

# The moving means and variances of batch normalization.
STATISTICS = 'statistics'

# Those of them that follow the batches, and the values of the batch, in the
# same order.
FOLLOWING_STATISTICS = 'following_statistics'
BATCH_STATISTICS = 'batch_statistics'

# Filters that are not trained: run/whitening.py computes them.
WHITENING = 'whitening'

# The learning rate.
LEARNING_RATE = 'learning_rate'

# The operations that limit the norms of weights.
MAX_NORM = 'max_norm'

# The one nets.frozen_layers.FrozenLayers of a graph whose input reads features.
FROZEN_LAYERS = 'frozen_layers'
