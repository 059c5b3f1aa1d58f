"""Reports on a training run: writes one HTML page that loads nothing else.

    python scripts/report.py /tmp/cifar10_train --out=report.html

The page shows curves from the event files of the trainer and the evaluator. It
also evaluates the newest checkpoint on all test images, and shows the confusion
matrix, the worst mistakes and the filters of conv1. It leaves out what is
missing, and says so. Needs the extra `.[report]`.
"""

import argparse
import os
import sys

import tensorflow.compat.v1 as tf

from cifar10 import config as config_lib
from cifar10.errors import UserError
from cifar10.report import confusion
from cifar10.report import events
from cifar10.report import page
from cifar10.report import starts as starts_lib
from cifar10.settings import Evaluation
from cifar10.settings import Session
from cifar10.training import checkpoints
from cifar10.training import pretrained
from cifar10.training import run_state
from cifar10.util import console
from cifar10.util import files
from cifar10.util import optional_packages
from cifar10.util import paths
from cifar10.util import session_settings

_KERNEL = 'conv1/weights'


def gather(train_dir, eval_dir, data_dir=None):
  """Reads the files of a run, and evaluates its newest checkpoint.

  Args:
    train_dir: the trainer's --train_dir.
    eval_dir: the evaluator's --eval_dir, which need not exist; or None.
    data_dir: folder of the data set; None: the --data_dir of the run.

  Returns:
    page.Run.

  Raises:
    UserError: there are neither event files nor a checkpoint; config.json or
      run_state.json is damaged; or a folder is a file.
  """
  train_dir = paths.check(train_dir, 'train_dir', holds_checkpoints=True)
  for name, path in (('--eval_dir', eval_dir), ('--data_dir', data_dir)):
    paths.check(path or '', name)
  _check_folders(train_dir, eval_dir)
  config, state = config_lib.load(train_dir), run_state.load(train_dir)
  starts = state.starts if state else ()
  found, left_out = events.read_folder(train_dir)
  checkpoint = checkpoints.latest(train_dir)
  if not found and checkpoint is None:
    raise UserError(
      '%s: holds neither event files nor a checkpoint; expected the '
      '--train_dir of a trainer' % train_dir
    )
  left_out += _missing_files(train_dir, config, found)
  evaluations = []
  if eval_dir is not None:
    evaluations, problems = events.read_folder(eval_dir)
    left_out += problems
  begins = [start.time for start in starts[:1]]
  begins += [file.start_time for file in found[:1]]
  since = min(begins, default=0)
  # The trainer's own are those on images that it holds out.
  precisions = events.precisions(evaluations + found, since)
  if not events.precisions(evaluations, since):
    left_out.append(
      'No evaluations of this run%s (--eval_dir): no precision curve.'
      % ('' if eval_dir is None else ' in ' + eval_dir)
    )
  predictions = filters = None
  if checkpoint is None:
    left_out.append(
      'No checkpoint in %s: no predictions, no filters.' % train_dir
    )
  else:
    filters, predictions, problems = _from_checkpoint(
      checkpoint, _prediction_config(config, state, data_dir)
    )
    left_out += problems
  return page.Run(
    name=os.path.basename(os.path.abspath(train_dir)),
    config=config,
    files=found,
    starts=starts,
    durations=starts_lib.durations(
      starts, found, starts_lib.checkpoint_times(train_dir, starts)
    ),
    throughput=events.throughput(found, state.stretches) if state else [],
    precisions=precisions,
    predictions=predictions,
    filters=filters,
    left_out=left_out,
  )


def _check_folders(train_dir, eval_dir):
  """Checks that neither of the two is a file."""
  for name, path in (('train_dir', train_dir), ('--eval_dir', eval_dir)):
    if path is not None and os.path.exists(path) and not os.path.isdir(path):
      raise UserError('%s: %s is not a folder' % (name, path))


def _from_checkpoint(checkpoint, config):
  """What a checkpoint has to show.

  Args:
    checkpoint: path of the checkpoint.
    config: config.Config for predicting the test images.

  Returns:
    The filters, see `_read_filters`; confusion.TestPredictions; None for what
    cannot be had; and a list of lines that say why.
  """
  filters, predictions, problems = None, None, []
  try:
    filters = _read_filters(checkpoint)
  except UserError as error:
    problems.append('No filters: %s' % error)
  try:
    predictions = confusion.predict_test_images(checkpoint, config)
  except (UserError, OSError) as error:
    problems.append('No predictions for the test images: %s' % error)
  return filters, predictions, problems


def _missing_files(train_dir, config, found):
  """Lines on missing files of the trainer, and what they cause."""
  lines = []
  if config is None:
    lines.append('No config.json in %s: no settings.' % train_dir)
  if not found:
    lines.append(
      'No event files in %s: no loss, learning rate, throughput.' % train_dir
    )
  return lines


def _prediction_config(config, state, data_dir):
  """The Config for predicting the test images of a run, in float32."""
  config = config or config_lib.Config()
  return config.replace(
    precision='float32',
    data_dir=data_dir or config.data.data_dir,
    **run_state.trained_on(state, config.data),
  )


def _read_filters(checkpoint):
  """The weights of conv1, averaged if the checkpoint has averages.

  Args:
    checkpoint: path of the checkpoint.

  Returns:
    float32 array, [height, width, depth, filters].

  Raises:
    UserError: the checkpoint cannot be read or holds no such weights.
  """
  shapes = checkpoints.shapes(checkpoint)
  name = checkpoints.averaged(_KERNEL, shapes)
  checkpoints.check_fits(checkpoint, {name: shapes.get(name)})
  return tf.train.load_variable(checkpoint, name)


def check_out(path):
  """Checks that `path` is a new file or an older report.

  Raises:
    UserError: `path` is something else, or its folder does not exist.
    OSError: `path` cannot be read.
  """
  if not os.path.isdir(os.path.dirname(path) or '.'):
    raise UserError('--out=%s: there is no such folder' % path)
  if os.path.exists(path):
    with files.open_regular(path) as file:
      if page.MARK.encode('utf-8') not in file.read(1000):
        raise UserError('--out=%s: is not a report; expected a new file' % path)


def write(args):
  """Writes the page that the flags ask for.

  Args:
    args: argparse.Namespace with train_dir, out, eval_dir and data_dir.

  Raises:
    UserError: a package or the run is missing, or `out` cannot be overwritten.
    OSError: a file cannot be read or written.
  """
  for package, name in (('jinja2', 'Jinja2'), ('matplotlib', 'matplotlib')):
    optional_packages.need(package, 'report', 'a report needs %s' % name)
  check_out(args.out)
  session_settings.start_threads(Session())
  train_dir = pretrained.directory(args.train_dir, 'train_dir')
  # Evaluations of a model of the package do not tell when it was trained.
  usual = Evaluation.eval_dir if train_dir == args.train_dir else None
  run = gather(train_dir, args.eval_dir or usual, args.data_dir)
  files.write_atomically(args.out, page.render(run).encode('utf-8'))
  for line in run.left_out:
    print(line)
  print('%s is written.' % args.out)


def main():
  """The console command."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    'train_dir',
    help="the trainer's --train_dir, or a model of the package such as "
    'pretrained:fast',
  )
  parser.add_argument(
    '--out',
    default='report.html',
    help='the HTML file to write (default: %(default)s)',
  )
  parser.add_argument(
    '--eval_dir',
    help="the evaluator's --eval_dir (default: %s; none for a model of the "
    'package)' % Evaluation.eval_dir,
  )
  parser.add_argument(
    '--data_dir', help="folder of the data set (default: the run's --data_dir)"
  )
  console.open_streams()
  args = parser.parse_args()
  sys.exit(console.guarded(lambda: write(args)))


if __name__ == '__main__':
  main()
