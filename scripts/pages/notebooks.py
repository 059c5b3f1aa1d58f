#!/usr/bin/env python
"""Makes the notebooks in docs/notebooks/ from the pages.

    pip install -e '.[notebooks]'
    python scripts/pages/notebooks.py

Each program of a page becomes a cell, which is run here; everything else
becomes Markdown. A page in Korean has the programs of the page in English, so
its cells get the same outputs.
"""

import os
from os import path
from pathlib import Path
import re

import nbclient
import nbformat
from nbformat import v4

import page_parts as parts

ROOT = Path(__file__).resolve().parents[2]
NAMES = ('tutorial', 'tensorflow1', 'layers_and_training', 'distributed',
         'questions')
NOTEBOOKS = {
    f'docs/{folder}{name}.md': f'docs/notebooks/{folder}{name}.ipynb'
    for folder in ('', 'ko/') for name in NAMES
}
_KERNEL = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
_SETUP = """\
# Run this cell first. It installs the project, unless that is done.
# scripts/pages/notebooks.py made this notebook from {page}.
try:
  import cifar10  # It keeps TensorFlow's log out of the cells.
except ImportError:
  %pip install -q {root}
  import cifar10"""
# A block of code, or the target of a link and its anchor.
_CODE_OR_TARGET = re.compile(r'^```.*?^```$|\]\(([^)#\s]*)(?:#([^)\s]+))?\)',
                             re.M | re.S)


def _read(page):
  return (ROOT / page).read_text(encoding='utf-8')


def anchors(page):
  """Of each heading: its anchor in the page, and that in the notebook."""
  headings = re.findall('^#+ (.*)$', _read(page).replace('`', ''), re.M)
  return {
      parts.anchor(heading): heading.replace(' ', '-') for heading in headings
  }


def _linked(markdown, page):
  """Markdown of a page, with the links that its notebook needs."""

  def moved(match):
    target, anchor = match.groups()
    if target is None or '://' in target:
      return match.group()
    where = path.normpath(path.join(path.dirname(page), target))
    where = where if target else page
    if where in NOTEBOOKS:
      anchor = anchor and anchors(where)[anchor]
      where = NOTEBOOKS[where]
    if target:
      target = path.relpath(where, path.dirname(NOTEBOOKS[page]))
    return ']({}{})'.format(target, f'#{anchor}' if anchor else '')

  return _CODE_OR_TARGET.sub(moved, markdown)


def _code(program):
  """The code of a cell: a program whose graph is new, in any kernel."""
  begin = 'tf.disable_v2_behavior()\n'
  if 'tf.Graph()' not in program:
    program = program.replace(begin, begin + 'tf.reset_default_graph()\n')
  return program.rstrip()


def is_cell(program):
  """True unless a program's output is printed past Python.

  A kernel shows what TensorFlow's C++ prints with log_device_placement late.
  """
  return 'log_device_placement' not in program


def _cells(page):
  """The cells of a page's notebook, but for the first of code."""
  # The notebook does not link to itself.
  text = re.sub(r' · \[[^]]*\]\([^)]*\.ipynb\)', '', _read(page), count=1)
  pieces = parts.PROGRAM.split(text)
  for prose, program, blocks in zip(pieces[::3], pieces[1::3] + [''],
                                    pieces[2::3] + ['']):
    for part in re.split(r'\n(?=##+ )', _linked(prose, page)):
      if part.strip():
        yield v4.new_markdown_cell(part.strip())
    if program and not is_cell(program):
      yield v4.new_markdown_cell(f'```python\n{program}```\n{blocks}')
    elif program:
      yield v4.new_code_cell(_code(program))
      newest, oldest = parts.outputs(blocks).values()
      if oldest != newest:  # The cell does not print it.
        yield v4.new_markdown_cell(f'{parts.OLDEST}:\n\n```text\n{oldest}```')


def made(page):
  """The notebook of a page, without outputs."""
  root = path.relpath('.', path.dirname(NOTEBOOKS[page]))
  cells = [*_cells(page)]
  cells.insert(1, v4.new_code_cell(_SETUP.format(page=page, root=root)))
  for number, cell in enumerate(cells, 1):
    cell.id = f'cell-{number}'
  return v4.new_notebook(cells=cells, metadata={'kernelspec': _KERNEL})


def code_cells(notebook):
  """The cells with code."""
  return [cell for cell in notebook.cells if cell.cell_type == 'code']


def printed(cell):
  """The output of a cell that has run: standard output and nothing else."""
  assert all(output.get('name') == 'stdout' for output in cell.outputs), cell
  return ''.join(output.text for output in cell.outputs)


def client_of(notebook):
  """Runs a notebook in the folder where it is, with the package beside it."""
  os.environ['PYTHONPATH'] = str(ROOT)
  folder = {'path': str(ROOT / 'docs' / 'notebooks')}
  return nbclient.NotebookClient(notebook, timeout=600, record_timing=False,
                                 resources={'metadata': folder})


def main():
  """Runs the notebooks in English; writes them, and those in Korean."""
  (ROOT / 'docs' / 'notebooks' / 'ko').mkdir(parents=True, exist_ok=True)
  for name in NAMES:
    ran = made(f'docs/{name}.md')
    client_of(ran).execute()
    texts = [printed(cell) for cell in code_cells(ran)]
    for page in f'docs/{name}.md', f'docs/ko/{name}.md':
      notebook = made(page)
      for cell, text in zip(code_cells(notebook), texts):
        if text:
          cell.outputs = [v4.new_output('stream', name='stdout', text=text)]
      nbformat.write(notebook, ROOT / NOTEBOOKS[page])


if __name__ == '__main__':
  main()
