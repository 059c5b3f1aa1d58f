#!/usr/bin/env python
"""Writes what the pages have from the raw files and the settings.

    python scripts/pages/tables.py
    python scripts/pages/tables.py --check

A table is written if a comment above it names it:

    <!-- flags: GROUP -->
    <!-- results: NAME -->

That of flags is written whole, from the settings of a group. For the other one,
the function NAME of results.py returns the numbers of docs/results: for each
row below the head, its values from the second cell on, in code and links left
out; None keeps a number, text is written as it is. A dict has the rows by their
first piece of code. The words are the page's, and so is how many digits a
number has. Below

    <!-- answer: NUMBER -->

comes the answer to an exercise: the file in docs/exercises/answers without its
docstring. With --check nothing is written, and the status is 1 if something
should be.
"""

import argparse
import re
import sys

import raw_numbers as raw
import results

from cifar10 import cifar10
from cifar10 import settings as settings_lib

_TABLE = re.compile(r'(<!-- (results|flags): (\w+) -->\n\n)((?:\|.*\n)*)')
_ANSWER = re.compile(r'(<!-- answer: (\d+) -->\n\n)```python\n.*?^```\n',
                     re.MULTILINE | re.DOTALL)
_WITH_FIRST_CELL = 'search',  # Tables whose first cell has values, too.


def flag_row(name):
  """The row of a flag: name, default and help, with its choices."""
  field, constants = settings_lib.FIELDS[name], vars(cifar10)
  default = constants.get(field.metadata['constant'], field.default)
  if isinstance(default, bool):
    shown = 'on' if default else 'off'
  elif default in ('', None):
    shown = 'none'
  else:
    shown = f'`{default}`' if isinstance(default, str) else f'{default:.15g}'
  text = field.metadata['help']
  text = text % constants if '%(' in text else text
  text = re.sub(r'--\w+(=[\w.:/]*\w)?|\w+://[\w:]+', r'`\g<0>`', text)
  choices = [*filter(None, field.metadata.get('choices', ()))]
  if not set(choices) <= set(re.findall(r'\w+', text)):
    text += f' Choices: {", ".join(f"`{choice}`" for choice in choices)}.'
  return f'| `--{name}` | {shown} | {text.replace("**", chr(92) + "**")} |'


def _shown(value, old):
  """A value with as many digits as the number before."""
  if value is None or isinstance(value, str):
    return value or old
  digits = len(old.partition('.')[2])
  text = f'{value:,.{digits}f}'
  return text.replace(',', '') if re.match(r'\d{4}', old) else text


def filled(row, values, with_first=False):
  """A row of a table with its first numbers replaced by values."""
  start = 0 if with_first else row.index('|', 1)
  if len(values) > len(raw.numbers(row[start:])):
    raise ValueError(f'{row}: expected {len(values)} numbers')
  left = iter(values)

  def replaced(match):
    old = match.group()
    return old if match.group(1) else _shown(next(left, None), old)

  return row[:start] + raw.NUMBER.sub(replaced, row[start:])


def filled_rows(name, rows):
  """The rows of the table that results.py calls `name`, with its numbers."""
  found = getattr(results, name)()
  if isinstance(found, dict):
    keys = [(re.findall('`([^`]*)`', row) or [''])[0] for row in rows]
    if sorted(keys) != sorted(found):
      raise ValueError(f'{name}: differs in {set(keys) ^ set(found)}')
    found = [found[key] for key in keys]
  if len(found) != len(rows):
    raise ValueError(f'{name}: expected {len(found)} rows')
  return [
      filled(row, values, name in _WITH_FIRST_CELL)
      for row, values in zip(rows, found)
  ]


def written(text):
  """A page with its tables and answers as they should be."""

  def table(match):
    marker, kind, name, old = match.groups()
    if kind == 'flags':
      lines = ['| flag | default | |', '|---|---|---|']
      lines += map(flag_row, settings_lib.flag_names(name))
    else:
      head, rule, *rows = old.splitlines()
      lines = [head, rule, *filled_rows(name, rows)]
    return '\n'.join([marker + lines[0], *lines[1:], ''])

  def answer(match):
    marker, number = match.groups()
    path = raw.ROOT / 'docs/exercises/answers' / f'exercise_{number}.py'
    code = path.read_text(encoding='utf-8').partition('\n\n')[2]
    return f'{marker}```python\n{code}```\n'

  return _ANSWER.sub(answer, _TABLE.sub(table, text))


def main():
  """Writes the pages, or says which ones are out of date."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--check', action='store_true', help='write nothing')
  check, old, groups = parser.parse_args().check, [], set()
  for page in [*raw.ROOT.glob('*.md'), *(raw.ROOT / 'docs').rglob('*.md')]:
    text = page.read_text(encoding='utf-8')
    groups |= {
        name for _, kind, name, _ in _TABLE.findall(text) if kind == 'flags'
    }
    try:
      new = written(text)
    except ValueError as error:
      sys.exit(f'{page}: {error}')
    if new != text:
      old.append(str(page))
      if not check:
        page.write_text(new, encoding='utf-8')
  missing = {*settings_lib.GROUP_OF.values()} - groups
  if missing:
    sys.exit(f'No page has the flags of {", ".join(missing)}.')
  if check and old:
    sys.exit(f'{" ".join(old)}: to write them: python {sys.argv[0]}')


if __name__ == '__main__':
  main()
