"""Draws faults, runs them, and tells how each class of them came out."""

import collections
import concurrent.futures
import contextlib
import os
import random
import time
import traceback
from typing import NamedTuple, Optional

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
from tests.faults import trained
from tests.faults import training_files
from tests.faults.sandbox import BrokenPromiseError
from tests.faults.sandbox import Kind
from tests.faults.sandbox import Sandbox

TABLE = (cluster.KINDS + damage.KINDS + dead.KINDS + disk.KINDS +
         downloads.KINDS + kills.KINDS + locks.KINDS + names.KINDS +
         outputs.KINDS + pictures.KINDS + resumes.KINDS + settings.KINDS +
         signals.KINDS + training_files.KINDS)

# How many of a hundred faults are of which class; those of clusters take long.
_SHARES = {
    'cluster': 7,
    'damage': 12,
    'data': 4,
    'dead': 2,
    'disk': 5,
    'download': 6,
    'kill': 11,
    'lock': 2,
    'names': 8,
    'output': 3,
    'picture': 6,
    'resume': 10,
    'settings': 20,
    'signal': 4
}
GROUPS = tuple(_SHARES)

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'faults.py')
_SEED_BITS = 40


class Fault(NamedTuple):
  """A fault. Its seed alone says which one it is."""

  seed: int
  kind: Kind


class Result(NamedTuple):
  """How a fault came out.

  Attributes:
    fault: Fault.
    seconds: how long it took.
    problem: which promise was not kept; None if all were.
    transcript: what was drawn and what all processes have printed.
  """

  fault: Fault
  seconds: float
  problem: Optional[str]
  transcript: str


def fault_of(seed):
  """The fault that a seed stands for."""
  # Not the generator that the fault itself draws from.
  source = random.Random('kind of %d' % seed)
  (group,) = source.choices(list(_SHARES), _SHARES.values())
  kinds = [kind for kind in TABLE if kind.group == group]
  (kind,) = source.choices(kinds, [kind.weight for kind in kinds])
  return Fault(seed, kind)


def draw(count, seed, groups=GROUPS):
  """Draws faults of some classes; a list of `count`."""
  source = random.Random(seed)
  drawn = []
  while len(drawn) < count:
    fault = fault_of(source.getrandbits(_SEED_BITS))
    if fault.kind.group in groups:
      drawn.append(fault)
  return drawn


def batches(faults):
  """Groups faults into lists whose processes may be shared, in order."""
  waiting = collections.defaultdict(list)
  for fault in faults:
    batch = waiting[fault.kind]
    batch.append(fault)
    if len(batch) == fault.kind.batch:
      yield waiting.pop(fault.kind)
  yield from waiting.values()


def run(batch, keep=False):
  """Runs the faults of one sandbox; returns their Results, a list."""
  kind, started = batch[0].kind, time.monotonic()
  sources = [random.Random(fault.seed) for fault in batch]
  with Sandbox(keep) as sandbox:
    try:
      if kind.batch > 1:
        problems = kind.run(sandbox, sources)
      else:
        kind.run(sandbox, sources[0])
        problems = [None]
    except BrokenPromiseError as failure:
      problems = [printable(failure)] * len(batch)
    except Exception:
      problems = ['the campaign failed: ' + traceback.format_exc()] * len(batch)
    transcript = sandbox.transcript() if any(problems) or keep else ''
    if keep:
      transcript = 'Kept: %s\n%s' % (sandbox.folder, transcript)
  seconds = (time.monotonic() - started) / len(batch)
  return [
      Result(fault, seconds, problem, transcript)
      for fault, problem in zip(batch, problems)
  ]


def run_all(faults, jobs, report, keep=False):
  """Runs faults, some at a time; calls `report` with each Result."""
  with contextlib.ExitStack() as stack:
    pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(jobs))
    pending = {pool.submit(run, batch, keep) for batch in batches(faults)}
    stack.callback(lambda: [future.cancel() for future in pending])
    for future in concurrent.futures.as_completed(pending):
      for result in future.result():
        report(result)


def table(results):
  """The results by class, as lines of text."""
  lines = [
      '%-12s %7s %7s %9s %9s' %
      ('class', 'faults', 'failed', 'mean s', 'longest s')
  ]
  groups = collections.defaultdict(list)
  for result in results:
    groups[result.fault.kind.group].append(result)
  for name, members in sorted(groups.items()) + [('all', list(results))]:
    seconds = [result.seconds for result in members] or [0]
    lines.append('%-12s %7d %7d %9.1f %9.1f' %
                 (name, len(members),
                  sum(result.problem is not None for result in members),
                  sum(seconds) / len(seconds), max(seconds)))
  return '\n'.join(lines)


def save(path, results):
  """Writes the results so far to a JSON file."""
  files.write_json(
      path, {
          'results': [{
              'seed': result.fault.seed,
              'class': result.fault.kind.group,
              'kind': result.fault.kind.name,
              'seconds': round(result.seconds, 2),
              'problem': result.problem,
              'transcript': result.transcript
          } for result in results]
      })


def passed(path, faults):
  """The Results that a file has of faults that came out well, a list."""
  saved = {
      one['seed']: one for one in (files.read_json(path) or {
          'results': []
      })['results']
  }
  return [
      Result(fault, saved[fault.seed]['seconds'], None, '')
      for fault in faults
      if fault.seed in saved and saved[fault.seed]['problem'] is None
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
  results = passed(out, faults) if out else []
  seeds = {result.fault.seed for result in results}
  if len(faults) > 1:
    trained.prepare()  # Not in the time of the fault that needs it first.

  def report(result):
    results.append(result)
    fault = result.fault
    print(
        '%4d of %d  %-28s %13d %6.1f s  %s' %
        (len(results), len(faults), fault.kind.name, fault.seed, result.seconds,
         printable(result.problem or 'ok')), flush=True)
    if keep:
      print(result.transcript)
    if out:
      save(out, results)

  try:
    run_all([f for f in faults if f.seed not in seeds], jobs, report, keep)
  except KeyboardInterrupt:
    print('Interrupted.')
  failed = [result for result in results if result.problem]
  for result in failed:
    print('\n%s: %s' % (result.fault.kind.name, result.problem))
    print('To repeat: python scripts/faults.py --one=%d' % result.fault.seed)
    print(result.transcript)
  print('\n' + table(results))
  return 1 if failed else 0
