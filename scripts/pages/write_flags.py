"""Writes the tables of docs/flags.md from the settings.

    python scripts/pages/write_flags.py docs/flags.md

A table stands below the line `<!-- flags: GROUP -->` of its group of settings;
all other text of the page is kept.
"""

import argparse
import os
import re

from cifar10 import cifar10
from cifar10 import settings as settings_lib

_PAGE = os.path.join(os.path.dirname(__file__), '..', '..', 'docs', 'flags.md')
_TABLE = re.compile(r'(<!-- flags: (\w+) -->\n\n)(?:\|.*\n)*')


def row(name):
  """The row of a flag: name, default and help, with its choices."""
  field = settings_lib.FIELDS[name]
  constants = vars(cifar10)
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
  return f'| `--{name}` | {shown} | {text.replace("**", chr(92) + "**")} |\n'


def table(match):
  """The marker of a group and the table of its flags, for a match of both."""
  head, group = match.groups()
  rows = map(row, settings_lib.flag_names(group))
  return f'{head}| flag | default | |\n|---|---|---|\n{"".join(rows)}'


def main():
  """Writes the page, with new tables, to the file that is named."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('out', metavar='OUT', help='The page to write.')
  out = parser.parse_args().out
  with open(_PAGE, encoding='utf-8') as file:
    page = file.read()
  missing = {*settings_lib.GROUP_OF.values()
            } - {group for _, group in _TABLE.findall(page)}
  if missing:
    parser.error(f'docs/flags.md has no tables for {", ".join(missing)}')
  with open(out, 'w', encoding='utf-8') as file:
    file.write(_TABLE.sub(table, page))


if __name__ == '__main__':
  main()
