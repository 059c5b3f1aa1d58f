"""Gradients of ReLU and biases directly below a max pooling.

The gradient of a max pooling is zero except at the maximum of each window. So a
ReLU directly below it only has to mask the gradients of the maxima, and the
gradient of the biases is their sum: with a stride of 2 a quarter of the work.
The results are the same, except that the sums round differently.
"""

import tensorflow.compat.v1 as tf

# For tf.Graph.gradient_override_map, around any ReLU and biases: the functions
# see whether a max pooling follows.
OVERRIDES = {'Relu': 'ReluBelowMaxPool', 'BiasAdd': 'BiasAddBelowMaxPool'}


@tf.RegisterGradient(OVERRIDES['Relu'])
def _relu_gradient(relu, grad):
  pool = grad.op
  if pool.type != 'MaxPoolGrad' or pool.inputs[0] is not relu.outputs[0]:
    return tf.raw_ops.ReluGrad(gradients=grad, features=relu.outputs[0])
  inputs, outputs, grad = pool.inputs
  grad = tf.raw_ops.ReluGrad(gradients=grad, features=outputs)
  kind = {
      name: pool.get_attr(name)
      for name in ('ksize', 'strides', 'padding', 'data_format')
  }
  return tf.raw_ops.MaxPoolGrad(orig_input=inputs, orig_output=outputs,
                                grad=grad, **kind)


@tf.RegisterGradient(OVERRIDES['BiasAdd'])
def _bias_add_gradient(bias_add, grad):
  layout, pool, summed = bias_add.get_attr('data_format'), grad.op, grad
  if pool.type == 'MaxPoolGrad' and pool.get_attr('data_format') == layout:
    summed = pool.inputs[2]
  if summed.dtype.size < 4:  # A sum of thousands of values stalls in 16 bits.
    summed = tf.cast(summed, tf.float32)
  sums = tf.raw_ops.BiasAddGrad(out_backprop=summed, data_format=layout)
  return grad, tf.cast(sums, grad.dtype)
