"""The picture of the network: layers, shapes and parameters of its graph."""

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from tests import pictures

draw_network = pictures.module('draw_network')


def test_the_picture_is_that_of_the_network():
  assert pictures.is_current(str(draw_network.draw()), 'tutorial/network.svg')


def test_layers_are_those_of_the_tutorial():
  layers = draw_network.layers()
  assert [layer.name for layer in layers] == [
      'images', 'conv1', 'pool1', 'norm1', 'conv2', 'norm2', 'pool2', 'local3',
      'local4', 'softmax_linear'
  ]
  by_name = {layer.name: layer for layer in layers}
  assert by_name['pool2'] == ('pool2', 'max pooling 3 × 3, stride 2', (6, 6,
                                                                       64), 0)
  assert by_name['conv2'] == ('conv2', 'convolution 5 × 5, ReLU', (12, 12, 64),
                              5 * 5 * 64 * 64 + 64)
  assert by_name['softmax_linear'].text == 'fully connected, linear'
  assert sum(layer.parameters for layer in layers) == 1068298


def test_another_network_gives_another_picture(monkeypatch):

  def inference(images, techniques):
    del techniques
    with tf.variable_scope('conv7'):
      kernel = tf.get_variable('weights', [3, 3, 3, 8])
      conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding='SAME')
      return tf.nn.relu(conv, name='conv7')

  monkeypatch.setattr(cifar10, 'inference', inference)
  texts = pictures.texts(str(draw_network.draw()))
  assert {'conv7', 'convolution 3 × 3, ReLU', '24 × 24 × 8',
          '216'} <= set(texts)
