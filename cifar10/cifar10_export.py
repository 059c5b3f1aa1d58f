"""Takes the trained CIFAR-10 model away, to be used without this program.

    python cifar10_export.py                         a SavedModel
    python cifar10_export.py --tflite=cifar10.tflite --frozen_graph=cifar10.pb
                                                     and these files

The model takes images as they are, or PNG, JPEG, BMP and GIF files, and gives
the class and the probability of each class.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10.training import checkpoints
from cifar10 import cli
from cifar10.serving import export
from cifar10.util import files
from cifar10.serving import restore
from cifar10.errors import UserError

# What is written, by the flag that says where, and how others load it.
_REPORTS = {
  'export_dir': """SavedModel: {path}, with the signatures
  images, serving_default: images uint8 {shape} -> class, label, probabilities
  pictures: pictures string [n] -> class, label, probabilities
  classes: nothing -> classes
To load it: model = tf.saved_model.load('{path}')
  model.signatures['pictures'](pictures=tf.constant([content_of_file]))""",
  'tflite': """TensorFlow Lite: {path},
  images float32 {shape}, 0 to 255 -> class, probabilities
To load it: interpreter = tf.lite.Interpreter('{path}')
Its classes: unzip -p {path} labels.txt""",
  'frozen_graph': """Frozen graph: {path},
  images uint8 {shape} or pictures string [n]
  -> class, label, probabilities; classes
To load it: graph_def.ParseFromString(open('{path}', 'rb').read())
  tf.import_graph_def(graph_def, name='')""",
}

_FLAGS = cli.MODEL_FLAGS + ('checkpoint',) + tuple(_REPORTS)


def export(config):
  """Writes the model of a checkpoint in each form that `config` asks for.

  Args:
    config: Config.

  Raises:
    UserError: there is no such checkpoint, it is of another model, or what is
      to be written is there already. Nothing is written then.
  """
  _check_targets(config)
  checkpoint = checkpoints.find(config.run_dir, config.checkpoint)
  step = checkpoints.step(checkpoint)
  data = restore.describe(config)
  frozen = export.freeze(data, checkpoint, config)
  contents = {}  # All of it before the first file is written.
  if config.tflite:
    contents[config.tflite] = export.tflite(frozen, data)
  if config.frozen_graph:
    contents[config.frozen_graph] = frozen.SerializeToString()
  if config.export_dir:
    _make_parent(config.export_dir)
    with files.new_folder(config.export_dir) as folder:
      export.write_saved_model(frozen, folder)
  for path, content in contents.items():
    _make_parent(path)
    files.write_atomically(path, content)
  print(
    'Step %d, from %s. %d classes: %s.'
    % (step, checkpoint, len(data.classes), ', '.join(data.classes))
  )
  shape = '[n, %d, %d, %d]' % data.layout[:3]
  for flag, report in _REPORTS.items():
    if getattr(config, flag):
      print(report.format(path=getattr(config, flag), shape=shape))


def _check_targets(config):
  """Checks that no two targets are one, and that none is there already."""
  taken = {}
  for flag in _REPORTS:
    path = getattr(config, flag)
    if not path:
      continue
    if os.path.lexists(path) and not (
      flag == 'export_dir' and _is_empty_folder(path)
    ):
      raise UserError(
        '--%s=%s: is there already; expected a new %s'
        % (flag, path, 'or empty folder' if flag == 'export_dir' else 'file')
      )
    other = taken.setdefault(os.path.abspath(path), flag)
    if other != flag:
      raise UserError('--%s=%s: is --%s as well' % (flag, path, other))
  if not taken:
    raise UserError('--export_dir is empty; expected a folder to write to')


def _is_empty_folder(path):
  """Whether a folder can be put in the place of `path`."""
  return (
    os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)
  )


def _make_parent(path):
  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)


def main():
  """The console command."""
  cli.run(export, _FLAGS, __doc__)


if __name__ == '__main__':
  main()
