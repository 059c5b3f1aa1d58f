"""Freezes a trained model into one graph, and writes it in several formats.

The graph has these named nodes. Feed either `images` or `pictures`:

    images         uint8 [n, height, width, depth]; another size is an error
    pictures       string [n], the contents of PNG, JPEG, BMP or GIF files
    standardized   float32 [n, size, size, depth], what the network sees
    class          int32 [n], the most probable class
    label          string [n], the name of that class
    probabilities  float32 [n, classes]
    classes        string [classes], the names of all classes
"""

import io
import os
import sys
import warnings
import zipfile

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.infer import inference_graph
from cifar10.infer import picture_ops
from cifar10.util import log_suppression
from cifar10.util import session_settings

_OUTPUTS = ('class', 'label', 'probabilities')

# The inputs and outputs of each signature of a SavedModel; `images` is also the
# default.
_SIGNATURES = {
    tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: (('images',), _OUTPUTS),
    'images': (('images',), _OUTPUTS),
    'pictures': (('pictures',), _OUTPUTS),
    'classes': ((), ('classes',))
}

# The tensors of a TensorFlow Lite model are numeric. It keeps the names of the
# classes in an associated file, appended as a zip archive; the format defines
# the name of that file.
_TFLITE_OUTPUTS = ('class', 'probabilities')
_TFLITE_LABELS = 'labels.txt'


def freeze(data, checkpoint, settings):
  """Builds the model and turns the variables of a checkpoint into constants.

  Returns a tf.GraphDef with the nodes above, which computes in float32. Raises
  UserError if the checkpoint cannot be read or belongs to another model.
  """
  with tf.Graph().as_default() as graph, _session(settings) as session:
    model = _build(data, settings)
    saver = model.savers.choose(checkpoint, settings.use_moving_averages)
    saver.restore(session, checkpoint)
    frozen = tf.graph_util.convert_variables_to_constants(
        session, graph.as_graph_def(), [*_OUTPUTS, 'classes'])
    of_model = _probabilities(session)
  for node in frozen.node:
    node.device = ''  # The variables were pinned to the CPU.
  _check(of_model, frozen, settings, 'frozen graph')
  return frozen


def _probabilities(session):
  """The probabilities in the graph of a session for an image of noise."""
  images = session.graph.get_tensor_by_name('images:0')
  return session.run('probabilities:0', {images: _noise(images.shape[1:])})


def _noise(shape):
  """An image for all exports to be compared on: uint8, [1, *shape]."""
  return np.random.RandomState(0).randint(0, 256, [1, *shape]).astype(np.uint8)


def _check(found, frozen, settings, name):
  """Raises UserError unless a frozen graph has the probabilities `found`."""
  with tf.Graph().as_default(), _session(settings) as session:
    tf.import_graph_def(frozen, name='')
    expected = _probabilities(session)
  if not np.allclose(found, expected, rtol=1e-2, atol=1e-4, equal_nan=True):
    difference = np.abs(found - expected).max()
    raise UserError(
        f'{name}: TensorFlow {tf.__version__} exports this model wrongly: '
        f'probabilities of an image differ by {difference:.2g}; expected those '
        'of the checkpoint')


def _session(settings):
  """A session on the CPU: it takes no GPU memory from a trainer."""
  return tf.Session(config=session_settings.config_proto(settings, False))


def _build(data, settings):
  """Builds the nodes above in the default graph; returns the InferenceGraph."""
  pictures = tf.placeholder(tf.string, [None], 'pictures')
  decoded = picture_ops.decode(pictures, data.layout)
  images = tf.placeholder_with_default(decoded, decoded.shape, 'images')
  # Callers may feed any size: the shape of a placeholder is not checked when
  # the graph is called as a function.
  checked = tf.ensure_shape(images, images.shape, 'images_of_right_size')
  pixels = tf.cast(checked, tf.float32, 'pixels')
  size = cifar10_input.crop_size(data.layout, settings.image_size)
  cropped = distortions.central_crop_of_images(pixels, size,
                                               settings.standardization)
  standardized = tf.identity(cropped, 'standardized')
  model = inference_graph.build(standardized, data, settings, portable=True)
  tf.identity(model.probabilities, 'probabilities')
  number = tf.argmax(model.logits, 1, output_type=tf.int32, name='class')
  classes = tf.constant(data.classes, name='classes')
  tf.gather(classes, number, name='label')
  return model


def write_saved_model(frozen, path, settings):
  """Writes a SavedModel with the tag `serve`.

  Takes a graph from `freeze` and a new or empty folder. Raises
  tf.errors.OpError if a file cannot be written, UserError if what was written
  computes something else.
  """
  with tf.Graph().as_default() as graph, _session(settings) as session:
    tf.import_graph_def(frozen, name='')

    def infos(names):
      tensors = (graph.get_tensor_by_name(name + ':0') for name in names)
      return dict(zip(names, map(tf.saved_model.build_tensor_info, tensors)))

    signatures = {
        key: tf.saved_model.build_signature_def(
            infos(inputs), infos(outputs), tf.saved_model.PREDICT_METHOD_NAME)
        for key, (inputs, outputs) in _SIGNATURES.items()
    }
    builder = tf.saved_model.Builder(path)
    # Older versions of TensorFlow 2 load it without default attributes.
    builder.add_meta_graph_and_variables(session, [tf.saved_model.SERVING],
                                         signatures, strip_default_attrs=True)
    builder.save()
  with tf.Graph().as_default(), _session(settings) as session:
    tf.saved_model.loader.load(session, [tf.saved_model.SERVING], path)
    found = _probabilities(session)
  _check(found, frozen, settings, 'SavedModel')


def tflite(frozen, data, settings):
  """Converts a graph from `freeze` to the content of a .tflite file, bytes.

  Its input `images` is float32: the converter of TensorFlow 1 cannot cast
  uint8. Raises UserError if the converter fails, or the file cannot be loaded
  or computes something else.
  """
  with tf.Graph().as_default() as graph:
    images = tf.placeholder(tf.float32, [None, *data.layout[:3]], 'images')
    outputs = tf.import_graph_def(frozen, {'pixels:0': images},
                                  [name + ':0' for name in _TFLITE_OUTPUTS],
                                  name='model')
    outputs = [*map(tf.identity, outputs, _TFLITE_OUTPUTS)]
    # The converter would try to convert operations that decode pictures, too.
    numbers_only = tf.graph_util.extract_sub_graph(graph.as_graph_def(),
                                                   list(_TFLITE_OUTPUTS))
    converter = tf.lite.TFLiteConverter(numbers_only, [images], outputs)
  content, found = _converted(converter, settings.tflite)
  _check(found, frozen, settings, f'--tflite={settings.tflite}')
  with_labels = io.BytesIO(content)
  with zipfile.ZipFile(with_labels, 'a') as archive:
    archive.writestr(_TFLITE_LABELS, '\n'.join(data.classes) + '\n')
  return with_labels.getvalue()


def _converted(converter, path):
  """The content of a .tflite file; the probabilities it has for `_noise`."""
  # TensorFlow 1 runs a script, installed next to Python, to convert a model.
  os.environ['PATH'] = os.pathsep.join(
      [os.environ.get('PATH') or os.defpath,
       os.path.dirname(sys.executable)])
  with log_suppression.stderr_held_back():
    try:
      content = converter.convert()
      with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # TensorFlow 2 calls it deprecated.
        interpreter = tf.lite.Interpreter(model_content=content)
      interpreter.allocate_tensors()
      (given,) = interpreter.get_input_details()
      noise = _noise(given['shape'][1:])
      interpreter.set_tensor(given['index'], noise.astype(np.float32))
      interpreter.invoke()
      (found,) = (interpreter.get_tensor(output['index'])
                  for output in interpreter.get_output_details()
                  if output['name'] == 'probabilities')
      return content, found
    except OSError:  # Such as a full disk.
      raise
    # Of many types and lines; the last one ends with the operation.
    except Exception as error:
      problem = error
  reason = str(problem).strip().splitlines() or [type(problem).__name__]
  raise UserError(
      f'--tflite={path}: TensorFlow {tf.__version__} cannot convert this '
      f'model: {reason[-1].split(". ")[-1]}') from problem
