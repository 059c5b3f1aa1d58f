"""Searches for good settings: trains many networks, and names the best.

    pip install '.[search]'
    python scripts/search.py space.json --trials=20 --jobs=2 --out=/tmp/search

The space is a JSON object:

    {"flags": ["--max_steps=2000", "--validation_examples=5000",
               "--validation_steps=500"],
     "space": {"learning_rate": {"low": 0.001, "high": 0.3, "log": true},
               "batch_size": {"low": 32, "high": 256, "step": 32},
               "optimizer": ["momentum", "adam"]}}

Each trial is a run of cifar10_train in a process and a folder of its own: with
"flags", and with a value for each flag of "space". Optuna chooses the values
(Akiba et al., "Optuna", arXiv 1907.10902), and gives up a trial whose best
precision so far on the images held out is below the median of the complete ones
at the same step. Test images are never looked at.

Stopped in any way, a search goes on when it is started again, and so do the
trials that were running.
"""

import argparse
import glob
import os
import sys

from cifar10.errors import UserError
from cifar10.search import results
from cifar10.search import space as space_lib
from cifar10.search import trials as trials_lib
from cifar10.training import train_dir
from cifar10.util import console
from cifar10.util import folder_lock
from cifar10.util import optional_packages
from cifar10.util import paths
from cifar10.util.flag_field import MOST

_MOST_JOBS = 256  # Each is a process with a network of its own.
_NAME = 'search'
_SPACE = 'space'  # The attribute of a study that holds its space.


def search(args):
  """Runs the trials and writes what they have found.

  Args:
    args: argparse.Namespace with space, trials, jobs, gpus, seed and out.

  Raises:
    UserError: a package is missing, the space makes no sense, --out cannot
      hold runs, or a trainer cannot be run.
    OSError: the folder cannot be written.
  """
  args.out = paths.check(args.out, '--out', holds_checkpoints=True)
  optuna = space_lib.optuna()
  optional_packages.need(
    'matplotlib', 'search', 'the chart is drawn with matplotlib'
  )
  space = space_lib.load(args.space)

  def refuse(lock):
    raise UserError('%s: another search uses this folder' % args.out)

  with folder_lock.held(
    os.path.join(args.out, '.lock'),
    refuse,
    lambda: os.makedirs(args.out, exist_ok=True),
  ):
    study = _study(optuna, space, args)
    trials = trials_lib.Trials(study, space, args.out, args.gpus)
    done = len(trials.finished())
    if 0 < done < args.trials:
      print('%d of %d trials are finished; going on.' % (done, args.trials))
    trials.run(args.trials, args.jobs)
    finished = trials.finished()
    results.write(finished, space, args.out)
  print(results.table(finished, space))
  best = results.best(finished)
  if best:
    flags = [*space.flags, *space_lib.as_flags(best.params)]
    folder = os.path.join(args.out, trials_lib.folder_of(best))
    print(
      'The best is %s. Its best checkpoint is in %s. To train it again: %s'
      % (
        trials_lib.folder_of(best),
        os.path.join(folder, train_dir.BEST),
        results.train_command(flags),
      )
    )


def _study(optuna, space, args):
  """The optuna.Study in --out, new or old.

  Raises:
    UserError: the file cannot be used, or is of another space; or there are
      trials without it.
  """
  path = os.path.join(args.out, 'search.db')
  left = glob.glob(os.path.join(glob.escape(args.out), trials_lib.FOLDERS))
  if left and not os.path.exists(path):
    raise UserError(
      '%s: holds trials, such as %s, but no search.db that knows their '
      'settings; give another --out' % (args.out, os.path.basename(min(left)))
    )
  optuna.logging.set_verbosity(optuna.logging.WARNING)
  try:
    study = optuna.create_study(
      storage='sqlite:///' + path,
      study_name=_NAME,
      load_if_exists=True,
      direction='maximize',
      pruner=optuna.pruners.MedianPruner(),
    )
    trials = study.get_trials(deepcopy=False)
  # Those of the data base, and of Optuna if the file is of a later version.
  except Exception as error:
    raise UserError(
      '%s: %s' % (path, (str(error).splitlines() or [type(error).__name__])[0])
    ) from error
  if args.seed is not None:
    # A search that goes on does not draw the same values again.
    study.sampler = optuna.samplers.TPESampler(seed=args.seed + len(trials))
  about = {'flags': list(space.flags), 'space': space.values}
  if study.user_attrs.get(_SPACE, about) != about:
    raise UserError(
      '%s: has changed since the search in %s was begun; give another --out'
      % (args.space, args.out)
    )
  study.set_user_attr(_SPACE, about)
  return study


def main():
  """The console command."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('space', help='the JSON file of the space')
  parser.add_argument(
    '--trials',
    type=int,
    default=20,
    help='how many trials, with those of earlier starts (default %(default)s)',
  )
  parser.add_argument(
    '--jobs',
    type=int,
    default=1,
    help='how many trials at a time (default %(default)s)',
  )
  parser.add_argument(
    '--gpus',
    type=int,
    default=0,
    help='how many GPUs there are, if each trial is to see one of them',
  )
  parser.add_argument(
    '--seed',
    type=int,
    help='makes the first choices of a search repeatable, and all of them with '
    '--jobs=1 and a --seed among the "flags"',
  )
  parser.add_argument(
    '--out', required=True, help='the folder of the search and of its runs'
  )
  console.open_streams()
  args = parser.parse_args()
  for name, least, most in (
    ('trials', 1, MOST),
    ('jobs', 1, _MOST_JOBS),
    ('gpus', 0, _MOST_JOBS),
  ):
    if not least <= getattr(args, name) <= most:
      parser.error('--%s: expected %d to %d' % (name, least, most))
  if args.seed is not None and not 0 <= args.seed <= MOST:
    parser.error('--seed: expected 0 to %d' % MOST)
  sys.exit(console.guarded(lambda: search(args)))


if __name__ == '__main__':
  main()
