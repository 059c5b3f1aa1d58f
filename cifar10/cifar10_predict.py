"""Labels pictures with a trained CIFAR-10 model.

    python cifar10_predict.py cat.jpg holidays/      files and whole folders
    python cifar10_predict.py - < cat.jpg            standard input
    python cifar10_predict.py --grid=sheet.png *.png a picture of the answers

Takes PNG, JPEG, BMP and GIF of any size, and prints a line for each.
"""

import contextlib
import json
import os
import sys
from typing import Any, NamedTuple

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10.training import checkpoints
from cifar10 import cifar10
from cifar10 import cifar10_input
from cifar10 import cli
from cifar10.serving import contact_sheet
from cifar10.data import distortions
from cifar10.data import pictures
from cifar10.serving import restore
from cifar10.util import session_settings
from cifar10.errors import UserError
import numpy as np
import tensorflow.compat.v1 as tf

_FLAGS = cli.MODEL_FLAGS + (
  'top_k',
  'json',
  'grid',
  'batch_size',
  'eval_device',
  'intra_op_threads',
  'inter_op_threads',
  'gpu_memory_fraction',
  'log_device_placement',
)


class PredictGraph(NamedTuple):
  """Handles of the graph that labels pictures.

  Attributes:
    records: uint8 placeholder, [batch, layout.record_bytes]; labels are not
      looked at.
    probabilities: float32 tensor, [batch, classes].
    restorations: restore.Restorations of the variables.
  """

  records: Any
  probabilities: Any
  restorations: restore.Restorations


def predict(config, names):
  """Labels pictures and prints what they are.

  Args:
    config: Config.
    names: list of files, folders, and `-` for standard input.

  Raises:
    UserError: there is no picture or no checkpoint, or the checkpoint is of
      another model; or, when all others are labelled, some are damaged.
  """
  pictures.need_pillow()
  paths = pictures.find(names)
  checkpoint = checkpoints.find(config.checkpoint_dir)
  data = restore.describe(config)
  sheet = None
  if config.grid:
    shown = min(config.top_k, len(data.classes))
    sheet = contact_sheet.ContactSheet(config.grid, len(paths), shown + 1)
  use_gpu = config.eval_device == 'gpu'
  with tf.Graph().as_default():
    graph = build(data, config)
    with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
      scaffold = restore.fitting_scaffold(
        graph.restorations, checkpoint, config
      )
    with tf.Session(config=session_settings.config_proto(config, use_gpu)) as session:
      scaffold.saver.restore(session, checkpoint)
      labelled = 0
      for start in range(0, len(paths), config.batch_size):
        batch = paths[start : start + config.batch_size]
        labelled += _label(batch, graph, session, data, config, sheet)
  if sheet is not None:
    sheet.write()
  if labelled < len(paths):
    raise UserError(
      '%d of %d pictures could not be read'
      % (len(paths) - labelled, len(paths))
    )


def build(data, config):
  """Builds the graph that labels pictures in the default graph.

  Args:
    data: dataset.DataSet that the model was trained on.
    config: Config.

  Returns:
    PredictGraph.
  """
  layout = data.layout
  records = tf.placeholder(tf.uint8, [None, layout.record_bytes])
  with tf.device('/cpu:0'):
    images = distortions.central_crop(
      records, layout, cifar10_input.crop_size(layout)
    )
  logits = cifar10.inference(
    images, len(data.classes), config.precision, config.top_layers
  )
  return PredictGraph(
    records=records,
    probabilities=cifar10.softmax(logits),
    restorations=restore.build(config),
  )


def _label(paths, graph, session, data, config, sheet):
  """Labels a batch of pictures; returns how many could be read."""
  read, records = [], []
  for path in paths:
    try:
      picture = pictures.read(path)
    except UserError as error:
      print(error, file=sys.stderr)
      continue
    # Not kept as it is: photographs are large, and there may be many.
    small = pictures.fit(picture, contact_sheet.PICTURE, 3) if sheet else None
    read.append((path, small))
    image = pictures.fit(picture, data.layout.height, data.layout.depth)
    records.append(pictures.record(image, data.layout))
  if not read:
    return 0
  answers = session.run(graph.probabilities, {graph.records: np.stack(records)})
  for (path, small), probabilities in zip(read, answers):
    likeliest = [
      '%s %.1f %%' % (data.classes[k], 100 * probabilities[k])
      for k in np.argsort(-probabilities, kind='stable')[: config.top_k]
    ]
    if config.json:
      print(_as_json(path, data.classes, probabilities))
    else:
      print('%s: %s' % (path, ', '.join(likeliest)))
    if sheet:
      sheet.add(small, likeliest + [os.path.basename(path)])
  return len(read)


def _as_json(path, classes, probabilities):
  return json.dumps(
    {
      'file': path,
      'class': classes[probabilities.argmax()],
      'probabilities': dict(zip(classes, probabilities.tolist())),
    }
  )


def main():
  """The console command."""
  cli.run(predict, _FLAGS, __doc__, takes_arguments=True)


if __name__ == '__main__':
  main()
