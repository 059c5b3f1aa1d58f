"""Pictures in SVG: what is drawn, and what is in docs/."""

import glob
import os
import re
from xml.etree import ElementTree

from tests import short_runs

DOCS = os.path.join(short_runs.ROOT, 'docs')
PATHS = sorted(
    os.path.relpath(path, DOCS)
    for path in glob.glob(os.path.join(DOCS, '**', '*.svg'), recursive=True))

_NUMBER = re.compile(r'-?\d+(?:\.\d+)?')
_EM = 0.5  # The width of a letter, on average, in multiples of its size.


def module(name):
  """The module of a script in scripts/pages."""
  return short_runs.module_at(
      os.path.join(short_runs.ROOT, 'scripts', 'pages', name + '.py'))


def in_docs(path):
  with open(os.path.join(DOCS, path), encoding='utf-8') as file:
    return file.read()


def elements(content, tag):
  """All elements of a tag, such as `text`."""
  return ElementTree.fromstring(content).iter('{http://www.w3.org/2000/svg}' +
                                              tag)


def texts(content):
  return [element.text for element in elements(content, 'text')]


def boxes_of_text(content):
  """Pairs of each text and its (left, top, right, bottom), about."""
  size_of_picture = float(ElementTree.fromstring(content).get('font-size', 16))
  for element in elements(content, 'text'):
    size = float(element.get('font-size', size_of_picture))
    x, y = float(element.get('x')), float(element.get('y'))
    width = _EM * size * len(element.text)
    left = x - width * {
        'start': 0,
        'middle': 0.5,
        'end': 1
    }[element.get('text-anchor', 'start')]
    yield element.text, (left, y - 0.7 * size, left + width, y)


def _shape(content):
  return _NUMBER.sub('#', content)


def is_current(drawn, path):
  """True if the picture in docs/ is the one drawn, but for rounding."""
  there = in_docs(path)
  if texts(drawn) != texts(there) or _shape(drawn) != _shape(there):
    return False
  pairs = zip(_NUMBER.findall(drawn), _NUMBER.findall(there))
  return all(abs(float(a) - float(b)) <= 0.5 for a, b in pairs)
