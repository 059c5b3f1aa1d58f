"""Exports the trained CIFAR-10 model, to be used without this program.

    python cifar10_export.py                    a SavedModel
    python cifar10_export.py --tflite=cifar10.tflite --frozen_graph=cifar10.pb
                                                these files instead
    python cifar10_export.py --html=model.html  a page to look inside it

The exported model takes images, or PNG, JPEG, BMP and GIF files, and returns
the class and the probability of each class.
"""

import dataclasses
import os
from shlex import quote
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import flags
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.infer import export as export_lib
from cifar10.infer import model_page
from cifar10.infer import restore
from cifar10.store import checkpoints
from cifar10.util import console
from cifar10.util import files
from cifar10.util import paths
import tensorflow.compat.v1 as tf

GROUPS = ('data', 'model', 'checkpoint', 'export')

_EXPORT_DIR = '/tmp/cifar10_export'  # If no target is named.

# How to load a SavedModel and a TensorFlow Lite file; for the latter,
# TensorFlow 2 refers to a package of its own.
_LOADER = """session = tf.Session()
  tf.saved_model.load(session, ['serve'], {path!r})
  session.run(['label:0', 'probabilities:0'],
              {{'pictures:0': [content_of_file]}})"""
_INTERPRETER = 'interpreter = tf.lite.Interpreter'
if tf.__version__ >= '2':
  _LOADER = """model = tf.saved_model.load({path!r})
  model.signatures['pictures'](pictures=tf.constant([content_of_file]))"""
  _INTERPRETER = """pip install ai-edge-litert
  from ai_edge_litert.interpreter import Interpreter
  interpreter = Interpreter"""

# By flag, the report on the file it names: its contents and how to load it.
_REPORTS = {
    'export_dir': """SavedModel: {name}, with the signatures
  images, serving_default: images uint8 {shape} -> class, label, probabilities
  pictures: pictures string [n] -> class, label, probabilities
  classes: nothing -> classes
To load it: """ + _LOADER,
    'tflite': """TensorFlow Lite: {name},
  images float32 {shape}, 0 to 255 -> class, probabilities
To load it: {interpreter}({path!r})
Its classes: unzip -p {shell} labels.txt""",
    'frozen_graph': """Frozen graph: {name},
  images uint8 {shape} or pictures string [n]
  -> class, label, probabilities; classes
To load it: graph_def.ParseFromString(open({path!r}, 'rb').read())
  tf.import_graph_def(graph_def, name='')""",
    'html': """Web page: {name}
To look inside the model: open it in a browser"""
}


def export(settings):
  """Writes the model of a checkpoint in each format that is asked for.

  Raises UserError, before anything is written, if there is no such checkpoint,
  it is of another model, or a target exists already; also if the SavedModel
  cannot be written.
  """
  if not any(settings.values(_REPORTS).values()):
    paths.refuse_of_another(_EXPORT_DIR, '--export_dir')
    settings = dataclasses.replace(settings, export_dir=_EXPORT_DIR)
  _check_targets(settings)
  checkpoint = checkpoints.find(settings.run_dir, settings.checkpoint)
  step = checkpoints.step(checkpoint)
  data = restore.describe_data(settings)
  frozen = export_lib.freeze(data, checkpoint, settings)
  contents = {}  # By path, complete before the first file is written.
  if settings.tflite:
    with files.naming(settings.tflite):  # TensorFlow 1 converts through files.
      contents[settings.tflite] = export_lib.tflite(frozen, data, settings)
  if settings.frozen_graph:
    contents[settings.frozen_graph] = frozen.SerializeToString()
  if settings.html:
    contents[settings.html] = model_page.render(frozen, data, step, settings)
  if settings.export_dir:
    path = settings.export_dir
    with console.naming(f'{path}: cannot be written'):
      with files.new_folder(path) as folder:
        export_lib.write_saved_model(frozen, folder, settings)
  for path, content in contents.items():
    with files.folders_around(path):
      files.write_atomically(path, content)
  summary = (f'Step {step}, from {checkpoint}. {len(data.classes)} classes: '
             f'{", ".join(data.classes)}.')
  print(printable(summary))
  shape = '[n, %d, %d, %d]' % data.layout[:3]
  for flag, report in _REPORTS.items():
    path = getattr(settings, flag)
    if path:
      names = {'name': printable(path), 'path': path, 'shell': quote(path)}
      print(report.format(shape=shape, interpreter=_INTERPRETER, **names))


def _check_targets(settings):
  """Raises UserError unless all targets are new and apart."""
  targets = {n: path for n, path in settings.values(_REPORTS).items() if path}
  for name, path in targets.items():
    if name == 'export_dir':
      paths.refuse_taken(path, '--export_dir')
    elif os.path.lexists(path):
      raise UserError(f'--{name}={path}: already exists; expected a new file')
    elif path.endswith('/'):
      raise UserError(f'--{name}={path}: ends with /; expected a new file')
  places = sorted(os.path.abspath(path) + '/' for path in targets.values())
  if any(b.startswith(a) for a, b in zip(places, places[1:])):
    flags_given = ' '.join(f'--{name}={path}' for name, path in targets.items())
    raise UserError(f'{flags_given}: two are the same, or one is inside the '
                    'other; expected different ones')


def main():
  """The console command."""
  console.exit_on_signals()
  flags.run(export, GROUPS, __doc__, has_model=True)


if __name__ == '__main__':
  main()
