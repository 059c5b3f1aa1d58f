"""Muon, an optimizer for the weights of hidden layers.

Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024,
https://kellerjordan.github.io/posts/muon/
"""

import tensorflow.compat.v1 as tf

# A polynomial that, applied to a matrix again and again, brings all of its
# singular values near to 1; from the paper, with the number of times that its
# record for CIFAR-10 applies it.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 3


class MuonOptimizer(tf.train.Optimizer):
  """Nesterov momentum whose steps are made orthogonal.

  The weights of a layer are a matrix: a row for each unit or filter. A step is
  the momentum with all its singular values near 1, so each direction of the
  matrix moves equally far. Before it, the weights are scaled to a norm of 1 for
  each unit, on average: it fits layers whose outputs are normalized.
  """

  def __init__(self, learning_rate, momentum, name='Muon'):
    """Makes the optimizer.

    Args:
      learning_rate: float32 scalar tensor.
      momentum: float.
      name: prefix of its operations.
    """
    super().__init__(use_locking=False, name=name)
    self._rate, self._momentum = learning_rate, momentum

  def _create_slots(self, var_list):
    for variable in var_list:
      self._zeros_slot(variable, 'momentum', self._name)

  def _apply_dense(self, grad, var):
    slot = self.get_slot(var, 'momentum')
    momentum = tf.assign(slot, self._momentum * slot.read_value() + grad)
    units = var.shape.as_list()[-1]
    rows = tf.reshape(grad + self._momentum * momentum, [-1, units])
    step = tf.reshape(orthogonal(rows), tf.shape(var))
    weights = var.read_value()
    scale = units**0.5 / tf.norm(weights)
    return tf.assign(var, scale * weights - self._rate * step)

  def _resource_apply_dense(self, grad, handle):
    return self._apply_dense(grad, handle)


def orthogonal(matrix):
  """A matrix with the same singular vectors, and singular values near 1.

  Args:
    matrix: float32 tensor, [rows, columns].

  Returns:
    Tensor of the same shape.
  """
  rows, columns = matrix.shape.as_list()
  x = matrix / (tf.norm(matrix) + 1e-7)
  if rows > columns:  # Products of the shorter side are cheaper.
    x = tf.transpose(x)
  a, b, c = _COEFFICIENTS
  for _ in range(_ITERATIONS):
    square = tf.matmul(x, x, transpose_b=True)
    x = a * x + tf.matmul(b * square + c * tf.matmul(square, square), x)
  return tf.transpose(x) if rows > columns else x
