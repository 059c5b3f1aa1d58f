"""Parts of the pages that tests and notebooks take: programs and anchors."""

import re

NEWEST, OLDEST = 'TensorFlow 2', 'TensorFlow 1.15.5'
_LINES = '(?:(?!```).*\n)*'  # Of one block.
# A block of Python that blocks of its output follow.
PROGRAM = re.compile(
    f'^```python\n({_LINES})```\n((?:```text.*\n{_LINES}```\n)+)', re.M)


def anchor(heading):
  """The anchor of a heading, as GitHub makes it."""
  return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


def outputs(blocks):
  """The output of a program by version of TensorFlow, a dict."""
  found = dict(
      re.findall('^```text(?: title="(.*)")?\n((?:.*\n)*?)^```\n', blocks,
                 re.M))
  if set(found) == {''}:
    found = dict.fromkeys((NEWEST, OLDEST), found[''])
  return {version: found[version] for version in (NEWEST, OLDEST)}
