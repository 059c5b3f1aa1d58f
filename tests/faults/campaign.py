"""Draws faults, runs them, and tells how each class of them came out."""

import collections
import concurrent.futures
import os
import random
import time
import traceback
from typing import Callable, NamedTuple, Optional

from cifar10.errors import printable
from cifar10.util import files
from tests import short_runs
from tests.faults import cluster
from tests.faults import damage
from tests.faults import dead
from tests.faults import disk
from tests.faults import downloads
from tests.faults import kills
from tests.faults import locks
from tests.faults import names
from tests.faults import outputs
from tests.faults import pictures
from tests.faults import resumes
from tests.faults import settings
from tests.faults import signals
from tests.faults import training_files
from tests.faults.sandbox import BrokenPromiseError
from tests.faults.sandbox import Sandbox

# The module of each class, and how many of a hundred faults are of it; those
# of clusters take long. Its KINDS are functions (Sandbox, random.Random) that
# make a fault happen and check what follows, with the weight of each.
_CLASSES = {
    'cluster': (cluster, 7),
    'damage': (damage, 12),
    'data': (training_files, 4),
    'dead': (dead, 2),
    'disk': (disk, 5),
    'download': (downloads, 6),
    'kill': (kills, 11),
    'lock': (locks, 2),
    'names': (names, 8),
    'output': (outputs, 3),
    'picture': (pictures, 6),
    'resume': (resumes, 10),
    'settings': (settings, 20),
    'signal': (signals, 4)
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


class Result(NamedTuple):
  """How a fault came out, and how long it took."""

  fault: Fault
  seconds: float
  problem: Optional[str]  # The promise that was not kept; None: all were.
  transcript: str  # What was drawn, and what all processes have printed.


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
  """Runs a fault in a sandbox; returns its Result."""
  problem, started = None, time.monotonic()
  with Sandbox(keep) as sandbox:
    try:
      fault.run(sandbox, random.Random(fault.seed))
    except BrokenPromiseError as failure:
      problem = printable(failure)
    except Exception:
      problem = 'the campaign failed: ' + traceback.format_exc()
    transcript = sandbox.transcript() if problem or keep else ''
    if keep:
      transcript = 'Kept: %s\n%s' % (sandbox.folder, transcript)
  return Result(fault, time.monotonic() - started, problem, transcript)


def table(results):
  """The results by class, as lines of text."""
  lines = [
      '%-12s %7s %7s %9s %9s' %
      ('class', 'faults', 'failed', 'mean s', 'longest s')
  ]
  groups = collections.defaultdict(list)
  for result in results:
    groups[result.fault.group].append(result)
  for name, members in sorted(groups.items()) + [('all', list(results))]:
    seconds = [result.seconds for result in members] or [0]
    lines.append('%-12s %7d %7d %9.1f %9.1f' %
                 (name, len(members),
                  sum(result.problem is not None for result in members),
                  sum(seconds) / len(seconds), max(seconds)))
  return '\n'.join(lines)


def _save(path, results):
  """Writes the results so far to a JSON file."""
  files.write_json(
      path, {
          'results': [{
              'seed': result.fault.seed,
              'class': result.fault.group,
              'kind': result.fault.name,
              'seconds': round(result.seconds, 2),
              'problem': result.problem,
              'transcript': result.transcript
          } for result in results]
      })


def _passed(path, faults):
  """The Results that a file has of faults that came out well, a list."""
  saved = (files.read_json(path) or {'results': []})['results']
  seconds = {
      one['seed']: one['seconds'] for one in saved if one['problem'] is None
  }
  return [
      Result(fault, seconds[fault.seed], None, '')
      for fault in faults
      if fault.seed in seconds
  ]


def main(faults, jobs, out=None, keep=False):
  """Runs faults and prints how they came out; returns the exit status.

  Args:
    faults: list of Fault.
    jobs: how many at a time.
    out: file to write results to as they come; None: none. What has come out
      well there already is not run again.
    keep: whether to keep the folders of all faults and print all output.
  """
  results = _passed(out, faults) if out else []
  seeds = {result.fault.seed for result in results}
  left = [fault for fault in faults if fault.seed not in seeds]
  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    pending = [pool.submit(run, fault, keep) for fault in left]
    try:
      for future in concurrent.futures.as_completed(pending):
        results.append(future.result())
        _report(results, len(faults), keep)
        if out:
          _save(out, results)
    except KeyboardInterrupt:
      print('Interrupted.')
      for future in pending:
        future.cancel()
  failed = [result for result in results if result.problem]
  for result in failed:
    print('\n%s: %s' % (result.fault.name, result.problem))
    print('To repeat: python scripts/faults.py --one=%d' % result.fault.seed)
    print(result.transcript)
  print('\n' + table(results))
  return 1 if failed else 0


def _report(results, count, keep):
  """Prints the latest of the results."""
  fault, seconds, problem, transcript = results[-1]
  print(
      '%4d of %d  %-28s %13d %6.1f s  %s' %
      (len(results), count, fault.name, fault.seed, seconds,
       printable(problem or 'ok')), flush=True)
  if keep:
    print(transcript)
