"""The pages of the project, and which of them are in Korean, too."""

import os
from pathlib import Path

from tests import short_runs

# Each page in Korean, and the one in English.
KOREAN = {'README.ko.md': 'README.md'}
for path in sorted(Path(short_runs.ROOT, 'docs', 'ko').rglob('*.md')):
  page_in_korean = str(path.relative_to(short_runs.ROOT))
  KOREAN[page_in_korean] = page_in_korean.replace('/ko/', '/')


def read(page):
  with open(os.path.join(short_runs.ROOT, page), encoding='utf-8') as text:
    return text.read()
