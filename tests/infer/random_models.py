"""Checkpoints of models with random variables, for tests without training."""

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10 import networks
from cifar10.data import datasets
from cifar10.settings import Settings
from tests import reference
from tests import synthetic_records

AVERAGE = '/ExponentialMovingAverage'


def save(folder, data, top_layers='full', averages=True, step=7, seed=3,
         **settings):
  """Saves a model of random variables for a datasets.DataSet.

  With `averages`, which differ from the variables, as a trainer does. Returns
  the path of the checkpoint, and its arrays by their names.
  """
  config = Settings(top_layers=top_layers, classes=data.classes, **settings)
  size = cifar10_input.crop_size(data.layout, config.image_size)
  with tf.Graph().as_default(), tf.Session() as session:
    tf.set_random_seed(seed)
    global_step = tf.train.create_global_step()
    images = tf.zeros([1, size, size, data.layout.depth])
    networks.inference(images, config)
    variables = tf.trainable_variables()
    ema = tf.train.ExponentialMovingAverage(0.9999)
    if averages:
      ema.apply(variables)
    session.run(tf.global_variables_initializer())
    # Larger logits, so that probabilities differ from image to image.
    (weights,) = [v for v in variables if v.op.name == 'softmax_linear/weights']
    session.run(tf.assign(weights, 50 * weights))
    if averages:
      session.run([tf.assign(ema.average(v), 1.1 * v) for v in variables])
    global_step.load(step, session)
    path = tf.train.Saver().save(session, str(folder / 'model.ckpt'), step)
    return path, session.run({v.op.name: v for v in tf.global_variables()})


def probabilities(records, data, values, suffix='', top_layers='full'):
  """The probabilities of records, by single crops and loaded variables.

  `values` are from `save`, `suffix` follows the names of those to load. Returns
  a float32 array, [n, classes].
  """
  size = cifar10_input.crop_size(data.layout)
  crops = [
      reference.central_crop(image, size)
      for image in synthetic_records.images_of(records, data.layout)
  ]
  with tf.Graph().as_default(), tf.Session() as session:
    images = tf.constant(np.stack(crops), tf.float32)
    logits = networks.inference(
        images, Settings(top_layers=top_layers, classes=data.classes))
    for variable in tf.trainable_variables():
      variable.load(values[variable.op.name + suffix], session)
    logits = session.run(logits)
  odds = np.exp(logits - logits.max(axis=1, keepdims=True))
  return odds / odds.sum(axis=1, keepdims=True)


def own_data(folder, num_classes=3):
  """A data set of gray 16 x 16 images, described only: datasets.DataSet."""
  classes = ['class %d' % i for i in range(num_classes)]
  config = synthetic_records.make_own_dataset(folder, classes=classes, size=16)
  return datasets.describe(config)
