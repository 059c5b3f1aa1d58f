"""Reports on a training run: writes one HTML page that loads nothing else.

    cifar10_report /tmp/cifar10_train --out=report.html

The page shows curves from the event files of the trainer and the evaluator. It
also evaluates the newest checkpoint on all test images, and shows the confusion
matrix, the worst mistakes and the filters of conv1. It leaves out what is
missing, and says so. Needs the extra `.[report]`.
"""

import dataclasses
import os

import tensorflow.compat.v1 as tf

from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.tools.report import confusion
from cifar10.tools.report import events
from cifar10.tools.report import page
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import optional_packages
from cifar10.util import paths
from cifar10.util import session_settings


def gather(train_dir, eval_dir, data_dir=None):
  """The page.Content of a run; evaluates its newest checkpoint.

  `eval_dir` may be None, or not exist; without `data_dir` it is that of the
  run. Raises UserError if there are neither event files nor a checkpoint, a
  JSON file is damaged, or a folder is a file.
  """
  train_dir = paths.check(train_dir, 'train_dir', holds_checkpoints=True)
  for name, path in (('train_dir', train_dir), ('--eval_dir', eval_dir),
                     ('--data_dir', data_dir)):
    if path:
      paths.check(path, name)
      if os.path.exists(path) and not os.path.isdir(path):
        raise UserError(f'{name}: {path} is not a folder')
  settings, state = config.load(train_dir), run_state.load(train_dir)
  found, left_out = events.read_folder(train_dir)
  checkpoint = checkpoints.latest(train_dir)
  if not found and checkpoint is None:
    raise UserError(
        f'{train_dir}: holds neither event files nor a checkpoint; expected '
        'the --train_dir of a trainer')
  if settings is None:
    left_out.append(f'No config.json in {train_dir}: no settings.')
  if not found:
    left_out.append(
        f'No event files in {train_dir}: no loss, learning rate, throughput.')
  starts = state.starts if state else ()
  precisions = _precisions(eval_dir, starts, found, left_out)
  filters = predictions = None
  if checkpoint is None:
    left_out.append(
        f'No checkpoint in {train_dir}: no predictions, no filters.')
  else:
    known = settings or Settings()
    given = {'data_dir': data_dir} if data_dir else {}
    known = dataclasses.replace(known, precision='float32', train_dir=train_dir,
                                **given, given=frozenset(given),
                                **run_state.trained_on(state, known))
    filters = _filters(checkpoint, left_out)
    try:
      predictions = confusion.predict_test_images(checkpoint, known)
    except (UserError, OSError) as error:
      left_out.append(f'No predictions for the test images: {error}')
  saved = events.checkpoint_times(train_dir, starts)
  return page.Content(
      name=os.path.basename(os.path.abspath(train_dir)), settings=settings,
      files=found, starts=starts,
      durations=events.durations(starts, found, saved),
      throughput=events.throughput(found, state.stretches) if state else [],
      precisions=precisions, predictions=predictions, filters=filters,
      left_out=left_out)


def _precisions(eval_dir, starts, files, left_out):
  """The `events.precisions`; adds lines on what is missing to `left_out`."""
  evaluations = []
  if eval_dir is not None:
    evaluations, problems = events.read_folder(eval_dir)
    left_out += problems
  begins = [start.time for start in starts[:1]]
  begins += [file.start_time for file in files[:1]]
  since = min(begins, default=0)
  if not events.precisions(evaluations, since):
    where = '' if eval_dir is None else f' in {eval_dir}'
    left_out.append(
        f'No evaluations of this run{where} (--eval_dir): no precision curve.')
  # The trainer's own are those on images that it holds out.
  return events.precisions(evaluations + files, since)


def _filters(checkpoint, left_out):
  """The weights of conv1, averages if there are some.

  float32 [height, width, depth, filters]; or None, and a line in `left_out`.
  """
  try:
    shapes = checkpoints.shapes(checkpoint)
    name = checkpoints.averaged_name('conv1/weights', shapes)
    checkpoints.check_fits(checkpoint, {name: shapes.get(name)})
    return tf.train.load_variable(checkpoint, name)
  except UserError as error:
    left_out.append(f'No filters: {error}')


def check_out(path):
  """Raises UserError unless `path` can be a new file, or is an older report."""
  paths.check(path, '--out')
  if not os.path.isdir(os.path.dirname(path) or '.'):
    raise UserError(f'--out={path}: there is no such folder')
  if os.path.exists(path):
    with files.open_regular(path) as file:
      if page.MARK.encode('utf-8') not in file.read(1000):
        raise UserError(f'--out={path}: is not a report; expected a new file')


def write(args):
  """Writes the page that the flags ask for.

  Raises UserError if a package or the run is missing, or `args.out` cannot be
  overwritten.
  """
  for package, name in (('jinja2', 'Jinja2'), ('matplotlib', 'matplotlib')):
    optional_packages.need(package, 'report', f'a report needs {name}')
  check_out(args.out)
  session_settings.start_threads(Settings())
  train_dir = zoo.directory(args.train_dir, 'train_dir')
  # Evaluations of a model of the package do not tell when it was trained.
  is_run = train_dir == args.train_dir
  usual = paths.eval_dir_for(train_dir) if is_run else None
  # A run that a person names may be another's, with its evaluations.
  is_ours = usual and not files.is_of_another(train_dir)
  if is_ours and files.is_of_another(usual):
    print(f'{usual} belongs to another user: its evaluations are left out.')
    usual = None
  run = gather(train_dir, args.eval_dir or usual, args.data_dir)
  files.write_atomically(args.out, page.render(run).encode('utf-8'))
  print('\n'.join([*run.left_out, f'{args.out} is written.']))


def main():
  """The console command."""
  parser = arguments.Parser(__doc__)
  parser.add_argument(
      'train_dir',
      help="the trainer's --train_dir, or a model of the package such as "
      'pretrained:fast')
  parser.add_argument('--out', default='report.html',
                      help='the HTML file to write')
  parser.add_argument(
      '--eval_dir',
      help=f"the evaluator's --eval_dir (default: {Settings.eval_dir} for "
      f'{Settings.train_dir}, train_dir with _eval at its end for another run; '
      'none for a model of the package)')
  parser.add_argument(
      '--data_dir',
      help="folder of the data set (default: the run's --data_dir)")
  parser.run(write)


if __name__ == '__main__':
  main()
