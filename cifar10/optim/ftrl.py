"""FTRL-Proximal that starts at the initial weights.

McMahan et al., "Ad Click Prediction: a View from the Trenches", 2013,
algorithm 1. In its words, a weight w minimizes

    z w + q w^2 / 2 + l1 |w|,    q = sqrt(n) / rate + 2 l2

where n is the sum of squared gradients, and z that of gradients, each minus w
times the change of q. For a weight that is not zero, z = -(q w + l1 sign(w)).
"""

import tensorflow.compat.v1 as tf

_INITIAL_SQUARES = 0.1  # As in tf.train.FtrlOptimizer.


class FtrlOptimizer(tf.train.Optimizer):
  """As tf.train.FtrlOptimizer, with the same slots, `Ftrl` and `Ftrl_1`.

  TensorFlow's z starts at 0, so the weights do, too, whatever they were. Here z
  is computed from the weight and the current rate; only for a weight of 0 is it
  read from its slot. So the initial weights are the minimum before the first
  step, for any l1 and l2, and still are if a schedule changes the rate.
  """

  def __init__(self, learning_rate, l1, l2):
    super().__init__(use_locking=False, name='Ftrl')
    # The rate divides, and schedules may let it fall to 0.
    self._rate = tf.maximum(learning_rate, 1e-30)
    self._l1, self._l2 = l1, l2

  def _create_slots(self, var_list):
    squares = tf.constant_initializer(_INITIAL_SQUARES)
    for variable in var_list:
      self._get_or_make_slot_with_initializer(variable, squares, variable.shape,
                                              variable.dtype.base_dtype,
                                              'squares', self._name)
      self._zeros_slot(variable, 'linear', self._name)

  def _apply_dense(self, grad, var):
    squares, linear = (
        self.get_slot(var, kind) for kind in ('squares', 'linear'))
    weights = var.read_value()
    # The part of z that l1 balances: l1 if the weight is negative, -l1 if it is
    # positive, between them if it is 0.
    balance = tf.where(tf.equal(weights, 0), linear.read_value(),
                       -self._l1 * tf.sign(weights))
    new_squares = squares.read_value() + tf.square(grad)
    q = tf.sqrt(new_squares) / self._rate + 2 * self._l2
    wanted = balance + grad - q * weights
    new_balance = tf.clip_by_value(wanted, -self._l1, self._l1)
    step = tf.where(tf.equal(wanted, new_balance), weights,
                    (balance + grad - new_balance) / q)
    new_linear = new_balance - q * (weights - step)
    # Reads everything before it writes. Sums and weights are added to, so that
    # asynchronous workers do not undo each other's steps.
    with tf.control_dependencies([new_squares, new_linear]):
      return tf.group(tf.assign_add(squares, tf.square(grad)),
                      tf.assign(linear, new_linear), tf.assign_sub(var, step))

  _resource_apply_dense = _apply_dense
