"""Writes a page about a run: one HTML file that needs nothing else.

    python scripts/report.py /tmp/cifar10_train --out=report.html

Curves from the event files of the trainer and of the evaluator; and from the
newest checkpoint, which is evaluated here on all test images, what is taken for
what, the worst mistakes and the filters of conv1. What is missing is left out,
and the page says so. Needs the extra `.[plot]`.
"""

import argparse
import dataclasses
import os
import sys

from cifar10.training import checkpoints
from cifar10 import config as config_lib
from cifar10.util import files
from cifar10.util import session_settings
from cifar10.errors import UserError
from cifar10.report import confusion
from cifar10.report import charts
from cifar10.report import events
from cifar10.report import page


def gather(train_dir, eval_dir, data_dir=None):
  """Reads what there is of a run, and evaluates its newest checkpoint.

  Args:
    train_dir: the folder that a trainer has written to.
    eval_dir: the folder that the evaluator has written to, or none.
    data_dir: where the data is; None: where the run had it.

  Returns:
    page.Run.

  Raises:
    UserError: there is neither an event nor a checkpoint; or config.json is
      damaged.
  """
  config = config_lib.load(train_dir)
  found = events.read_folder(train_dir)
  checkpoint = checkpoints.latest(train_dir)
  if not found and checkpoint is None:
    raise UserError(
      '%s: holds neither event files nor a checkpoint; expected the '
      '--train_dir of a trainer' % train_dir
    )
  precisions = events.precisions(eval_dir, found[0].begun if found else 0)
  left_out = [
    '%s ends within an event; it is read as far as it goes.' % file.path
    for file in found
    if file.cut_off
  ]
  if config is None:
    left_out.append('No config.json in %s: no settings.' % train_dir)
  if not found:
    left_out.append('No events in %s: no loss, rates, times.' % train_dir)
  if not precisions:
    left_out.append(
      'No evaluations of this run in %s (--eval_dir): no curve of precision.'
      % eval_dir
    )
  answered = filters = None
  if checkpoint is None:
    left_out.append('No checkpoint in %s: no answers, no filters.' % train_dir)
  else:
    run = config or config_lib.Config()
    asked = dataclasses.replace(run, data_dir=data_dir or run.data_dir)
    try:
      filters = answers.first_filters(checkpoint)
      answered = answers.ask(checkpoint, asked)
    except (UserError, OSError) as error:
      left_out.append('No answers to the test images: %s' % error)
  name = os.path.basename(os.path.abspath(train_dir))
  return page.Run(name, config, found, precisions, answered, filters, left_out)


def check_out(path):
  """Checks that `path` is free, or an older report.

  Raises:
    UserError: another file is there, or its folder is not.
  """
  if not os.path.isdir(os.path.dirname(path) or '.'):
    raise UserError('--out=%s: there is no such folder' % path)
  if os.path.exists(path):
    with open(path, 'rb') as file:
      if page.MARK.encode('utf-8') not in file.read(1000):
        raise UserError('--out=%s: is no report; expected a new name' % path)


def write(args):
  """Writes the page that the flags ask for."""
  charts.need_matplotlib()
  check_out(args.out)
  session_settings.start(config_lib.Config())
  run = gather(args.train_dir, args.eval_dir, args.data_dir)
  files.write_atomically(args.out, page.render(run).encode('utf-8'))
  for line in run.left_out:
    print(line)
  print('%s is written.' % args.out)


def main():
  """Reads the flags, gathers and writes."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('train_dir', help='folder of the run')
  parser.add_argument('--out', default='report.html', help='the page to write')
  parser.add_argument(
    '--eval_dir',
    default=config_lib.Config.eval_dir,
    help="the evaluator's folder (default: %(default)s)",
  )
  parser.add_argument(
    '--data_dir', help="folder of the data (default: the run's)"
  )
  args = parser.parse_args()
  try:
    write(args)
  except (UserError, OSError) as error:
    sys.exit('report: error: %s' % error)
  except KeyboardInterrupt:
    sys.exit(130)
