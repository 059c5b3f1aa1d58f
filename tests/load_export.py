"""Loads exported models with TensorFlow alone, as their users do.

    python load_export.py FOLDER FORMAT=MODEL FORMAT=MODEL ...

Feeds each model the first 100, 7 and 1 of the images in FOLDER/images.npy and
of the pictures FOLDER/*.png. Writes its outputs to FOLDER/FORMAT.npz, by names
such as 'pictures 7 label', and 'classes'. Tests run it in a separate process;
it imports nothing of this project.
"""

import glob
import sys
import zipfile

import numpy as np
import tensorflow as tf

OUTPUTS = ('class', 'label', 'probabilities')


def saved_model(path):
  """Loads a SavedModel in the way of this TensorFlow."""
  keys = ('serving_default', 'images', 'pictures')
  if tf.__version__ < '2':
    session = tf.Session(graph=tf.Graph())
    tf.saved_model.load(session, ['serve'], path)
    return (keys, *run_in(session))
  model = tf.saved_model.load(path)

  def call(signature, batch):
    given = {name_of_input(signature): tf.constant(batch)}
    found = model.signatures[signature](**given)
    return {key: value.numpy() for key, value in found.items()}

  return keys, call, model.signatures['classes']()['classes'].numpy()


def frozen(path):
  """Loads a frozen graph."""
  graph_def = tf.compat.v1.GraphDef()
  with open(path, 'rb') as content:
    graph_def.ParseFromString(content.read())
  graph = tf.Graph()
  with graph.as_default():
    tf.import_graph_def(graph_def, name='')
  return (('images', 'pictures'), *run_in(tf.compat.v1.Session(graph=graph)))


def run_in(session):
  """How to call the model in a session, and its classes."""

  def call(signature, batch):
    return session.run({output: output + ':0' for output in OUTPUTS},
                       {name_of_input(signature) + ':0': batch})

  return call, session.run('classes:0')


def name_of_input(signature):
  """The name of the input of a signature."""
  return 'images' if signature == 'serving_default' else signature


def tflite(path):
  """Loads a TensorFlow Lite file; those of TensorFlow 1 take single images."""
  interpreter = tf.lite.Interpreter(path)
  interpreter.allocate_tensors()
  (given,) = interpreter.get_input_details()

  def run(batch):
    interpreter.set_tensor(given['index'], batch)
    interpreter.invoke()
    return {
        output['name']: interpreter.get_tensor(output['index'])
        for output in interpreter.get_output_details()
    }

  def call(_, batch):
    batch = batch.astype(given['dtype'])
    if given.get('shape_signature', given['shape'])[0] == -1:
      interpreter.resize_tensor_input(given['index'], batch.shape)
      interpreter.allocate_tensors()
      return run(batch)
    single = [run(image[np.newaxis]) for image in batch]
    return {
        name: np.concatenate([found[name] for found in single])
        for name in single[0]
    }

  with zipfile.ZipFile(path) as archive:
    classes = archive.read('labels.txt').splitlines()
  return ('images',), call, np.array(classes)


def outputs_of(file_format, path, images, pictures):
  """All outputs of a model: a dict of arrays by name."""
  signatures, call, classes = globals()[file_format](path)
  outputs = {'classes': classes.astype('S')}
  for count in 100, 7, 1:
    for signature in signatures:
      given = pictures if signature == 'pictures' else images
      for name, value in call(signature, given[:count]).items():
        kind = 'S' if value.dtype == object else value.dtype
        outputs['%s %d %s' % (signature, count, name)] = value.astype(kind)
  return outputs


def main(folder, *models):
  """Loads, feeds and saves; see above."""
  images = np.load(folder + '/images.npy')
  pictures = []
  for name in sorted(glob.glob(folder + '/*.png')):
    with open(name, 'rb') as content:
      pictures.append(content.read())
  for model in models:
    file_format, path = model.split('=', 1)
    outputs = outputs_of(file_format, path, images, pictures)
    np.savez('%s/%s.npz' % (folder, file_format), **outputs)
  assert not any(name.split('.')[0] == 'cifar10' for name in sys.modules)


if __name__ == '__main__':
  main(*sys.argv[1:])
