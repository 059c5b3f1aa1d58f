#!/usr/bin/env python
"""The site of all pages.

    python scripts/pages/site.py serve
    python scripts/pages/site.py build --strict

copies docs/ to build/pages and adds what is outside: the README becomes the
first page, and each file of code that a page links to is a page under code/.
Then it runs zensical with these arguments, in the folder of the project.
"""

import os
from pathlib import Path
import re
import shutil
import sys

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / 'build' / 'pages'

# Pages from outside docs/, and their names in the site.
_OTHERS = {
    'README.md': 'index.md',
    'README.ko.md': 'README.ko.md',
    'CONTRIBUTING.md': 'CONTRIBUTING.md',
    'CHANGELOG.md': 'CHANGELOG.md'
}
# [`max_pool()`](../cifar10/nets/layers.py): what is there, how far up, and the
# path in the project.
_CODE = re.compile(
    r'\[([^]]*)\]\(((?:\.\./)+)((?:cifar10|scripts|tests)/[\w/]+\.py)\)')
_OUTSIDE = re.compile(r'\]\(((?:\.\./)+)(%s)(?=[)#])' % '|'.join(_OTHERS))


def _line_of_definition(name, code):
  """The anchor of the line that defines `name`; '' if no line does."""
  found = re.search(r'^(?:def |class |)%s\b' % re.escape(name), code, re.M)
  if not name.isidentifier() or not found:
    return ''
  return '#__codelineno-0-%d' % (code.count('\n', 0, found.start()) + 1)


def _read(path):
  return (ROOT / path).read_text(encoding='utf-8')


def linked(markdown):
  """A page of docs/ with links that lead to pages of the site."""

  def code(match):
    text, ups, path = match.groups()
    line = _line_of_definition(text.strip('`()'), _read(path))
    return '[%s](%scode/%s.md%s)' % (text, ups[3:], path, line)

  def outside(match):
    ups, path = match.groups()
    return '](%s%s' % (ups[3:], _OTHERS[path])

  return _OUTSIDE.sub(outside, _CODE.sub(code, markdown))


def write(pages):
  """Writes all pages to the folder `pages`, in place of what is there."""
  shutil.rmtree(pages, ignore_errors=True)
  shutil.copytree(ROOT / 'docs', pages,
                  ignore=shutil.ignore_patterns('__pycache__'))
  files = set()
  for page in pages.rglob('*.md'):
    text = page.read_text(encoding='utf-8')
    files |= {path for _, _, path in _CODE.findall(text)}
    page.write_text(linked(text), encoding='utf-8')
  for path in files:
    page = pages / 'code' / (path + '.md')
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        '# %s\n\n```python linenums="1"\n%s```\n' % (path, _read(path)),
        encoding='utf-8')
  for path, name in _OTHERS.items():
    text = re.sub(r'\]\(docs/', '](', _read(path))
    (pages / name).write_text(text.replace('](README.md)', '](index.md)'),
                              encoding='utf-8')


if __name__ == '__main__':
  write(PAGES)
  os.chdir(ROOT)
  os.execv(sys.executable, [sys.executable, '-m', 'zensical', *sys.argv[1:]])
