"""What a search has found: a table, a chart, the best trial."""

import io
import os
import shlex

from cifar10.tools.search import trials as trials_lib
from cifar10.util import commands
from cifar10.util import files


def is_complete(trial):
  """Whether a trial was trained to its end.

  Optuna keeps the last precision of a trial that was given up as its value.
  """
  return trial.state.name == 'COMPLETE'


def best(trials):
  """The complete trial with the highest precision, or None."""
  complete = [trial for trial in trials if is_complete(trial)]
  return max(complete, key=lambda trial: trial.value, default=None)


def train_command(flags):
  """The command that trains with some flags, quoted for a shell."""
  return ' '.join(
    [commands.command('cifar10_train'), *(shlex.quote(f) for f in flags)]
  )


def table(trials, space):
  """A table in Markdown, the best trial first.

  Args:
    trials: list of optuna.trial.FrozenTrial.
    space: space.Space.

  Returns:
    str.
  """
  names = list(space.distributions)
  lines = [
    '| trial | precision | steps | %s |' % ' | '.join(names),
    '|---|---:|---:|%s' % ('---|' * len(names)),
  ]
  for trial in sorted(trials, key=_rank):
    values = [_text(trial.params[name]) for name in names]
    lines.append(
      '| %s | %s | %s | %s |'
      % (
        trials_lib.folder_of(trial),
        _precision(trial),
        trial.last_step or 0,
        ' | '.join(values),
      )
    )
  return '\n'.join(lines)


def _rank(trial):
  """The best first; then those that were given up, by their last precision."""
  reported = trial.intermediate_values.get(trial.last_step, 0)
  if is_complete(trial):
    return False, -trial.value
  return True, -reported


def _precision(trial):
  if is_complete(trial):
    return '%.4f' % trial.value
  return 'diverged' if 'error' in trial.user_attrs else 'given up'


def _text(value):
  return '%.4g' % value if isinstance(value, float) else str(value)


def write(trials, space, out):
  """Writes `trials.json` and the chart `trials.png`.

  Args:
    trials: list of optuna.trial.FrozenTrial.
    space: space.Space.
    out: the folder.
  """
  rows = [
    {
      'folder': trials_lib.folder_of(trial),
      'params': trial.params,
      'precision': trial.value if is_complete(trial) else None,
      'validations': sorted(trial.intermediate_values.items()),
    }
    for trial in trials
  ]
  files.write_json(
    os.path.join(out, 'trials.json'), {'flags': space.flags, 'trials': rows}
  )
  chart = io.BytesIO()
  _draw(trials).savefig(chart, format='png', dpi=100, bbox_inches='tight')
  files.write_atomically(os.path.join(out, 'trials.png'), chart.getvalue())


def _draw(trials):
  """The precision of each trial while it trained, a figure."""
  from matplotlib import figure

  found = figure.Figure(figsize=(8, 4.5))
  axes = found.add_subplot()
  winner = best(trials)
  for trial in trials:
    points = sorted(trial.intermediate_values.items())
    is_best = winner is not None and trial.number == winner.number
    axes.plot(
      [step for step, _ in points],
      [100 * precision for _, precision in points],
      marker='.',
      color='tab:red' if is_best else 'tab:blue',
      alpha=1 if is_complete(trial) else 0.3,
      zorder=3 if is_best else 2,
      label='the best' if is_best else None,
    )
  axes.set_xlabel('step')
  axes.set_ylabel('validation precision @ 1, %')
  axes.set_title('%d trials; pale ones were given up' % len(trials))
  axes.grid(alpha=0.3)
  if winner:
    axes.legend()
  return found
