"""Names of collections of a graph, besides those of tf.GraphKeys."""

# Variables of the model that --freeze keeps from being trained.
FROZEN = 'frozen'

# The inputs of the model's layers, from the images up.
LAYER_INPUTS = 'layer_inputs'

# Filters that are not trained: training/whitening.py computes them.
WHITENING = 'whitening'
