"""The pages: every link, file and flag that they name exists."""

import functools
import os
from pathlib import Path
import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import cifar10 as package
from cifar10 import cifar10_eval
from cifar10 import cifar10_input
from cifar10 import settings as settings_lib
from cifar10.data import datasets
from cifar10.data import svhn
from tests import processes
from tests import short_runs
from tests import synthetic_records
from tests.pages import KOREAN
from tests.pages import read

ROOT = short_runs.ROOT
of_pages = short_runs.module_of('pages', 'page_parts')
PAGES = sorted(
    os.path.relpath(os.path.join(path, name), ROOT)
    for folder in ('.', 'docs', 'docs/ko', 'docs/ko/results', 'docs/results')
    for path, _, names in [next(os.walk(os.path.join(ROOT, folder)))]
    for name in names
    if name.endswith('.md'))
# Its programs are the cells of one notebook.
NOTEBOOK = os.path.join('docs', 'platforms.md')
# The tutorial quotes the original's files, and the scopes of a tower.
QUOTED = [
    'cifar10/%s.py' % name
    for name in ('cifar10_input', 'cifar10', 'cifar10_train',
                 'cifar10_multi_gpu_train', 'cifar10_eval', 'optim/towers')
]
# Flags of other programs, of absl, of test.sh, one for any, one misspelled.
FOREIGN = {
    'all', 'cpus', 'distribution', 'time', 'nodes', 'ntasks', 'requeue',
    'signal', 'batch_sise', 'help', 'version', 'logdir', 'logdir_spec',
    'use_fp16', 'num_examples', 'name', 'noname', 'port', 'rest_api_port',
    'model_name', 'model_base_path'
}


def anchors(page):
  """The anchors of a page's headings, as GitHub makes them."""
  return set(
      map(of_pages.anchor, re.findall(r'^#+ (.*)$', read(page), re.MULTILINE)))


def programs():
  """The programs in the pages, each with what it prints here.

  Pages in Korean have those of the English ones: see test_korean_pages.py.
  """
  here = of_pages.NEWEST if tf.__version__ >= '2' else of_pages.OLDEST
  for page in PAGES:
    if page != NOTEBOOK and page not in KOREAN:
      blocks = of_pages.PROGRAM.findall(read(page))
      for number, (program, outputs) in enumerate(blocks, 1):
        yield pytest.param(program,
                           of_pages.outputs(outputs)[here],
                           id='%s-%d' % (page, number))


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_in_their_order(tmp_path):
  text = read(NOTEBOOK).replace('/tmp/notebook', str(tmp_path))
  path = tmp_path / 'cells.py'
  path.write_text('\n'.join(
      re.findall('^```python\n(.*?)^```', text, re.M | re.S)))
  out = processes.output([path], env=dict(os.environ, PYTHONPATH=ROOT),
                         errors=processes.ANY)
  # Times, losses, rates and counts of right answers differ from run to run.
  changing = r'\d+-\d+-\d+ [\d:.]+\d|\d+\.\d+|\d+(?= / )'
  shape = functools.partial(re.sub, changing, '#')
  printed = iter([shape(line) for line in out.splitlines()])
  for block in re.findall('^```text\n(.*?)^```', text, re.M | re.S):
    for line in block.splitlines():
      assert line == '...' or shape(line) in printed, (line, out)


@pytest.mark.parametrize('program, printed', [*programs()])
def test_programs_print_what_the_page_says(program, printed, tmp_path):
  path = tmp_path / 'program.py'
  path.write_text(program)
  # Importing TensorFlow would be most of the time of a short program.
  status, out, err = processes.run([path], modules=('tensorflow.compat.v1',))
  assert (status, out) == (0, printed), err


@pytest.mark.parametrize('page', PAGES)
def test_what_links_call_by_name_is_defined_there(page):
  for name, path in re.findall(r'\[`(\w+)(?:\(\))?`\]\(([^)]+\.py)\)',
                               read(page)):
    code = read(os.path.normpath(os.path.join(os.path.dirname(page), path)))
    if path.endswith(f'/{name}.py'):  # The module itself.
      continue
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


def blocks_of_the_tutorial():
  """Its blocks of Python but for programs: quoted code, and answers."""
  parts = read('docs/tutorial.md').split('\n## Answers to the exercises\n')
  return [
      re.findall('^```python\n((?:(?!```).*\n)*)```\n(?!```text)', part, re.M)
      for part in parts
  ]


def test_the_tutorial_shows_the_code_as_it_is():
  shown, _ = blocks_of_the_tutorial()
  assert shown
  for code in shown:
    assert any(code in read(path) for path in QUOTED), code


def test_the_answers_in_inference_build_what_the_page_says():
  probabilities, local = blocks_of_the_tutorial()[1][:2]
  code = read('cifar10/cifar10.py')
  replaced = code[code.index('  # local3\n'):code.index('  # softmax_linear:')]
  edits = re.findall(r'`([^`]+)`\s+becomes\s+`([^`]+)`',
                     read('docs/tutorial.md'))
  assert len(edits) == 2
  for old, new in [(replaced, local), *edits]:
    assert code.count(old) == 1
    code = code.replace(old, new)
  names = {'__name__': 'cifar10.cifar10', '__package__': 'cifar10'}
  exec(code + probabilities, names)
  with tf.Graph().as_default(), tf.Session() as session:
    found = names['probabilities'](tf.random_normal([4, 24, 24, 3]))
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(found).sum(1), np.ones(4), rtol=1e-5)
    count = sum(v.shape.num_elements() for v in tf.trainable_variables())
  assert '| {:,} |\n'.format(count) in read('docs/departures.md')


def test_the_answer_makes_the_queue_smaller(monkeypatch):
  name, _, value = blocks_of_the_tutorial()[1][2].partition(' = ')
  size, before = map(int, re.findall(r'\d+', value))
  assert getattr(cifar10_input, name) == before
  data = datasets.DataSet((), (), counts=(before, 10000))
  monkeypatch.setattr(cifar10_input, name, size)
  assert cifar10_input.examples_in_queue(data, batch_size=128) == size


@pytest.mark.slow
def test_the_answers_evaluate_and_train(tmp_path, capsys):
  evaluate, train = blocks_of_the_tutorial()[1][3:5]
  synthetic_records.make_folder(tmp_path)
  config = short_runs.trained(tmp_path, dataset='cifar10', batch_size=10,
                              data_dir=str(tmp_path), use_moving_averages=False)
  path = tmp_path / 'program.py'
  path.write_text("""
import tensorflow.compat.v1 as tf
import cifar10
tf.flags.FLAGS(['', '--batch_size=10', '--data_dir=%s'])
%s
%s
for num_towers in 1, 2:
  with tf.Graph().as_default():
    step = train_op(num_towers)
    proto = tf.ConfigProto(allow_soft_placement=True)
    creator = tf.train.ChiefSessionCreator(config=proto)
    with tf.train.MonitoredSession(creator) as session:
      session.run(step)
    print(len(tf.trainable_variables()))
""" % (tmp_path, evaluate.replace('/tmp/cifar10_train',
                                  config.train_dir), train))
  out = processes.output([path], errors=processes.ANY)
  # 78 batches of 10 are each of the 20 test images, 39 times.
  cifar10_eval.evaluate(config)
  precision = short_runs.PRECISION_LINE.search(capsys.readouterr().out).group(1)
  lines = out.splitlines()
  assert lines[0] == 'precision @ 1 = ' + precision
  assert lines[2::2] == ['10', '10']


def test_the_answer_converts_house_numbers(tmp_path, monkeypatch):
  scipy_io = pytest.importorskip('scipy.io')
  monkeypatch.chdir(tmp_path)
  random = np.random.RandomState(0)
  for source, count in (('train_32x32.mat', 23), ('test_32x32.mat', 10)):
    images = random.randint(0, 256, (32, 32, 3, count), np.uint8)
    labels = np.arange(1, count + 1)[:, np.newaxis] % 10 + 1
    scipy_io.savemat(source, {'X': images, 'y': labels.astype(np.uint8)})
    svhn.write_records(source, source + '.bin')
  exec(blocks_of_the_tutorial()[1][5], {})
  for source in ('train', 'test'):
    found = tmp_path / (source + '.bin')
    expected = tmp_path / (source + '_32x32.mat.bin')
    assert found.read_bytes() == expected.read_bytes()
  data = short_runs.prepared(settings_lib.Settings(data_dir=str(tmp_path)))
  assert (data.classes, data.flip) == (tuple('0123456789'), False)


def test_the_citation_is_of_this_version():
  assert '\nversion: %s\n' % package.__version__ in read('CITATION.cff')


def known_flags():
  """The flags of all programs and scripts."""
  found = set(settings_lib.flag_names(*settings_lib.GROUP_OF.values()))
  found |= {'no' + name for name in found}
  for folder in ('cifar10', 'scripts'):
    for path in Path(ROOT, folder).rglob('*.py'):
      text = path.read_text(encoding='utf-8')
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
      for folder in ('cifar10', 'docs', 'scripts', 'tests')
      for path, _, names in os.walk(os.path.join(ROOT, folder))
      for name in names
  }
  there |= {'/' + name for name in os.listdir(ROOT)}
  # Pages name modules of a wing from the folder that they speak of.
  for name in named:
    assert any(path.endswith('/' + name.lstrip('./')) for path in there), name


@pytest.mark.parametrize('page', PAGES)
def test_flags_exist(page):
  text = re.sub(r'(?:nft|pip install|pipx run|uvx) .*', '', read(page))
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
