#!/usr/bin/env python
"""Measures the figures of the README and docs/results again, on one machine.

    python scripts/benchmarks/reproduce.py \\
        scripts/benchmarks/experiments/figures.json --out=/tmp/figures

The figures are a JSON object, for each name the commands that measure it:

    {"inputs": ["inputs.py --out={out}/inputs.json"], ...}

Each command is a program in the folder of this one, {here}, with its flags.
{out} is --out; {runs} is a folder in it, where training runs are kept. All of
them take days: started again, it leaves out what is complete, and continues
what was stopped. --only=fast,inputs measures these figures only.

The file record.json in --out tells what each figure was measured on, from which
commit, and what disturbed it: the shares of the processors' time that went to
other programs and to other virtual machines. Prints this as a table in
Markdown.
"""

import contextlib
import os
from pathlib import Path
import resource
import subprocess
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files
from cifar10.util import processes
import benchmark

_HERE = Path(__file__).resolve().parent


def load_figures(path, only):
  """The commands of each figure, a dict of lists of str.

  `only` are the names of those wanted; if empty, all are. Raises UserError if
  the file is missing or something else, or has no figure of such a name.
  """
  found = files.need_json(path)
  if not all(isinstance(commands, list) for commands in found.values()):
    raise UserError(f'{path}: expected a list of commands for each name')
  for name in only:
    if name not in found:
      raise UserError(f'--only={name}: expected one of {", ".join(found)}')
  return {name: found[name] for name in only or found}


def commit():
  """The commit of the source, and whether it was changed since; or ''."""
  git = ['git', '-C', str(_HERE), 'describe', '--always', '--dirty']
  found = subprocess.run(git, capture_output=True, check=False)
  return found.stdout.decode().strip()


def processor_seconds():
  """Seconds of the processors: all, stolen, of any program, and of ours."""
  with open('/proc/stat') as stat:
    user, nice, system, idle, wait, irq, soft, stolen = (
        int(ticks) / os.sysconf('SC_CLK_TCK')
        for ticks in stat.readline().split()[1:9])
  busy = user + nice + system + irq + soft
  used = [
      resource.getrusage(who)
      for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
  ]
  ours = sum(usage.ru_utime + usage.ru_stime for usage in used)
  return busy + idle + wait + stolen, stolen, busy, ours


@contextlib.contextmanager
def start_recorded(record, save):
  """Appends what happens inside to record['starts'], and saves it."""
  begun, before = time.time(), processor_seconds()
  start = {'begun': begun, 'complete': False}
  try:
    yield
    start['complete'] = True
  finally:
    processes.wait_for_children()  # Their time is known only once they end.
    everything, stolen, busy, ours = (
        after - earlier for after, earlier in zip(processor_seconds(), before))
    start.update(minutes=(time.time() - begun) / 60, stolen=stolen / everything,
                 own=ours / everything, others=max(0, busy - ours) / everything)
    record['starts'].append(start)
    save()


def is_complete(record):
  """True if a figure was measured to its end."""
  return any(start['complete'] for start in record['starts'])


def measure(commands, places):
  """Runs the commands of a figure; UserError if one of them fails."""
  runner = variants.Runner()
  for command in commands:
    program, *flags = (word.format(**places) for word in command.split())
    status = runner.run(variants.command(str(_HERE / program), *flags))
    if status != 0:
      raise UserError(f'{program} ended with status {status}')


def table(records):
  """The records as a table in Markdown, a str."""

  def cells(name, record):
    starts = record['starts']
    minutes = sum(start['minutes'] for start in starts)

    def percent(kind):
      share = sum(start[kind] * start['minutes'] for start in starts) / minutes
      return f'{100 * share:.1f} %'

    state = 'complete' if is_complete(record) else 'stopped'
    return [
        name, state, record['commit'],
        str(len(starts)), f'{minutes:.1f}',
        percent('others'),
        percent('stolen')
    ]

  heads = ['figure', 'state', 'commit', 'starts', 'minutes']
  heads += ['other programs', 'other virtual machines']
  rows = [cells(*item) for item in records.items()]
  return variants.table(heads, rows, right=range(3, len(heads)))


def reproduce(args):
  """Measures what is missing, and prints the table."""
  figures = load_figures(args.figures, args.only)
  places = {'out': args.out, 'runs': os.path.join(args.out, 'runs')}
  places['here'] = str(_HERE)
  os.makedirs(places['runs'], exist_ok=True)
  path = os.path.join(args.out, 'record.json')
  records = files.read_json(path) or {}
  now = {'machine': benchmark.machine(), 'commit': commit()}
  processes.adopt_orphans()
  try:
    for name, commands in figures.items():
      record = records.get(name, {})
      if record.get('commands') != commands:
        record = records[name] = dict(now, commands=commands, starts=[])
      if is_complete(record):
        continue
      if record['commit'] != now['commit']:
        print(f'WARNING: {name}: begun at commit {record["commit"]}',
              file=sys.stderr)
      print(f'{name} ...', file=sys.stderr)
      with start_recorded(record, lambda: files.write_json(path, records)):
        measure(commands, places)
  finally:
    print(table(records))


def main():
  """Reads the flags and measures."""
  parser = arguments.Parser(__doc__)
  parser.add_argument('figures', help='the JSON file of figures')
  parser.add_argument('--out', required=True, help='folder of raw numbers')
  parser.add_argument(
      '--only', default='', help='names of figures, separated by commas',
      type=lambda text: [name for name in text.split(',') if name])
  parser.run(reproduce)


if __name__ == '__main__':
  main()
