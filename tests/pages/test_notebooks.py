"""The notebooks: made from the pages, and their cells run in any order."""

import os
import re

import nbformat
import pytest

from tests import short_runs
from tests.pages import KOREAN
from tests.pages import read

notebooks = short_runs.module_of('pages', 'notebooks')
parts = notebooks.parts


def committed(page):
  return nbformat.read(notebooks.ROOT / notebooks.NOTEBOOKS[page], as_version=4)


@pytest.mark.parametrize('page', notebooks.NOTEBOOKS)
def test_a_notebook_is_what_the_script_makes_of_its_page(page):
  notebook, made = committed(page), notebooks.made(page)
  nbformat.validate(notebook)
  for cell in notebooks.code_cells(notebook):
    cell.outputs = []
  assert notebook == made, 'Run scripts/pages/notebooks.py.'


@pytest.mark.parametrize('page', notebooks.NOTEBOOKS)
def test_a_notebook_shows_what_its_page_quotes(page):
  found = map(notebooks.printed, notebooks.code_cells(committed(page)))
  quoted = [
      parts.outputs(blocks)[parts.NEWEST]
      for program, blocks in parts.PROGRAM.findall(read(page))
      if notebooks.is_cell(program)
  ]
  assert [*found] == ['', *quoted]


@pytest.mark.parametrize('page', notebooks.NOTEBOOKS)
def test_links_of_a_notebook_lead_to_files_and_headings(page):
  name, notebook = notebooks.NOTEBOOKS[page], committed(page)
  pages = {notebook: page for page, notebook in notebooks.NOTEBOOKS.items()}
  prose = '\n'.join(
      cell.source for cell in notebook.cells if cell.cell_type == 'markdown')
  prose = re.sub('^```.*?^```$', '', prose, flags=re.M | re.S)
  links = re.findall(r'\]\(([^)#:]*)(?:#([^)]+))?\)', prose)
  assert len(links) > 10
  for path, anchor in links:
    target = os.path.normpath(os.path.join(os.path.dirname(name), path))
    target = target if path else name
    assert (notebooks.ROOT / target).exists(), path
    if anchor and target in pages:
      assert anchor in notebooks.anchors(pages[target]).values(), anchor


@pytest.mark.slow
@pytest.mark.parametrize(
    'page', [page for page in notebooks.NOTEBOOKS if page not in KOREAN])
def test_cells_print_the_same_in_any_order_and_again(page):
  notebook = committed(page)
  cells = notebooks.code_cells(notebook)
  printed = [*map(notebooks.printed, cells)]
  client = notebooks.client_of(notebook)
  with client.setup_kernel():
    for number in [*range(len(cells)), *reversed(range(len(cells)))]:
      client.execute_cell(cells[number], number)
      assert notebooks.printed(cells[number]) == printed[number]
