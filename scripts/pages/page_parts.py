"""The programs of the pages: what tests run, and cells of the notebooks."""

import re

NEWEST, OLDEST = 'TensorFlow 2', 'TensorFlow 1.15.5'
# A block of Python that blocks of its output follow.
PROGRAM = re.compile('^```python\n(.*?)^```\n((?:^```text.*?\n(?:.*?)^```\n)+)',
                     re.M | re.S)


def outputs(blocks):
  """What a program prints, by version of TensorFlow."""
  found = dict(
      re.findall('^```text(?: title="(.*)")?\n((?:.*\n)*?)^```\n', blocks,
                 re.M))
  if set(found) == {''}:
    found = dict.fromkeys((NEWEST, OLDEST), found[''])
  return {version: found[version] for version in (NEWEST, OLDEST)}
