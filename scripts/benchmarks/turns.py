"""Turns of the forms that are compared, and the table of their results."""

import contextlib
import json
import os
import platform
import re
import subprocess
import time

from cifar10.settings import Settings
from cifar10.tools import variants
from cifar10.util import files
from cifar10.util import session_settings
import baselines
import numpy as np
import tensorflow.compat.v1 as tf


def add_data_flags(parser):
  """Adds --dataset and --data_dir, with the defaults of the trainers."""
  parser.add_argument('--dataset', choices=('cifar10', 'sample'),
                      default=Settings.dataset, help='the data set')
  parser.add_argument('--data_dir', default=Settings.data_dir,
                      help='the folder of the data set')


def machine():
  """The machine and the versions that the numbers come from, a dict."""
  model = platform.processor()
  if os.path.exists('/proc/cpuinfo'):
    with open('/proc/cpuinfo') as info:
      model = re.search(r'model name\s*:\s*(.*)', info.read()).group(1)
  return {
      'processor': model,
      'cores': os.cpu_count(),
      'gpus': len(tf.config.experimental.list_physical_devices('GPU')),
      'tensorflow': tf.__version__,
      'python': platform.python_version(),
      'date': time.strftime('%Y-%m-%d'),
      **_versions('keras', 'torch')
  }


def _versions(*packages):
  """Those of the packages that are installed, a dict."""
  if tf.__version__ < '2':  # Which none of them joins.
    return {}
  from importlib import metadata
  found = {}
  for name in packages:
    with contextlib.suppress(metadata.PackageNotFoundError):
      found[name] = metadata.version(name)
  return found


def ratios(values, others, unit):
  """Ratios of `values` to `others` of the same rounds, above 1 if better.

  More is better if the unit ends in `/s`, else less is better.
  """
  found = np.divide(values, others)
  return found if unit.endswith('/s') else 1 / found


class Table:
  """Prints and keeps the results: one row for each form and measurement."""

  def __init__(self):
    self.rows = []
    print('%-44s %-14s %9s  ratio (spread)' % ('', 'form', 'median'))

  def add_programs(self, commands, rounds, shown, baseline):
    """Runs a program for each form, in turns, and adds rows for its answers.

    Args:
      commands: for each form, the command of a program that prints a dict of
        numbers as JSON in its last line.
      rounds: turns of each form.
      shown: for each of these numbers, what it is and its unit.
    """
    found = {name: {form: [] for form in commands} for name in shown}
    for _ in range(rounds):
      for form, command in commands.items():
        answer = json.loads(variants.Runner().answer(command))
        for name in shown:
          found[name][form].append(answer[name])
    for name, (what, unit) in shown.items():
      self.add(what, unit, found[name], baseline)

  def add(self, what, unit, rounds, baseline=baselines.CLASSICAL):
    """Adds a row for each form, with its ratio to the form `baseline`.

    Args:
      what: what was measured.
      unit: its unit, as for `ratios`.
      rounds: for each form, the values of all rounds.
    """
    for form, values in rounds.items():
      found = ratios(values, rounds[baseline], unit)
      row = {
          'what': what,
          'unit': unit,
          'form': form,
          'baseline': baseline,
          'values': [float(value) for value in values],
          'median': float(np.median(values)),
          'ratio': float(np.median(found)),
          'lowest': float(found.min()),
          'highest': float(found.max())
      }
      self.rows.append(row)
      print(
          '{what:33} {unit:10} {form:14} {median:9.4g}  '
          '{ratio:.2f} ({lowest:.2f} to {highest:.2f})'.format(**row),
          flush=True)

  def write(self, path, rounds):
    """Writes the results into a JSON file."""
    found = {'machine': machine(), 'rounds': rounds, 'rows': self.rows}
    files.write_json(path, found)


@contextlib.contextmanager
def stepping(build, *args):
  """Builds a graph and starts a session; yields a function that runs a step.

  `build(*args)` builds in the default graph and returns the operations of a
  step.
  """
  with tf.Graph().as_default():
    with contextlib.redirect_stdout(None):
      fetches = build(*args)
    proto = session_settings.config_proto(Settings())
    creator = tf.train.ChiefSessionCreator(config=proto)
    with tf.train.MonitoredSession(creator) as session:
      yield lambda: session.run(fetches)


@contextlib.contextmanager
def stepping_process(command):
  """Like `stepping`, for steps in a process of its own.

  The process answers each line of its standard input with a line when it has
  run a step.
  """
  with subprocess.Popen(command, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE) as process:

    def step():
      process.stdin.write(b'\n')
      process.stdin.flush()
      if not process.stdout.readline():
        raise BrokenPipeError(f'{" ".join(command)}: has ended')

    try:
      step()  # So that it starts before the first turn of others.
      yield step
    finally:
      process.kill()


def rates(forms, count, rounds, steps, warm_up):
  """The examples per second of each form in each round.

  Args:
    forms: for each form, a context manager like `stepping`.
    count: examples in a step.
    rounds: turns of each form.
    steps: steps in a turn.
    warm_up: steps before each turn, not counted.

  Returns:
    A dict of float64 arrays, [rounds], by form.
  """
  found = {form: np.zeros(rounds) for form in forms}
  with contextlib.ExitStack() as stack:
    step = {form: stack.enter_context(c) for form, c in forms.items()}
    for i in range(rounds):
      for form in forms:
        for _ in range(warm_up):
          step[form]()
        begun = time.perf_counter()
        for _ in range(steps):
          step[form]()
        found[form][i] = count * steps / (time.perf_counter() - begun)
  return found
