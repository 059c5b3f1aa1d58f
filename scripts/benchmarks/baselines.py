"""The forms that benchmark.py compares: the classical one, and this project's.

The classical form is the tutorial's: each image is read and distorted by
itself, by TensorFlow's own operations, and waits in a shuffle queue of single
images; convolutions are tf.nn.conv2d and normalization is tf.nn.lrn, in
float32. It uses none of this project's reading, distorting and arithmetic.
"""

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10 import networks
from cifar10.nets import layers
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import session_settings
import numpy as np
import tensorflow.compat.v1 as tf

CLASSICAL = 'classical'
FORMS = CLASSICAL, 'float32'
# TensorFlow 1 has bfloat16 on no processor; without instructions for it, a step
# takes seconds.
if session_settings.cpu_has_bfloat16() or (tf.__version__ >= '2' and
                                           session_settings.has_gpu()):
  FORMS += 'bfloat16',

RECORD_BYTES = 1 + 3 * 32 * 32
_SIZE = cifar10_input.IMAGE_SIZE


def inference(images, form):
  """Builds the model: CLASSICAL, or in the precision of that name."""
  portable = form == CLASSICAL  # By tf.nn.conv2d and tf.nn.lrn.
  with layers.compute_in('float32' if portable else form):
    return networks.inference(images, Settings(), portable=portable)


def train(images, labels, form, data):
  """Builds the operation that takes a training step, in one of the forms.

  Args:
    images: float32, [batch, 24, 24, 3].
    labels: int32, [batch].
    form: as that of `inference`.
    data: datasets.DataSet; sets the pace of the learning rate.
  """
  total_loss = cifar10.loss(inference(images, form), labels)
  batch_size = images.shape.as_list()[0]
  pace = run_state.begin(data, batch_size).pace(Settings())
  return cifar10.train(total_loss, tf.train.get_or_create_global_step(),
                       Settings(), pace)


def distorted_inputs(form, data, batch_size):
  """Builds the training input in the classical form or in ours."""
  if form == CLASSICAL:
    return classical_distorted_inputs(data.train_files,
                                      data.count(data.train_files), batch_size)
  return cifar10_input.distorted_inputs(None, batch_size, data)


def inputs(form, data, batch_size):
  """Builds the test images' input in the classical form or in ours."""
  if form == CLASSICAL:
    return classical_inputs(data.test_files, batch_size)
  return cifar10_input.inputs(True, None, batch_size, data)


def fixed_batch(batch_size):
  """A batch that costs nothing: images [batch_size, 24, 24, 3] and labels."""
  with tf.device('/cpu:0'):
    images = tf.get_variable('images', [batch_size, _SIZE, _SIZE, 3],
                             initializer=tf.random_normal_initializer(),
                             trainable=False)
  labels = np.arange(batch_size) % cifar10.NUM_CLASSES
  return images, tf.constant(labels, tf.int32)


def classical_distorted_inputs(filenames, num_examples, batch_size):
  """The tutorial's training input: a shuffle queue of single images.

  Returns float32 images, [batch_size, 24, 24, 3], and int32 labels, of the
  `num_examples` records in the files.
  """
  with tf.device('/cpu:0'):
    filename_queue = tf.train.string_input_producer(list(filenames))
    image, label = read_image(filename_queue)
    min_after_dequeue = int(num_examples * 0.4)
    return tf.train.shuffle_batch([distort_image(image), label],
                                  batch_size=batch_size, num_threads=16,
                                  capacity=min_after_dequeue + 3 * batch_size,
                                  min_after_dequeue=min_after_dequeue)


def classical_inputs(filenames, batch_size):
  """The tutorial's input for evaluation: a queue of single images.

  Departure from the tutorial: it ends after the last image, so that each image
  counts once, as it does in this project. The last batch may be smaller.

  Returns float32 images, [batch_size, 24, 24, 3], and int32 labels.
  """
  with tf.device('/cpu:0'):
    filename_queue = tf.train.string_input_producer(list(filenames),
                                                    num_epochs=1, shuffle=False)
    image, label = read_image(filename_queue)
    image = tf.image.resize_image_with_crop_or_pad(image, _SIZE, _SIZE)
    return tf.train.batch([tf.image.per_image_standardization(image), label],
                          batch_size=batch_size, num_threads=16,
                          capacity=4000 + 3 * batch_size,
                          allow_smaller_final_batch=True)


def read_image(filename_queue):
  """Reads one record of CIFAR-10; returns as `decode`."""
  _, value = tf.FixedLengthRecordReader(RECORD_BYTES).read(filename_queue)
  return decode(value)


def decode(value):
  """Decodes one record of CIFAR-10, a string scalar of RECORD_BYTES.

  Returns the image, float32 [32, 32, 3] of 0 to 255, and the label, int32.
  """
  record = tf.decode_raw(value, tf.uint8)
  planes = tf.reshape(record[1:], [3, 32, 32])
  image = tf.transpose(tf.cast(planes, tf.float32), [1, 2, 0])
  return image, tf.cast(record[0], tf.int32)


def distort_image(image):
  """The tutorial's random distortions of one image.

  Takes [height, width, depth] of 0 to 255; returns float32 [24, 24, depth].
  """
  depth = image.shape.as_list()[2]
  image = tf.random_crop(tf.cast(image, tf.float32), [_SIZE, _SIZE, depth])
  image = tf.image.random_flip_left_right(image)
  image = tf.image.random_brightness(image, max_delta=63)
  image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
  return tf.image.per_image_standardization(image)
