"""Labels pictures with a trained CIFAR-10 model.

    python cifar10_predict.py cat.jpg holidays/      files and whole folders
    python cifar10_predict.py - < cat.jpg            standard input
    python cifar10_predict.py --grid=sheet.png *.png a picture of the answers

Takes pictures of any size, in the formats that Pillow reads, and prints a line
for each. --checkpoint_dir names the model: a run, or an export of
cifar10_export. Give it several times, for several runs, to average the
probabilities of their networks.
"""

import contextlib
import json
import os
import sys

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import flags
from cifar10.data import pictures
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.infer import contact_sheet
from cifar10.infer import ensemble
from cifar10.infer import predictions
import numpy as np

GROUPS = ('data', 'input', 'model', 'checkpoint', 'ensemble', 'inference',
          'answers', 'prediction', 'session')

_TOP_K = 3  # How many classes to print, unless --top_k says otherwise.


def predict(settings, names):
  """Labels pictures and prints their classes.

  `names` are files, folders, and `-` for standard input. Raises UserError if
  there is no picture or model, they are unusable, the sheet cannot be written,
  or, after all others are labeled, some pictures are damaged.
  """
  pictures.need_pillow()
  paths, labeled = pictures.find(names), []
  if settings.grid:
    contact_sheet.check(settings.grid, len(paths))
  with contextlib.redirect_stdout(sys.stderr):  # Answers go to stdout.
    load = ensemble.load if settings.networks else predictions.load
    predictor = load(settings)
  with contextlib.closing(predictor):
    for batch in records.batches(paths, settings.batch_size):
      labeled += _label(batch, predictor, settings)
  if settings.grid:
    contact_sheet.write(settings.grid, labeled)
  num_damaged = len(paths) - len(labeled)
  if num_damaged:
    raise UserError(f'{num_damaged} of {len(paths)} pictures could not be read')


def _label(paths, predictor, settings):
  """Labels a batch of pictures; returns their entries for a contact sheet.

  Pictures that cannot be read have none.
  """
  layout, classes = predictor.layout, predictor.classes
  read, batch, entries = [], [], []
  for path in paths:
    try:
      picture = pictures.read(path)
    except UserError as error:
      print(error, file=sys.stderr)
      continue
    # Only a small copy is kept: photographs are large, and may be many.
    small = settings.grid and pictures.fit(picture, contact_sheet.PICTURE_SIZE,
                                           3)
    read.append((path, small))
    image = pictures.fit(picture, layout.height, layout.depth)
    batch.append(records.encode(image, layout))
  if not read:
    return []
  answers = predictor.probabilities(np.stack(batch))
  for (path, small), probabilities in zip(read, answers):
    if not np.isfinite(probabilities).all():
      raise UserError(f'{path}: the model computes no finite probabilities')
    ranked = np.argsort(-probabilities, kind='stable')
    lines = [
        f'{classes[k]} {100 * probabilities[k]:.1f} %'
        for k in ranked[:settings.top_k or _TOP_K]
    ]
    if settings.json:
      values = {
          'file': path,
          'class': classes[probabilities.argmax()],
          'probabilities': dict(zip(classes, probabilities.tolist()))
      }
      print(json.dumps(values))
    else:
      print(printable(f'{path}: {", ".join(lines)}'))
    entries.append((small, lines + [os.path.basename(path)]))
  return entries


def main():
  """The console command."""
  flags.run(predict, GROUPS, __doc__, takes_arguments=True, has_model=True)


if __name__ == '__main__':
  main()
