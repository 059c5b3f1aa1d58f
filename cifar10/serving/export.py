"""The trained model as one graph of constants, and the forms it is kept in.

These nodes of the graph have names to call them by:

    images         uint8 [n, height, width, depth], what goes in, or else
    pictures       string [n], the content of PNG, JPEG, BMP or GIF files
    class          int32 [n], what comes out
    label          string [n], the name of the class
    probabilities  float32 [n, classes]
    classes        string [classes], the names of all, in the same order
"""

import io
import os
import sys
import zipfile

import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.serving import picture_ops
from cifar10.util import log_suppression
from cifar10.serving import restore
from cifar10.util import session_settings
from cifar10.config import Config

_OUTPUTS = ('class', 'label', 'probabilities')

# What goes into each signature of a SavedModel, and what comes out.
_SIGNATURES = {
  tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: (('images',), _OUTPUTS),
  'images': (('images',), _OUTPUTS),
  'pictures': (('pictures',), _OUTPUTS),
  'classes': ((), ('classes',)),
}

# A TensorFlow Lite file knows numbers only. The names of the classes are in a
# file within it, in the place and by the name that the format has for them.
_TFLITE_OUTPUTS = ('class', 'probabilities')
_TFLITE_LABELS = 'labels.txt'


def freeze(data, checkpoint, config):
  """The model with the variables of a checkpoint, as constants.

  Args:
    data: dataset.DataSet, which classes and layout the images have.
    checkpoint: path of a checkpoint.
    config: Config.

  Returns:
    tf.GraphDef, of the nodes above and what lies between them. Computes in
    float32, whatever the run was trained in.

  Raises:
    UserError: the checkpoint cannot be read or is of another model.
  """
  with tf.Graph().as_default() as graph, _session() as session:
    _build(data, config)
    scaffold = restore.fitting_scaffold(
      restore.build(config), checkpoint, config
    )
    scaffold.saver.restore(session, checkpoint)
    frozen = tf.graph_util.convert_variables_to_constants(
      session, graph.as_graph_def(), [*_OUTPUTS, 'classes']
    )
  for node in frozen.node:
    node.device = ''  # The variables were pinned to the CPU.
    if node.op == 'IdentityN':
      # What tf.custom_gradient makes of (y, x), to name a gradient that only
      # this process knows. All that goes on from there is y.
      types = node.attr['T'].list.type
      node.op, node.attr['T'].type = 'Identity', types[0]
      del node.input[1:]
      del node.attr['_gradient_op_type']
  return frozen


def _session():
  """A session of the default graph that leaves the GPU to a trainer."""
  return tf.Session(config=session_settings.config_proto(Config(), use_gpu=False))


def _build(data, config):
  """Builds the graph, as the evaluation has it, between the nodes above."""
  layout = data.layout
  pictures = tf.placeholder(tf.string, [None], 'pictures')
  images = tf.placeholder_with_default(
    picture_ops.decode(pictures, layout),
    [None, layout.height, layout.width, layout.depth],
    'images',
  )
  pixels = tf.cast(images, tf.float32, 'pixels')
  cropped = distortions.crop_images(pixels, cifar10_input.crop_size(layout))
  logits = cifar10.inference(
    cropped, len(data.classes), top_layers=config.top_layers
  )
  tf.identity(cifar10.softmax(logits), 'probabilities')
  number = tf.argmax(logits, 1, output_type=tf.int32, name='class')
  classes = tf.constant(data.classes, name='classes')
  tf.gather(classes, number, name='label')


def write_saved_model(frozen, path):
  """Writes a SavedModel, with the tag `serve`.

  Its signatures are `images`, the default one, and `pictures`, each with the
  class, label and probabilities of what goes in; and `classes`, which takes
  nothing.

  Args:
    frozen: tf.GraphDef, from `freeze`.
    path: folder that is not there yet.
  """
  with tf.Graph().as_default() as graph, _session() as session:
    tf.import_graph_def(frozen, name='')

    def infos(names):
      return {
        name: tf.saved_model.build_tensor_info(
          graph.get_tensor_by_name(name + ':0')
        )
        for name in names
      }

    builder = tf.saved_model.Builder(path)
    builder.add_meta_graph_and_variables(
      session,
      [tf.saved_model.SERVING],
      {
        key: tf.saved_model.build_signature_def(
          infos(inputs), infos(outputs), tf.saved_model.PREDICT_METHOD_NAME
        )
        for key, (inputs, outputs) in _SIGNATURES.items()
      },
      strip_default_attrs=True,  # For other versions of TensorFlow.
    )
    builder.save()


def tflite(frozen, data):
  """The model as a TensorFlow Lite file, from images as float32 on.

  Not as uint8: the converter of TensorFlow 1 does not know how to cast it.

  Args:
    frozen: tf.GraphDef, from `freeze`.
    data: dataset.DataSet, which classes and layout the images have.

  Returns:
    The content of the file, bytes.
  """
  layout = data.layout
  with tf.Graph().as_default() as graph:
    shape = [None, layout.height, layout.width, layout.depth]
    outputs = tf.import_graph_def(
      frozen,
      {'pixels:0': tf.placeholder(tf.float32, shape, 'images')},
      [name + ':0' for name in _TFLITE_OUTPUTS],
      name='model',
    )
    for name, output in zip(_TFLITE_OUTPUTS, outputs):
      tf.identity(output, name)
  # Without what decodes pictures, which the converter would look at.
  numbers_only = tf.graph_util.extract_sub_graph(
    graph.as_graph_def(), list(_TFLITE_OUTPUTS)
  )
  with tf.Graph().as_default(), _session() as session:
    images, *outputs = tf.import_graph_def(
      numbers_only,
      return_elements=[name + ':0' for name in ('images',) + _TFLITE_OUTPUTS],
      name='',
    )
    converter = tf.lite.TFLiteConverter.from_session(session, [images], outputs)
    # TensorFlow 1 calls a program for it, which is installed beside Python.
    beside = os.path.dirname(sys.executable)
    os.environ['PATH'] = os.pathsep.join([os.environ['PATH'], beside])
    with log_suppression.stderr_held_back():
      content = io.BytesIO(converter.convert())
  with zipfile.ZipFile(content, 'a') as within:
    within.writestr(_TFLITE_LABELS, '\n'.join(data.classes) + '\n')
  return content.getvalue()
