#!/usr/bin/env python
"""The site of all pages.

    python scripts/pages/site.py serve
    python scripts/pages/site.py build --strict

copies docs/ to build/pages and adds what is outside: the README becomes the
first page, each file of code that a page links to is a page under code/, and
model.html shows the inside of a model that comes with the package. Then it
builds the site with zensical, in build/site: each language has its own search
there. `serve` shows it at http://localhost:8000.
"""

import functools
import http.server
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / 'build' / 'pages'
SITE = ROOT / 'build' / 'site'

# Pages from outside docs/, and their names in the site.
_OTHERS = {
    'README.md': 'index.md',
    'README.ko.md': 'ko/index.md',
    'CONTRIBUTING.md': 'CONTRIBUTING.md',
    'CHANGELOG.md': 'CHANGELOG.md'
}
# [`max_pool()`](../cifar10/nets/layers.py#anchor): what is there, the path, and
# the anchor.
_LINK = re.compile(r'(\[([^][]*))?\]\(([^)\s#:]+)(#[^)\s]*)?\)')
_CODE = re.compile(r'(?:cifar10|scripts|tests)/[\w/]+\.py')
_BLOCKS = re.compile(r'(^```.*?^```|^ {4}.*?$|`[^`\n]*`)', re.M | re.S)
_FORMULA = re.compile(r'\$([^$\n]+)\$')
# Code in a line, and a flag or a name in it: no line ends behind its hyphens.
_CODE_IN_LINE = re.compile(r'(?<!<pre>)<code>([^<]+)</code>')
_WORD = re.compile(r'(?<!\S)(?=\S*[-./[])\S{2,34}(?!\S)')


def _line_of_definition(name, code):
  """The anchor of the line that defines `name`; '' if no line does."""
  found = re.search(r'^(?:def |class |)%s\b' % re.escape(name), code, re.M)
  if not name.isidentifier() or not found:
    return ''
  return '#__codelineno-0-%d' % (code.count('\n', 0, found.start()) + 1)


def _read(path):
  return (ROOT / path).read_text(encoding='utf-8')


def page_of(path):
  """The page of the site that a file of the project becomes, or None."""
  if _CODE.fullmatch(path):
    return 'code/%s.md' % path
  return _OTHERS.get(path, path[5:] if path.startswith('docs/') else None)


def linked(markdown, path):
  """The text of the page at `path` with links to pages of the site."""
  here = os.path.dirname(page_of(path))

  def link(match):
    opening, text, target, anchor = match.groups(default='')
    target = os.path.normpath(os.path.join(os.path.dirname(path), target))
    page = page_of(target)
    if page is None or not (ROOT / target).exists():
      return match.group()
    if target.endswith('.py'):
      anchor = _line_of_definition(text.strip('`()'), _read(target))
    return '%s](%s%s)' % (opening, os.path.relpath(page, here or '.'), anchor)

  return _LINK.sub(link, markdown)


def with_formulas(markdown):
  """A page with its formulas, which are in LaTeX between $, in MathML."""
  from latex2mathml import converter

  parts = _BLOCKS.split(markdown)

  def formula(match):
    # In a span, a formula at the beginning of a line stays in its paragraph.
    return f'<span>{converter.convert(match.group(1))}</span>'

  parts[::2] = [_FORMULA.sub(formula, part) for part in parts[::2]]
  return ''.join(parts)


def write(pages):
  """Writes all pages to the folder `pages`, in place of what is there."""
  shutil.rmtree(pages, ignore_errors=True)
  shutil.copytree(ROOT / 'docs', pages,
                  ignore=shutil.ignore_patterns('__pycache__'))
  shutil.copy(ROOT / 'scripts' / 'pages' / 'site.css', pages)
  paths = [
      *_OTHERS, *(f'docs/{p.relative_to(pages)}' for p in pages.rglob('*.md'))
  ]
  code = set()
  for path in paths:
    text = linked(_read(path), path)
    code |= set(re.findall(r'\]\([./]*code/([\w/]+\.py)\.md', text))
    (pages / page_of(path)).write_text(with_formulas(text), encoding='utf-8')
  for path in code:
    page = pages / page_of(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        '# %s\n\n```python linenums="1"\n%s```\n' % (path, _read(path)),
        encoding='utf-8')


def _with_whole_words(match):
  words = _WORD.sub(r'<span class="whole">\g<0></span>', match.group(1))
  return f'<code>{words}</code>'


def finish(site):
  """Keeps flags and names whole, and gives each language a search of its own.

  That of the Korean pages also finds pages which are only in English.
  """
  for page in site.rglob('*.html'):
    text = page.read_text(encoding='utf-8')
    text = _CODE_IN_LINE.sub(_with_whole_words, text)
    if site / 'ko' in page.parents:
      # The folder of the index, and of the links of the name of the site.
      text = re.sub(r'("base":"[^"]*)', r'\1/ko', text)
    page.write_text(text, encoding='utf-8')
  path = site / 'search.json'
  index = json.loads(path.read_text(encoding='utf-8'))
  of_korean, of_english = [], []
  for item in index['items']:
    address = item['location']
    if address.startswith('ko/'):
      of_korean.append(dict(item, location=address[3:]))
    else:
      of_english.append(item)
      folder = address.partition('#')[0]
      if not (site / 'ko' / folder / 'index.html').exists():
        of_korean.append(dict(item, location=f'../{address}'))
  for folder, items in ((site / 'ko', of_korean), (site, of_english)):
    (folder / 'search.json').write_text(
        json.dumps(dict(index, items=items), ensure_ascii=False),
        encoding='utf-8')


def main(command, *flags):
  """Builds the site, and shows it with the command `serve`."""
  if command not in ('build', 'serve'):
    sys.exit(__doc__)
  write(PAGES)
  subprocess.run([
      sys.executable, '-m', 'cifar10.cifar10_export',
      '--checkpoint_dir=pretrained:tutorial', f'--html={PAGES / "model.html"}'
  ], cwd=ROOT, check=True)
  status = subprocess.run(
      [sys.executable, '-m', 'zensical', 'build', '--clean', *flags], cwd=ROOT,
      check=False).returncode
  if status:
    sys.exit(status)
  finish(SITE)
  if command == 'serve':
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=SITE)
    http.server.test(handler, http.server.ThreadingHTTPServer)


if __name__ == '__main__':
  main(*sys.argv[1:] or [''])
