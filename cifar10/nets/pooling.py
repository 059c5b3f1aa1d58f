"""Gradients of the layer below a max pooling, at the size of its outputs.

The gradient of a max pooling is zero but where a window has its maximum. So
that of a ReLU below it is zero unless the maximum is positive, and the sum for
each channel, the gradient of the biases, is that of the pooled gradient. With a
stride of 2 this is a quarter of the work, and the values are the same.
"""

import tensorflow.compat.v1 as tf

# For tf.Graph.gradient_override_map, around the operations below a pooling.
GRADIENTS = {'Relu': 'ReluBelowMaxPool', 'BiasAdd': 'BiasAddBelowMaxPool'}


@tf.RegisterGradient(GRADIENTS['Relu'])
def _relu_gradient(relu, grad):
  pool = grad.op
  if pool.type != 'MaxPoolGrad':
    return tf.raw_ops.ReluGrad(gradients=grad, features=relu.outputs[0])
  inputs, outputs, grad = pool.inputs
  grad = tf.raw_ops.ReluGrad(gradients=grad, features=outputs)
  kind = {
      name: pool.get_attr(name)
      for name in ('ksize', 'strides', 'padding', 'data_format')
  }
  return tf.raw_ops.MaxPoolGrad(orig_input=inputs, orig_output=outputs,
                                grad=grad, **kind)


@tf.RegisterGradient(GRADIENTS['BiasAdd'])
def _bias_add_gradient(bias_add, grad):
  layout = bias_add.get_attr('data_format')
  pool = grad.op
  summed = pool.inputs[2] if pool.type == 'MaxPoolGrad' else grad
  return grad, tf.raw_ops.BiasAddGrad(out_backprop=summed, data_format=layout)
