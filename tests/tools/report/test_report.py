"""The report program: what it gathers, and the page that it writes."""

import argparse
import json
import os
import shutil
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10 import zoo
from cifar10.data import datasets
from cifar10.data.records import layout_for
from cifar10.errors import UserError
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from cifar10.tools.report import page
from cifar10.tools.report import report
from tests import processes
from tests import short_runs
from tests import synthetic_records
from tests.tools.report.parsed_page import Page
from tests.tools.report.parsed_page import pixels

pytest.importorskip('jinja2')
pytest.importorskip('matplotlib')

pytestmark = pytest.mark.slow

HELD_OUT = 'Precision @ 1, held-out images'


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A folder with a run of 40 steps on the sample, evaluated twice.

  The trainer validates at the same steps.
  """
  folder = tmp_path_factory.mktemp('trained')
  for steps in (20, 40):
    config = short_runs.small_config(folder, batch_size=16, max_steps=steps,
                                     summary_steps=2, seed=1,
                                     validation_examples=100,
                                     validation_steps=20)
    cifar10_train.train(config)
    cifar10_eval.evaluate(config)
  return folder


@pytest.fixture
def copied(trained, tmp_path):
  """A copy of the run, to be damaged."""
  shutil.copytree(str(trained / 'train'), str(tmp_path / 'train'))
  return tmp_path / 'train'


def test_what_is_gathered_of_a_run(trained):
  run = report.gather(str(trained / 'train'), str(trained / 'eval'))
  assert list(run.precisions) == ['Precision @ 1', HELD_OUT]
  for points in run.precisions.values():
    assert [point.step for point in points] == [20, 40]
  # The report and the evaluator agree.
  precisions = run.precisions['Precision @ 1']
  assert precisions[1].value == pytest.approx(run.predictions.precision)
  assert (run.predictions.step, run.left_out) == (40, [])
  averages = 'conv1/weights/ExponentialMovingAverage'
  checkpoint = checkpoints.latest(str(trained / 'train'))
  np.testing.assert_array_equal(run.filters,
                                tf.train.load_variable(checkpoint, averages))


def test_the_page_of_a_run(trained, tmp_path):
  out = tmp_path / 'page.html'
  flags = ['--out=%s' % out, '--eval_dir=%s' % (trained / 'eval')]
  checkpoint = checkpoints.latest(str(trained / 'train'))
  assert processes.run(
      [short_runs.script('report'),
       str(trained / 'train'),
       *flags]) == (0, '%s is written.\n' % out, 'Model: %s\n' % checkpoint)
  assert os.listdir(str(tmp_path)) == ['page.html']
  found = Page(out.read_text(encoding='utf-8'))
  assert found.title == 'Run report: train'
  assert found.charts == [
      'Loss', 'Precision @ 1, %', 'Learning rate', 'Images per second'
  ]
  assert found.headings == [
      'Confusion matrix', 'Precision and recall by class',
      'Most frequent mistakes', 'Most confident mistakes', 'Filters of conv1',
      'Starts', 'Settings'
  ]
  assert found.facts['Training time'][1] == 'starts: 2'
  matrix, classes, mistakes, starts, settings = found.tables
  assert [row[3] for row in starts[1:]] == ['', '--max_steps 20 -> 40']
  assert {row[0]: row[1] for row in settings}['--batch_size'] == '16'

  config = short_runs.small_config(trained, batch_size=500)
  records = np.fromfile(short_runs.prepared(config).test_files[0], np.uint8)
  records = records.reshape(-1, 3073)
  _, probabilities = short_runs.evaluated(config)
  labels, given = records[:, 0], probabilities.argmax(axis=1)
  counts = np.zeros([10, 10], int)
  np.add.at(counts, (labels, given), 1)
  assert matrix[1:] == [
      [name, *map(str, row)] for name, row in zip(datasets.CLASSES, counts)
  ]
  for number, row in enumerate(classes[1:]):
    right, answered = counts[number, number], counts[:, number].sum()
    precision = '%.1f\u00a0%%' % (100 * right / answered) if answered else '–'
    recall = '%.1f\u00a0%%' % (100 * right / 50)
    assert row == [datasets.CLASSES[number], '50', precision, recall]
  np.fill_diagonal(counts, 0)
  assert [int(row[2]) for row in mistakes[1:]] == sorted(counts.flat)[:-16:-1]
  check_mistakes(found, records, given, probabilities.max(axis=1))


def check_mistakes(found, records, given, surest):
  """Checks the images of the most confident mistakes, and their order."""
  labels, images = records[:, 0], synthetic_records.images_of(records)
  wrong = sorted(np.flatnonzero(given != labels), key=lambda i: -surest[i])
  pictures = [i for i in found.images if i.get('alt')]
  shown = [int(i.get('alt').split()[-1]) for i in pictures]
  assert len(shown) == 24
  np.testing.assert_allclose(surest[shown], surest[wrong[:24]], rtol=1e-4)
  for index, picture, caption in zip(shown, pictures, found.captions):
    np.testing.assert_array_equal(pixels(picture)[..., :3], images[index])
    right, answer = (datasets.CLASSES[x[index]] for x in (labels, given))
    assert caption.startswith(right + answer + ' ')
  filters = [i for i in found.images if not i.get('alt')]
  assert [pixels(i).shape for i in filters] == [(5, 5, 4)] * 64


def page_of(train_dir, eval_dir='/nowhere', **changes):
  run = report.gather(str(train_dir), str(eval_dir), **changes)
  return run, Page(page.render(run))


def test_without_events_the_checkpoint_is_reported(copied):
  for path in copied.glob('events*'):
    path.unlink()
  run, found = page_of(copied)
  assert run.left_out[0] == (
      'No event files in %s: no loss, learning rate, throughput.' % copied)
  assert run.left_out[1].startswith('No evaluations of this run in /nowhere ')
  assert all(line in found.text for line in run.left_out)
  assert found.charts == [] and len(found.tables) == 5


@pytest.mark.parametrize('train_dir, eval_dir, problem', [
    ('.', 'config.json', '--eval_dir: .*json is not a folder$'),
    ('config.json', 'none', 'train_dir: .*json is not a folder$'),
    ('empty', 'none', 'empty: holds neither event files nor a checkpoint; ')
])  # yapf: disable
def test_what_is_not_a_run_or_its_evaluations_is_named(copied, train_dir,
                                                       eval_dir, problem):
  (copied / 'empty').mkdir()
  with pytest.raises(UserError, match=problem):
    report.gather(
        *(os.path.join(str(copied), x) for x in (train_dir, eval_dir)))


def test_without_a_checkpoint_the_curves_are_reported(copied, tmp_path):
  data = tmp_path / 'data'
  settings = short_runs.small_config(tmp_path, dataset='cifar10')
  config_lib.save(settings, str(copied))
  _, found = page_of(copied, data_dir=str(data))
  assert '%s/cifar-10-batches-bin/test_batch.bin: no such' % data in found.text
  assert not data.exists()  # It was not fetched.
  assert len(found.charts) == 4
  assert len(found.images) == 64  # The filters need no data.
  (copied / 'model.ckpt-40.index').write_bytes(b'damaged')
  _, found = page_of(copied)
  assert 'model.ckpt-40: cannot be read' in found.text
  assert len(found.charts) == 4 and len(found.tables) == 2
  for path in copied.glob('model.ckpt-*'):
    path.unlink()
  (copied / 'config.json').unlink()
  run, found = page_of(copied)
  assert run.left_out[0] == 'No config.json in %s: no settings.' % copied
  assert run.left_out[-1].startswith('No checkpoint in %s: ' % copied)
  assert len(found.charts) == 4 and len(found.tables) == 1


def test_a_data_set_of_other_classes_is_not_predicted(copied):
  state = json.loads((copied / 'run_state.json').read_text())
  state['classes'][0] = 'zebra'
  (copied / 'run_state.json').write_text(json.dumps(state))
  run, found = page_of(copied)
  assert run.predictions is None
  assert 'the model was trained on zebra, automobile' in found.text


def flags_of(tmp_path, **changes):
  """The flags of the program, as `report.write` takes them."""
  flags = {'train_dir': str(tmp_path), 'eval_dir': None, 'data_dir': None}
  flags.update(changes, out=str(tmp_path / 'page.html'))
  return argparse.Namespace(**flags)


def test_a_model_of_the_package_has_no_curves(tmp_path, trained, monkeypatch,
                                              capsys):
  # The usual --eval_dir may hold evaluations of another run.
  monkeypatch.setattr(report.Settings, 'eval_dir', str(trained / 'eval'))
  synthetic_records.make_folder(tmp_path, per_file=20)
  args = flags_of(tmp_path, train_dir='pretrained:tutorial',
                  data_dir=str(tmp_path))
  report.write(args)
  folder = os.path.join(zoo.FOLDER, 'tutorial')
  assert capsys.readouterr().out.splitlines() == [
      'No event files in %s: no loss, learning rate, throughput.' % folder,
      'No evaluations of this run (--eval_dir): no precision curve.',
      '%s is written.' % args.out
  ]
  found = Page((tmp_path / 'page.html').read_text())
  assert len(found.images) > 64  # Filters, and mistakes.


@pytest.mark.parametrize('package, name', [('jinja2', 'Jinja2'),
                                           ('matplotlib', 'matplotlib')])
def test_a_missing_package_is_one_line(tmp_path, monkeypatch, package, name):
  monkeypatch.setitem(sys.modules, package, None)
  problem = r"needs %s: pip install '\.\[report\]'$" % name
  with pytest.raises(UserError, match=problem):
    report.write(flags_of(tmp_path))
  assert not (tmp_path / 'page.html').exists()


def test_only_a_report_is_written_over(tmp_path):
  path = tmp_path / 'notes.html'
  path.write_text('<html>my notes</html>')
  with pytest.raises(UserError, match='notes.html: is not a report; expected'):
    report.check_out(str(path))
  with pytest.raises(UserError, match='x.html: there is no such folder'):
    report.check_out(str(tmp_path / 'no' / 'x.html'))
  path.write_text('<!DOCTYPE html><head>%s' % page.MARK)
  report.check_out(str(path))
  report.check_out(str(tmp_path / 'new.html'))
  os.mkfifo(str(tmp_path / 'pipe'))
  with pytest.raises(UserError, match='pipe: is not a regular file'):
    report.check_out(str(tmp_path / 'pipe'))


def make_dataset(folder, names, layout, count):
  """Random images of a person's own classes; returns those of the test.

  There are `count` in each of two files of test images, and to train on.
  """
  files = ['test_1.bin', 'test_2.bin']
  synthetic_records.make_own_dataset(folder, classes=names, size=layout.height,
                                     test={'files': files})
  labels = np.arange(count) % len(names)
  parts = [synthetic_records.make_records(labels, i, layout) for i in range(2)]
  for name, records in zip([*files, 'train.bin'], [*parts, parts[0]]):
    (folder / name).write_bytes(records.tobytes())
  return synthetic_records.images_of(np.concatenate(parts), layout)


@pytest.mark.parametrize('classes, size, count', [(3, 48, 60), (300, 16, 300)])
def test_a_data_set_of_ones_own_in_gray(tmp_path, classes, size, count):
  names = ['<b>"%d" & co' % i for i in range(classes)]
  images = make_dataset(tmp_path, names, layout_for(size, 1, names), count)
  cifar10_train.train(
      short_runs.small_config(tmp_path, dataset='cifar10',
                              data_dir=str(tmp_path), batch_size=2,
                              max_steps=1))
  run, found = page_of(tmp_path / 'train')
  counts = run.predictions.confusion_matrix
  assert counts.shape == (classes, classes)
  assert counts.sum(axis=1).tolist() == [2 * count // classes] * classes
  assert len(found.charts) == 2  # No rate of a single step.
  # Many classes are a picture, not a table.
  assert len(found.tables) == (4 if classes == 3 else 3)
  assert [row[0] for row in found.tables[-3][1:]] == names
  shapes = [pixels(image).shape[:2] for image in found.images]
  assert shapes.count((5, 5)) == 64 and shapes.count((size, size)) == 24
  assert shapes.count((300, 300)) == (classes == 300)
  # Images of the second file too are the right ones.
  for image in found.images:
    if image.get('alt').startswith('Test image'):
      expected = images[int(image.get('alt').split()[-1])]
      np.testing.assert_array_equal(pixels(image)[..., :1], expected)
