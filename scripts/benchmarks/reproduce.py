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

import os
from pathlib import Path
import subprocess
import sys
import time

import package_path
from cifar10.errors import UserError
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files
import turns

_HERE = Path(__file__).resolve().parent
# Of a figure, over all starts; 'own' is the part of 'busy' that it took itself.
_TIMES = 'seconds', 'processors', 'stolen', 'busy', 'own'


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
  ours = sum(os.times()[:4])  # With those of children that have ended.
  return busy + idle + wait + stolen, stolen, busy, ours


def measure(record, places):
  """Runs the commands of a figure; notes in `record` what they took.

  Raises UserError if one of them fails.
  """
  begun, before, runner = time.time(), processor_seconds(), variants.Runner()
  record['starts'] += 1
  try:
    for command in record['commands']:
      program, *flags = (word.format(**places) for word in command.split())
      status = runner.run(variants.command(str(_HERE / program), *flags))
      if status != 0:
        raise UserError(f'{program} ended with status {status}')
    record['complete'] = True
  finally:
    now = time.time(), *processor_seconds()
    for name, earlier, later in zip(_TIMES, (begun, *before), now):
      record[name] += later - earlier


def table(records):
  """The records as a table in Markdown, a str."""
  rows = []
  for name, record in records.items():
    others = max(0, record['busy'] - record['own'])
    rows.append([
        name, 'complete' if record['complete'] else 'stopped', record['commit'],
        str(record['starts']), f'{record["seconds"] / 60:.1f}',
        *(f'{100 * of_these / record["processors"]:.1f} %'
          for of_these in (others, record['stolen']))
    ])
  heads = ['figure', 'state', 'commit', 'starts', 'minutes']
  heads += ['other programs', 'other virtual machines']
  return variants.table(heads, rows, right=range(3, len(heads)))


def reproduce(args):
  """Measures what is missing, and prints the table."""
  figures = files.need_json(args.figures)
  for name in args.only:
    if name not in figures:
      raise UserError(f'--only={name}: expected one of {", ".join(figures)}')
  places = {'out': args.out, 'runs': os.path.join(args.out, 'runs')}
  places['here'] = str(_HERE)
  os.makedirs(places['runs'], exist_ok=True)
  path = os.path.join(args.out, 'record.json')
  records = files.read_json(path) or {}
  new = {'machine': turns.machine(), 'commit': commit(), 'complete': False}
  new.update(dict.fromkeys(_TIMES, 0), starts=0)
  try:
    for name in args.only or figures:
      record = records.get(name, {})
      if record.get('commands') != figures[name]:
        record = records[name] = dict(new, commands=figures[name])
      if record['complete']:
        continue
      if record['commit'] != new['commit']:
        print(f'WARNING: {name}: begun at commit {record["commit"]}',
              file=sys.stderr)
      print(f'{name} ...', file=sys.stderr)
      try:
        measure(record, places)
      finally:
        files.write_json(path, records)
  finally:
    print(table(records))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('figures', help='the JSON file of figures')
  parser.add_argument('--out', required=True, help='folder of raw numbers')
  parser.add_argument(
      '--only', default='', help='names of figures, separated by commas',
      type=lambda text: [name for name in text.split(',') if name])
  parser.run(reproduce)
