"""Searches for good settings: trains many networks, and names the best.

    pip install '.[search]'
    cifar10_search space.json --trials=20 --jobs=2 --out=/tmp/search

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

Stopped in any way, a search continues when it is started again, and so do the
trials that were running.
"""

import fnmatch
import functools
import os
import shlex
import sqlite3

from cifar10.errors import UserError
from cifar10.errors import first_line
from cifar10.run import train_dir
from cifar10.settings.field import MOST
from cifar10.tools import variants
from cifar10.tools.report import charts
from cifar10.tools.search import chart
from cifar10.tools.search import space as space_lib
from cifar10.tools.search import trials as trials_lib
from cifar10.util import arguments
from cifar10.util import commands
from cifar10.util import files
from cifar10.util import folder_lock
from cifar10.util import optional_packages
from cifar10.util import paths

_MOST_JOBS = 256  # Each is a process with a network of its own.
_SPACE = 'space'  # The attribute of a study that holds its space.


def _is_complete(trial):
  return trial.state.name == 'COMPLETE'  # Trained to its end.


def _rank(trial):
  """The best first; then the trials given up, by their last precision."""
  return not _is_complete(trial), -(trial.value or 0)


def table(trials, space):
  """A table of optuna.trial.FrozenTrials in Markdown, the best trial first."""
  rows = []
  for trial in sorted(trials, key=_rank):
    end = 'diverged' if 'error' in trial.user_attrs else 'given up'
    values = [trial.params[name] for name in space.distributions]
    rows.append([
        trials_lib.folder_of(trial),
        f'{trial.value:.4f}' if _is_complete(trial) else end,
        str(trial.last_step or 0),
        *(f'{v:.4g}' if isinstance(v, float) else str(v) for v in values)
    ])
  heads = ['trial', 'precision', 'steps', *space.distributions]
  return variants.table(heads, rows, right=(1, 2))


def write(trials, space, out):
  """Writes `trials.json` and the chart `trials.png` into the folder `out`."""
  rows = [{
      'folder': trials_lib.folder_of(trial),
      'params': trial.params,
      'precision': trial.value if _is_complete(trial) else None,
      'validations': sorted(trial.intermediate_values.items())
  } for trial in trials]
  content = {'flags': space.flags, 'trials': rows}
  files.write_json(os.path.join(out, 'trials.json'), content)
  charts.save_png(chart.draw(rows), os.path.join(out, 'trials.png'))


def search(args):
  """Runs the trials, prints their table and writes it into `args.out`.

  Raises UserError if a package is missing, the space makes no sense, --out
  cannot hold runs, there are more jobs than servers, or a trainer fails.
  """
  masters = [master for master in args.masters.split(',') if master]
  if masters and args.jobs > len(masters):
    raise UserError(
        f'--jobs={args.jobs}: each trial needs a server of its own; '
        f'--masters names {len(masters)}')
  args.out = paths.check(args.out, '--out', holds_checkpoints=True)
  space_lib.optuna()
  optional_packages.need('matplotlib', 'search',
                         'the chart is drawn with matplotlib')
  space = space_lib.load(args.space)

  def refuse(lock):
    raise UserError(f'{args.out}: another search uses this folder')

  with folder_lock.held(os.path.join(args.out, folder_lock.NAME), refuse):
    finished = _run_trials(space, args, masters)
    write(finished, space, args.out)
  print(table(finished, space))
  winner = min(finished, key=_rank, default=None)
  if winner and _is_complete(winner):
    name = trials_lib.folder_of(winner)
    flags = [
        *space.flags, *space_lib.as_flags(winner.params),
        '--train_dir=' + os.path.join(args.out, f'again_{name}')
    ]
    command = [commands.command('cifar10_train'), *map(shlex.quote, flags)]
    print(f'The best is {name}. Its best checkpoint is in '
          f'{os.path.join(args.out, name, train_dir.BEST)}. To train it again: '
          f'{" ".join(command)}')


def _run_trials(space, args, masters):
  """Runs the trials that are left; returns all that are finished."""
  optuna, database = space_lib.optuna(), os.path.join(args.out, 'search.db')
  study = _study(space, args, database)
  try:
    trials = trials_lib.Trials(study, space, args.out, args.gpus, masters)
    done = len(trials.finished())
    if 0 < done < args.trials:
      print(f'{done} of {args.trials} trials are finished; continuing.')
    trials.run(args.trials, args.jobs)
    return trials.finished()
  except optuna.exceptions.StorageInternalError as error:
    raise _failure(database, error) from error


def _failure(database, error):
  """The UserError of a database, such as one on a full disk."""
  # Optuna's error has it as its cause, with lines about SQL behind it.
  return UserError(f'{database}: {first_line(error.__cause__ or error)}')


def _study(space, args, path):
  """The optuna.Study in the file `path`, new or old; UserError if unusable."""
  optuna = space_lib.optuna()
  left = fnmatch.filter(os.listdir(args.out), 'trial_*')
  if left and not os.path.exists(path):
    raise UserError(
        f'{args.out}: holds trials, such as {min(left)}, but no search.db that '
        'knows their settings; give another --out')
  optuna.logging.set_verbosity(optuna.logging.WARNING)
  about = {'flags': list(space.flags), 'space': space.values}
  # In an address, some characters of a path would have another meaning.
  connect = functools.partial(sqlite3.connect, path, check_same_thread=False)
  try:
    storage = optuna.storages.RDBStorage('sqlite:///search.db',
                                         {'creator': connect})
    study = optuna.create_study(storage=storage, study_name='search',
                                load_if_exists=True, direction='maximize',
                                pruner=optuna.pruners.MedianPruner())
    if args.seed is not None:
      # A search that continues does not draw the same values again.
      seed = args.seed + len(study.get_trials(deepcopy=False))
      study.sampler = optuna.samplers.TPESampler(seed=seed)
    known = study.user_attrs.get(_SPACE)
    if known is None:
      study.set_user_attr(_SPACE, about)
  # Of the database, and of Optuna if the file is of a later version.
  except Exception as error:
    raise _failure(path, error) from error
  if known not in (None, about):
    raise UserError(
        f'{args.space}: has changed since the search in {args.out} was begun; '
        'give another --out')
  return study


def main():
  """The console command."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('space', help='the JSON file of the space')
  parser.add_argument('--trials', default=20,
                      help='how many trials, with those of earlier starts')
  parser.add_argument('--jobs', default=1, help='how many trials at a time')
  parser.add_argument(
      '--gpus', default=0,
      help='how many GPUs there are, if each trial is to see one of them')
  parser.add_argument(
      '--masters', default='',
      help='servers of TensorFlow, grpc://host:port,grpc://host:port,..., if '
      'each trial is to run on one of them')
  parser.add_argument(
      '--seed', type=int,
      help='makes the first choices of a search repeatable, and all of them '
      'with --jobs=1 and a --seed among the "flags"')
  parser.add_argument('--out', required=True,
                      help='the folder of the search and of its runs')
  parser.run(search, trials=(1, MOST), jobs=(1, _MOST_JOBS),
             gpus=(0, _MOST_JOBS), seed=(0, MOST))


if __name__ == '__main__':
  main()
