"""A trained model as one web page, which computes it in the browser.

The page is model_page.html with a style, two scripts and the model inside.
model_engine.js runs the operations between the standardized image and the
probabilities, which the model lists in JSON, and model_page.js shows them. What
does not depend on the image is computed here. Weights are stored as float16.

The page's content security policy forbids it to load or send anything.
"""

import base64
import hashlib
import json
import os
import string

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_input
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.util import session_settings

_HERE = os.path.dirname(os.path.abspath(__file__))
_MAX_SAMPLES = 20  # Of as many classes, one each.
_WEIGHTS = np.float16  # The type of stored arrays, half the size of float32.

_UNARY = ('Abs', 'Elu', 'Erf', 'Exp', 'Relu', 'Selu', 'Sigmoid', 'Square',
          'Tanh')
_BINARY = ('Add', 'AddV2', 'BiasAdd', 'Maximum', 'Minimum', 'Mul', 'Pow',
           'RealDiv', 'Sub')
_WITH_WEIGHTS = ('Conv2D', 'MatMul')
_RESHAPING = ('ExpandDims', 'Identity', 'Reshape', 'Squeeze')

# The operations of the script, and the attributes that it needs.
_ATTRIBUTES = {
    **dict.fromkeys(_UNARY + _BINARY + _WITH_WEIGHTS + _RESHAPING, ()),
    **dict.fromkeys(('ConcatV2', 'Mean', 'Softmax'), ()),
    **dict.fromkeys(('AvgPool', 'MaxPool'), ('ksize', 'strides', 'padding'))
}
_ATTRIBUTES.update(Conv2D=('strides', 'padding'), LeakyRelu=('alpha',),
                   LRN=('depth_radius', 'bias', 'alpha', 'beta'))

# What the script assumes where TensorFlow has a choice.
_ASSUMED = {
    'data_format': (b'NHWC',),
    'dilations': ([1, 1, 1, 1],),
    'padding': (b'SAME', b'VALID'),
    'transpose_a': (False,),
    'transpose_b': (False,)
}


def render(frozen, data, step, settings):
  """The page of a graph from `export.freeze`: bytes of HTML.

  Raises UserError if the page cannot compute an operation of the graph.
  """
  model = _model(frozen, data, step, settings)
  parts = {
      'style': _read('model_page.css'),
      'engine': _read('model_engine.js'),
      'script': _read('model_page.js')
  }
  hashes = {f'{name}_hash': _hash(text) for name, text in parts.items()}
  # Names of classes may hold anything, such as the end of a script.
  parts['model'] = json.dumps(model).replace('<', '\\u003c')
  page = string.Template(_read('model_page.html'))
  return page.substitute(**parts, **hashes).encode('utf-8')


def _read(name):
  with open(os.path.join(_HERE, name), encoding='utf-8') as file:
    return file.read()


def _hash(text):
  """The name that a content security policy has for a style or script."""
  digest = hashlib.sha256(text.encode('utf-8')).digest()
  return f"'sha256-{base64.b64encode(digest).decode()}'"


def _model(frozen, data, step, settings):
  """The dict that the script reads."""
  depth = data.layout.depth
  crop = cifar10_input.crop_size(data.layout, settings.image_size)
  operations, constants = _operations(frozen, [crop, crop, depth], settings)
  fixed = None  # Each image has its own mean and deviation.
  if settings.standardization == 'fixed':
    fixed = distortions.fixed_standardization(depth).tolist()
  return {
      'name': os.path.basename(os.path.abspath(settings.run_dir)),
      'step': int(step),
      'classes': data.classes,
      'size': data.layout.height,
      'depth': depth,
      'crop': crop,
      'standardization': fixed,
      'samples': _samples(data),
      'constants': constants,
      'operations': operations
  }


def _samples(data):
  """A test image of each class, if there are any on this machine."""
  if (data.classes, data.layout) == (datasets.CLASSES, records_lib.Layout()):
    data = datasets.in_folder(datasets.SAMPLE_FOLDER)
  if not all(map(os.path.isfile, data.test_files)):
    return []
  records = data.test_records()
  labels, first = np.unique(records_lib.labels(records, data.layout),
                            return_index=True)
  images = records_lib.images(records[first[:_MAX_SAMPLES]], data.layout)
  return [{
      'label': int(label),
      'pixels': _base64(image)
  } for label, image in zip(labels, images)]


def _operations(frozen, shape, settings):
  """The operations from the standardized image to the probabilities.

  The inputs of an operation are numbers: 0 is the image, i + 1 the output of
  operation i, and -1 - i constant i. Returns the operations and the constants,
  two lists of dicts.
  """
  proto = session_settings.config_proto(settings, use_gpu=False)
  with tf.Graph().as_default(), tf.Session(config=proto) as session:
    image = tf.placeholder(tf.float32, [1, *shape], 'image_of_the_page')
    (output,) = tf.import_graph_def(frozen, {'standardized:0': image},
                                    ['probabilities:0'], name='')
    distances = _distances(image.op, output.op.inputs[0].op)  # The softmax.
    numbers, constants, operations = {image.op: 0}, {}, []

    def number(tensor):
      if tensor.op in numbers:
        return numbers[tensor.op]
      return -1 - constants.setdefault(tensor.name, len(constants))

    # By distance: columns of a layer are side by side.
    for op in sorted(filter(distances.get, distances), key=distances.get)[1:]:
      inputs = _inputs(op, distances, settings)
      operation = {
          'kind': op.type,
          'name': op.name,
          'inputs': [number(tensor) for tensor in inputs],
          'shape': op.outputs[0].shape.as_list()[1:]
      }
      for name in _ATTRIBUTES[op.type]:
        value = op.get_attr(name)
        operation[name] = value.decode() if name == 'padding' else value
      operations.append(operation)
      numbers[op] = len(operations)
    values = session.run(list(constants))
  return operations, [*map(_constant, values)]


def _distances(image, output):
  """The operations that `output` depends on, and how far they are from `image`.

  A dict: the number of operations on the longest path; 0 for what does not
  depend on the image.
  """
  distances = {image: 1}

  def find(op):
    if op not in distances:
      before = [find(tensor.op) for tensor in op.inputs]
      distances[op] = 1 + max(before) if any(before) else 0
    return distances[op]

  find(output)
  return distances


def _inputs(op, distances, settings):
  """The inputs of an operation, without axes and shapes.

  Raises UserError unless the script computes the operation.
  """
  inputs, (output, *others) = list(op.inputs), op.outputs
  is_known = op.type in _ATTRIBUTES and not others
  for name in set(_ASSUMED).intersection(op.node_def.attr):
    is_known &= op.get_attr(name) in _ASSUMED[name]
  if op.type in _WITH_WEIGHTS:
    is_known &= not distances[inputs[1].op]
  elif op.type in _RESHAPING:
    del inputs[1:]
  elif op.type == 'Mean':
    is_known &= _axes(inputs.pop()) == [1, 2]
  elif op.type == 'ConcatV2':
    is_known &= _axes(inputs.pop()) in ([-1], [output.shape.rank - 1])
  elif op.type in _BINARY:  # The script repeats the shorter input.
    whole = _without_ones(output)
    for given in map(_without_ones, inputs):
      is_known &= given == whole[len(whole) - len(given):]
  if not is_known:
    raise UserError(
        f'--html={settings.html}: the page cannot compute {op.name}, of type '
        f'{op.type}; expected {", ".join(sorted(_ATTRIBUTES))}, as networks of '
        'this project use them')
  return inputs


def _axes(tensor):
  return np.ravel(tf.get_static_value(tensor)).tolist()


def _without_ones(tensor):
  """The shape of a tensor without ones at its beginning, such as the batch."""
  shape = tensor.shape.as_list()
  while shape[:1] == [1]:
    del shape[0]
  return shape


def _constant(value):
  """An array as the script reads it, as float16 if that can hold it."""
  fits = value.size > 1 and np.abs(value).max() < np.finfo(_WEIGHTS).max
  kind = _WEIGHTS if fits else np.float32
  return {
      'shape': value.shape,
      'type': kind.__name__,
      'data': _base64(value.astype(kind))
  }


def _base64(array):
  return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
