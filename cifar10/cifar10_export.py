"""Exports the trained CIFAR-10 model, to be used without this program.

    python cifar10_export.py                         a SavedModel
    python cifar10_export.py --tflite=cifar10.tflite --frozen_graph=cifar10.pb
                                                     and these files

The exported model takes images, or PNG, JPEG, BMP and GIF files, and returns
the class and the probability of each class.
"""

import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cli
from cifar10 import config as config_lib
from cifar10.errors import UserError
from cifar10.serving import export as export_lib
from cifar10.serving import restore
from cifar10.training import checkpoints
from cifar10.util import files

GROUPS = ('data', 'model', 'checkpoint', 'export')

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


def export(config):
  """Writes the model of a checkpoint in each format that `config` asks for.

  Args:
    config: config.Config.

  Raises:
    UserError: there is no such checkpoint, it is of another model, or one of
      the targets exists already. Then nothing is written.
  """
  targets = config.export
  _check_targets(targets)
  checkpoint = checkpoints.find(config.run_dir, targets.checkpoint)
  step = checkpoints.step(checkpoint)
  data = restore.describe(config.data, config_lib.Data.data_dir)
  frozen = export_lib.freeze(data, checkpoint, config)
  contents = {}  # All of it before the first file is written.
  if targets.tflite:
    contents[targets.tflite] = export_lib.tflite(frozen, data, config.session)
  if targets.frozen_graph:
    contents[targets.frozen_graph] = frozen.SerializeToString()
  if targets.export_dir:
    _make_parent(targets.export_dir)
    with files.new_folder(targets.export_dir) as folder:
      export_lib.write_saved_model(frozen, folder, config.session)
  for path, content in contents.items():
    _make_parent(path)
    files.write_atomically(path, content)
  print(
    'Step %d, from %s. %d classes: %s.'
    % (step, checkpoint, len(data.classes), ', '.join(data.classes))
  )
  shape = '[n, %d, %d, %d]' % data.layout[:3]
  for flag, report in _REPORTS.items():
    path = getattr(targets, flag)
    if path:
      print(report.format(path=path, shape=shape))


def _check_targets(targets):
  """Checks that no two targets are the same, and that none exists yet."""
  taken = {}
  for flag in _REPORTS:
    path = getattr(targets, flag)
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
  cli.run(export, GROUPS, __doc__)


if __name__ == '__main__':
  main()
