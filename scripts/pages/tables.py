#!/usr/bin/env python
"""Writes the numbers of docs/results into the tables of the pages.

    python scripts/pages/tables.py
    python scripts/pages/tables.py --check

A table has its numbers from the raw files if a comment names it:

    <!-- results: NAME -->

The function NAME of results.py returns them: for each row below the head, the
values of its numbers from the second cell on, in code and links left out; None
keeps a number, text is written as it is. A dict has the rows by their first
piece of code. The words are the page's, and so is how many digits a number has.
With --check nothing is written, and the status is 1 if something should be.
"""

import argparse
import re
import sys

import results

_TABLE = re.compile(r'<!-- results: (\w+) -->\n\n((?:\|.*\n)+)')
_WITH_FIRST_CELL = 'search',  # Tables whose first cell has values, too.


def _split(row):
  """A row of a table: its first cell, and the others."""
  end = row.index('|', 1)
  return row[:end], row[end:]


def _shown(value, old):
  """A value with as many digits as the number before."""
  if value is None or isinstance(value, str):
    return value or old
  digits = len(old.partition('.')[2])
  text = f'{value:,.{digits}f}'
  return text.replace(',', '') if re.match(r'\d{4}', old) else text


def filled(row, values, with_first=False):
  """A row of a table with its first numbers replaced by values."""
  first, rest = ('', row) if with_first else _split(row)
  if len(values) > len(results.numbers(rest)):
    raise ValueError(f'{row}: expected {len(values)} numbers')
  left = iter(values)

  def replaced(match):
    old = match.group()
    return old if match.group(1) else _shown(next(left, None), old)

  return first + results.NUMBER.sub(replaced, rest)


def written(text):
  """A page with the numbers of its tables from the raw files."""

  def table(match):
    name, (*head, rows) = match.group(1), match.group(2).split('\n', 2)
    rows, found = rows.splitlines(), getattr(results, name)()
    if isinstance(found, dict):
      keys = [(re.findall('`([^`]*)`', row) or [''])[0] for row in rows]
      if sorted(keys) != sorted(found):
        raise ValueError(f'{name}: differs in {set(keys) ^ set(found)}')
      found = [found[key] for key in keys]
    if len(found) != len(rows):
      raise ValueError(f'{name}: expected {len(found)} rows')
    lines = [
        filled(row, values, name in _WITH_FIRST_CELL)
        for row, values in zip(rows, found)
    ]
    return f'<!-- results: {name} -->\n\n' + '\n'.join([*head, *lines, ''])

  return _TABLE.sub(table, text)


def main():
  """Writes the pages, or says which ones are out of date."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--check', action='store_true', help='write nothing')
  check, old = parser.parse_args().check, []
  for page in [
      *results.ROOT.glob('*.md'), *(results.ROOT / 'docs').rglob('*.md')
  ]:
    text = page.read_text(encoding='utf-8')
    try:
      new = written(text)
    except ValueError as error:
      sys.exit(f'{page}: {error}')
    if new != text:
      old.append(str(page))
      if not check:
        page.write_text(new, encoding='utf-8')
  if check and old:
    sys.exit(f'{" ".join(old)}: to write the tables: python {sys.argv[0]}')


if __name__ == '__main__':
  main()
