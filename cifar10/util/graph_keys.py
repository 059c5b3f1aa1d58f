"""Names of collections of a graph, besides those of tf.GraphKeys."""

# Variables of the model that --freeze keeps from being trained.
FROZEN = 'frozen'

# What goes into the layers of the model, in their order.
LAYER_INPUTS = 'layer_inputs'
