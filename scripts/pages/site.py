"""What mkdocs does not do by itself: pages from outside docs/, and code.

The README becomes the first page. Each file of code that a page links to is
a page too, under code/.
"""

import os
import re

from mkdocs.structure.files import File

_ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PAGES = {
    'README.md': 'index.md',
    'README.ko.md': 'README.ko.md',
    'CONTRIBUTING.md': 'CONTRIBUTING.md',
    'CHANGELOG.md': 'CHANGELOG.md'
}
# [`max_pool()`](../cifar10/nets/layers.py): what is there, how far up, and the
# path in the project.
_CODE = re.compile(
    r'\[([^]]*)\]\(((?:\.\./)+)((?:cifar10|scripts|tests)/[\w/]+\.py)\)')
_OUTSIDE = re.compile(r'\]\(((?:\.\./)+)(%s)(?=[)#])' % '|'.join(_PAGES))


def _read(path):
  with open(os.path.join(_ROOT, path), encoding='utf-8') as file:
    return file.read()


def _line_of_definition(name, code):
  """The anchor of the line that defines `name`; '' if no line does."""
  found = re.search(r'^(?:def |class |)%s\b' % re.escape(name), code, re.M)
  if not name.isidentifier() or not found:
    return ''
  return '#__codelineno-0-%d' % (code.count('\n', 0, found.start()) + 1)


def on_files(files, config):
  """Adds the pages that are not in docs/."""
  linked = set()
  for page in files.documentation_pages():
    linked |= {path for _, _, path in _CODE.findall(page.content_string)}
  for path in sorted(linked):
    text = '# %s\n\n```python linenums="1"\n%s```\n' % (path, _read(path))
    files.append(File.generated(config, 'code/%s.md' % path, content=text))
  for path, name in _PAGES.items():
    text = re.sub(r'\]\(docs/', '](', _read(path))
    text = text.replace('](README.md)', '](index.md)')
    files.append(File.generated(config, name, content=text))
  return files


def on_page_markdown(markdown, **_):
  """Has links that leave docs/ lead to those pages."""

  def code(match):
    text, ups, path = match.groups()
    line = _line_of_definition(text.strip('`()'), _read(path))
    return '[%s](%scode/%s.md%s)' % (text, ups[3:], path, line)

  def outside(match):
    ups, path = match.groups()
    return '](%s%s' % (ups[3:], _PAGES[path])

  return _OUTSIDE.sub(outside, _CODE.sub(code, markdown))


def on_page_content(html, page, **_):
  """Has the check of anchors know the lines of code, which mkdocs skips."""
  lines = re.findall(r'id="(__codelineno-[\d-]+)"', html)
  page.present_anchor_ids |= set(lines)
  return html
