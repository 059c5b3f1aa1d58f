#!/usr/bin/env python
"""The site of the main branch and of each release, as GitHub Pages serves it.

    python scripts/pages/publish.py FOLDER

builds the files here as FOLDER/main, and each tag such as v1.2.0 as
FOLDER/1.2.0, with the site.py of that tag. Each page offers these versions.
FOLDER itself leads to the newest release, or to main as long as there is none.
"""

import json
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[2]


def _git(*arguments):
  return subprocess.run(['git', *arguments], cwd=ROOT, check=True,
                        stdout=subprocess.PIPE).stdout.decode()


def build(root, site):
  """Builds the pages of the project in the folder `root`."""
  subprocess.run([
      sys.executable,
      str(Path(root, 'scripts', 'pages', 'site.py')), 'build', '--strict'
  ], check=True)
  shutil.copytree(Path(root, 'build', 'site'), site)


def write_lists(folder, versions):
  """Writes the lists of versions, newest first, and where FOLDER leads.

  Pages in Korean are in ko/, below those of their version, and look for the
  list beside that folder.
  """

  def write_list(path, entries):
    keys = 'version', 'title', 'aliases'
    found = [dict(zip(keys, entry)) for entry in entries]
    path.write_text(json.dumps(found), encoding='utf-8')

  write_list(folder / 'versions.json', ((v, v, []) for v in versions))
  for version in versions:
    write_list(folder / version / 'versions.json',
               ((f'../{v}/ko', v, ['ko'] * (v == version)) for v in versions))
  (folder / 'index.html').write_text(
      '<!doctype html><title>CIFAR-10 tutorial system</title>'
      f'<meta http-equiv="refresh" content="0; url={versions[0]}/">\n',
      encoding='utf-8')


def main(folder):
  """Builds all versions into a new folder."""
  folder = Path(folder)
  build(ROOT, folder / 'main')
  tags = _git('tag', '--list', 'v[0-9]*', '--sort=-version:refname').split()
  for tag in tags:
    with tempfile.TemporaryDirectory() as root:
      _git('worktree', 'add', '--detach', root, tag)
      build(root, folder / tag[1:])
      _git('worktree', 'remove', '--force', root)
  write_lists(folder, [*(tag[1:] for tag in tags), 'main'])


if __name__ == '__main__':
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(sys.argv[1])
