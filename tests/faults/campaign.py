"""Draws faults, runs them, and tells how each class of them came out."""

import concurrent.futures
import os
import random
import time
import traceback
from typing import Callable, NamedTuple

from cifar10.errors import printable
from cifar10.util import files
from tests import short_runs
from tests.faults import cluster
from tests.faults import damage
from tests.faults import disk
from tests.faults import kills
from tests.faults import names
from tests.faults import pictures
from tests.faults import resumes
from tests.faults import settings
from tests.faults import signals
from tests.faults.sandbox import BrokenPromiseError
from tests.faults.sandbox import Sandbox

# The module of each class, and how many of a hundred faults are of it; those
# of clusters take long. Its KINDS are functions (Sandbox, random.Random) that
# make a fault happen and check what follows, with the weight of each.
_CLASSES = {
    'cluster': (cluster, 8),
    'damage': (damage, 14),
    'disk': (disk, 6),
    'kill': (kills, 13),
    'names': (names, 10),
    'picture': (pictures, 7),
    'resume': (resumes, 12),
    'settings': (settings, 24),
    'signal': (signals, 6)
}
# Without root, some have none.
GROUPS = tuple(name for name, (kinds, _) in _CLASSES.items() if kinds.KINDS)

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'faults.py')
_SEED_BITS = 40


class Fault(NamedTuple):
  """A fault. Its seed alone says which one it is."""

  seed: int
  group: str  # Its class.
  run: Callable

  @property
  def name(self):
    return '%s.%s' % (self.group, self.run.__name__)


def fault_of(seed):
  """The fault that a seed stands for."""
  # Not the generator that the fault itself draws from.
  source = random.Random('kind of %d' % seed)
  shares = [_CLASSES[group][1] for group in GROUPS]
  (group,) = source.choices(GROUPS, shares)
  kinds = _CLASSES[group][0].KINDS
  (run,) = source.choices(list(kinds), list(kinds.values()))
  return Fault(seed, group, run)


def draw(count, seed, groups=GROUPS):
  """Draws faults of some classes; a list of `count`."""
  source = random.Random(seed)
  drawn = []
  while len(drawn) < count:
    fault = fault_of(source.getrandbits(_SEED_BITS))
    if fault.group in groups:
      drawn.append(fault)
  return drawn


def run(fault, keep=False):
  """Runs a fault in a sandbox; returns how it came out, as --out has it.

  The `problem` is the promise that was not kept; the `transcript` holds what
  was drawn and what all processes have printed.
  """
  problem, started = None, time.monotonic()
  with Sandbox(keep) as sandbox:
    try:
      fault.run(sandbox, random.Random(fault.seed))
    except BrokenPromiseError as failure:
      problem = printable(failure)
    except Exception:
      problem = 'the campaign failed: ' + traceback.format_exc()
    transcript = sandbox.transcript() if problem else ''
  return {
      'seed': fault.seed,
      'class': fault.group,
      'kind': fault.name,
      'seconds': round(time.monotonic() - started, 2),
      'problem': problem,
      'transcript': transcript
  }


def table(results):
  """The results by class, as lines of text."""
  row = '%-12s %7s %7s %9s %9s'
  lines = [row % ('class', 'faults', 'failed', 'mean s', 'longest s')]
  for name in sorted({result['class'] for result in results}) + ['all']:
    members = [r for r in results if name in (r['class'], 'all')]
    seconds = [result['seconds'] for result in members] or [0]
    lines.append(
        row %
        (name, len(members), sum(bool(r['problem']) for r in members), '%.1f' %
         (sum(seconds) / len(seconds)), '%.1f' % max(seconds)))
  return '\n'.join(lines)


def _passed(path, faults):
  """The results that a file has of faults that came out well, a list."""
  saved = (files.read_json(path) or {'results': []})['results']
  seeds = {fault.seed for fault in faults}
  return [r for r in saved if r['problem'] is None and r['seed'] in seeds]


def main(faults, jobs, out=None, keep=False):
  """Runs Faults, `jobs` at a time, and prints how they came out.

  Results are written to the file `out` as they come; what has come out well
  there already is not run again. With `keep` the folders of all faults are
  kept. Returns the exit status.
  """
  results = _passed(out, faults) if out else []
  passed = {result['seed'] for result in results}
  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    pending = [
        pool.submit(run, fault, keep)
        for fault in faults
        if fault.seed not in passed
    ]
    try:
      for future in concurrent.futures.as_completed(pending):
        results.append(future.result())
        _report(results, len(faults))
        if out:
          files.write_json(out, {'results': results})
    except KeyboardInterrupt:
      print('Interrupted.')
      for future in pending:
        future.cancel()
  failed = [result for result in results if result['problem']]
  for result in failed:
    print('\n%s: %s' % (result['kind'], result['problem']))
    print('To repeat: python scripts/faults.py --one=%d' % result['seed'])
    print(result['transcript'])
  print('\n' + table(results))
  return 1 if failed else 0


def _report(results, count):
  """Prints the latest of the results."""
  last = results[-1]
  print(
      '%4d of %d  %-28s %13d %6.1f s  %s' %
      (len(results), count, last['kind'], last['seed'], last['seconds'],
       printable(last['problem'] or 'ok')), flush=True)
