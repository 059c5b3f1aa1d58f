"""The pages: every link, file and flag that they name exists."""

import functools
import os
import re

import pytest
import tensorflow.compat.v1 as tf

import cifar10 as package
from cifar10 import settings as settings_lib
from tests import processes
from tests import short_runs
from tests import test_korean_pages

ROOT = short_runs.ROOT
PAGES = sorted(
    os.path.relpath(os.path.join(path, name), ROOT)
    for folder in ('.', 'docs', 'docs/ko', 'docs/results')
    for path, _, names in [next(os.walk(os.path.join(ROOT, folder)))]
    for name in names
    if name.endswith('.md'))
# Its programs are the cells of one notebook.
NOTEBOOK = os.path.join('docs', 'platforms.md')
# Their programs are those of the English pages.
KOREAN = test_korean_pages.PAGES
# Flags of other programs, of absl, one that stands for any, one misspelt.
FOREIGN = {
    'cpus', 'distribution', 'time', 'nodes', 'ntasks', 'requeue', 'signal',
    'batch_sise', 'help', 'version', 'logdir', 'logdir_spec', 'use_fp16',
    'num_examples', 'name', 'noname', 'port', 'rest_api_port', 'model_name',
    'model_base_path'
}


def read(page):
  with open(os.path.join(ROOT, page), encoding='utf-8') as text:
    return text.read()


def anchors(page):
  """The anchors of a page's headings, as GitHub makes them."""
  headings = re.findall(r'^#+ (.*)$', read(page), re.MULTILINE)
  kept = (re.sub(r'[^\w\- ]', '', heading.lower()) for heading in headings)
  return {heading.replace(' ', '-') for heading in kept}


def programs():
  """The programs in the pages, each with what it prints here.

  Pages in Korean have those of the English ones: see test_korean_pages.py.
  """
  block = re.compile('^```python\n(.*?)^```\n((?:^```text.*?\n(?:.*?)^```\n)+)',
                     re.M | re.S)
  return [
      pytest.param(program, printed_here(outputs), id='%s-%d' % (page, number))
      for page in PAGES if page != NOTEBOOK and page not in KOREAN
      for number, (program, outputs) in enumerate(block.findall(read(page)), 1)
  ]


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_in_their_order(tmp_path):
  text = read(NOTEBOOK).replace('/tmp/notebook', str(tmp_path))
  path = tmp_path / 'cells.py'
  path.write_text('\n'.join(
      re.findall('^```python\n(.*?)^```', text, re.M | re.S)))
  status, out, err = processes.run([path], env=dict(os.environ,
                                                    PYTHONPATH=ROOT))
  assert status == 0, err
  # Times, losses, rates and counts of right answers differ from run to run.
  changing = r'\d+-\d+-\d+ [\d:.]+\d|\d+\.\d+|\d+(?= / )'
  shape = functools.partial(re.sub, changing, '#')
  printed = iter([shape(line) for line in out.splitlines()])
  for block in re.findall('^```text\n(.*?)^```', text, re.M | re.S):
    for line in block.splitlines():
      assert line == '...' or shape(line) in printed, (line, out)


def printed_here(outputs):
  """What a program prints on this version: blocks of others have a title."""
  blocks = re.findall('^```text(.*)\n((?:.*\n)*?)^```\n', outputs, re.M)
  titles = ['', ' title="TensorFlow 2"', ' title="TensorFlow 1.15.5"']
  assert {title for title, _ in blocks} in ({titles[0]}, set(titles[1:]))
  return dict(blocks).get(titles[1 if tf.__version__ >= '2' else 2],
                          blocks[0][1])


@pytest.mark.parametrize('program, printed', programs())
def test_programs_print_what_the_page_says(program, printed, tmp_path):
  path = tmp_path / 'program.py'
  path.write_text(program)
  # Importing TensorFlow would be most of the time of a short program.
  status, out, err = processes.run([path], modules=('tensorflow.compat.v1',))
  assert (status, out) == (0, printed), err


def sources(*folders):
  """The text of each file of Python in folders of the project."""
  return [
      read(os.path.join(path, name))
      for folder in folders
      for path, _, names in os.walk(os.path.join(ROOT, folder))
      for name in names
      if name.endswith('.py')
  ]


@pytest.mark.parametrize('page', PAGES)
def test_what_links_call_by_name_is_defined_there(page):
  for name, path in re.findall(r'\[`(\w+)(?:\(\))?`\]\(([^)]+\.py)\)',
                               read(page)):
    code = read(os.path.normpath(os.path.join(os.path.dirname(page), path)))
    definition = r'^(?:def |class |)%s(?:\(|:| =)' % name
    assert re.search(definition, code, re.MULTILINE), (name, path)


def test_the_tutorial_has_the_sections_of_the_original_in_their_order():
  headings = re.findall('^##+ (.*)$', read('docs/tutorial.md'), re.MULTILINE)
  assert [heading.lower() for heading in headings[:16]] == [
      'overview', 'goals', 'highlights of the tutorial', 'model architecture',
      'code organization', 'cifar-10 model', 'model inputs', 'model prediction',
      'model training', 'launching and training the model',
      'evaluating a model', 'training a model using multiple gpu cards',
      'placing variables and operations on devices',
      'launching and training the model on multiple gpu cards', 'next steps',
      'answers to the exercises'
  ]


def test_the_tutorial_shows_the_code_as_it_is():
  shown = re.findall('^```python\n(.*?)^```', read('docs/tutorial.md'),
                     re.M | re.S)
  assert shown
  for code in shown:
    assert any(code in source for source in sources('cifar10')), code


def test_the_citation_is_of_this_version():
  assert '\nversion: %s\n' % package.__version__ in read('CITATION.cff')


def known_flags():
  """The flags of all programs and scripts."""
  found = set(settings_lib.flag_names(*settings_lib.GROUP_OF.values()))
  found |= {'no' + name for name in found}
  for text in sources('cifar10', 'scripts'):
    found |= set(re.findall(r"\badd(?:_argument)?\(\s*'--(\w+)'", text))
  return found | FOREIGN


@pytest.mark.parametrize('page', PAGES)
def test_links_lead_somewhere(page):
  prose = re.sub(r'^    .*$', '', read(page), flags=re.MULTILINE)
  links = re.findall(r'\]\(([^)]+)\)', prose)
  for link in links:
    if link.startswith(('http://', 'https://')):
      continue
    path, _, anchor = link.partition('#')
    target = page
    if path:
      target = os.path.normpath(os.path.join(os.path.dirname(page), path))
      assert os.path.exists(os.path.join(ROOT, target)), link
    if anchor:
      assert anchor in anchors(target), link


@pytest.mark.parametrize('page', PAGES)
def test_files_exist(page):
  named = set(re.findall(r'[\w/]+\.(?:py|sh|css)\b', read(page)))
  there = {
      '/' + os.path.relpath(os.path.join(path, name), ROOT)
      for folder in ('cifar10', 'scripts', 'tests')
      for path, _, names in os.walk(os.path.join(ROOT, folder))
      for name in names
  }
  there |= {'/' + name for name in os.listdir(ROOT)}
  # Pages name modules of a wing from the folder that they speak of.
  for name in named:
    assert any(path.endswith('/' + name.lstrip('./')) for path in there), name


@pytest.mark.parametrize('page', PAGES)
def test_flags_exist(page):
  text = re.sub(r'nft .*|pip install .*', '', read(page))
  named = set(re.findall(r'(?<![\w-])--(\w+)', text))
  assert named <= known_flags(), named - known_flags()


def test_all_modules_are_on_the_page_of_the_architecture():
  page, package = read('docs/architecture.md'), os.path.join(ROOT, 'cifar10')
  for path, _, names in os.walk(package):
    for name in names:
      if name.endswith('.py') and name != '__init__.py':
        module = os.path.relpath(os.path.join(path, name), package)
        room, _, in_room = module.partition(os.sep)
        assert '`%s`' % (in_room or room) in page, module


def test_all_flags_are_on_the_page_of_flags():
  flags = set(settings_lib.flag_names(*settings_lib.GROUP_OF.values()))
  named = set(re.findall(r'--(\w+)', read('docs/flags.md')))
  named |= {name[2:] for name in named if name.startswith('no')}
  assert flags <= named, flags - named
