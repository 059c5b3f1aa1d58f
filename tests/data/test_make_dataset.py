"""Data sets of the user's own pictures, from pictures to predictions."""

import json
import os
import sys

import numpy as np
import pytest

from cifar10 import cifar10_train
from cifar10.data import make_dataset
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records

EXPECTED = ('FOLDER/<class>/<pictures>, or FOLDER/train/<class>/<pictures> and '
            'FOLDER/test/<class>/<pictures>')


def contents(out):
  """Reads a data set; returns its DataSet and {part: [(class, image)]}."""
  data = short_runs.prepared(Settings(data_dir=str(out)))
  found = {}
  for part, (path,) in (('train', data.train_files), ('test', data.test_files)):
    records = np.fromfile(path, np.uint8).reshape(-1, data.layout.record_bytes)
    labels = data.layout.labels(records.astype(int))
    images = synthetic_records.images_of(records, data.layout)
    found[part] = [(data.classes[k], i) for k, i in zip(labels, images)]
  return data, found


def keys(items):
  """Makes a list of (class, image) comparable, in any order."""
  return sorted((name, image.tobytes()) for name, image in items)


@pytest.fixture
def make(monkeypatch):
  """Makes a data set, in this process."""

  def call(folder, out, *flags):
    arguments = ['make_dataset', str(folder), '--out=%s' % out]
    monkeypatch.setattr(sys, 'argv', arguments + list(flags))
    make_dataset.make(make_dataset.parser().parse_args())

  return call


@pytest.fixture
def error_of(make):
  """Fails to make a data set; returns the error. Nothing is left behind."""

  def call(folder, out, *flags):
    before = sorted(os.listdir(str(out.parent)))
    with pytest.raises((UserError, OSError)) as info:
      make(folder, out, *flags)
    assert sorted(os.listdir(str(out.parent))) == before
    assert '\n' not in str(info.value)
    return str(info.value)

  return call


def test_every_picture_is_in_one_part_with_its_class(tmp_path):
  counts = {'b': 10, 'a': 25, 'c c': 2, 'd': 3}
  made = picture_folders.write_noise(tmp_path / 'in', counts)
  status, printed, err = picture_folders.make_dataset(tmp_path / 'in',
                                                      tmp_path / 'out',
                                                      '--size=8')
  data, found = contents(tmp_path / 'out')
  assert data.classes == ('a', 'b', 'c c', 'd')
  assert data.layout == Layout(8, 8, 3) and data.flip
  assert data.counts == (31, 9)
  assert keys(found['train'] + found['test']) == keys(made)
  rare = 'found 20 training images of a and 1 of c c; a model seldom recognizes'
  assert f'{tmp_path / "out"}: {rare} such a rare class.\n' in printed
  tests = [name for name, _ in found['test']]
  expected = {'a': 5, 'b': 2, 'c c': 1, 'd': 1}
  assert {n: tests.count(n) for n in counts} == expected
  # Not sorted by class.
  trained = [name for name, _ in found['train']]
  assert trained != sorted(trained)
  lines = printed.splitlines()
  assert lines[-2:] == [
      '%s: 4 classes, 31 pictures to train on, 9 to test on; 0 broken.' %
      (tmp_path / 'out'),
      'To train: python %s --data_dir=%s --train_dir=%s_run' %
      (short_runs.script('cifar10_train'), tmp_path / 'out', tmp_path / 'out')
  ]
  assert (status, err) == (0, '') and '\r' not in printed
  assert sorted(os.listdir(str(
      tmp_path / 'out'))) == ['dataset.json', 'test.bin', 'train.bin']
  assert sorted(os.listdir(str(tmp_path))) == ['in', 'out']


def test_folders_may_be_links(tmp_path, make, capsys):
  for name in ('train', 'test'):
    where = tmp_path / 'elsewhere' / name
    picture_folders.write_noise(where, {'c': 3, 'd': 3})
    (tmp_path / 'in').mkdir(exist_ok=True)
    (tmp_path / 'in' / name).symlink_to(where)
  make(tmp_path / 'in', tmp_path / 'out')
  assert capsys.readouterr().err == ''
  data, _ = contents(tmp_path / 'out')
  assert sum(data.counts) == 12


def test_the_same_seed_yields_the_same_bytes(tmp_path, make):
  picture_folders.write_noise(tmp_path / 'in', {'a': 12, 'b': 12})
  made = {}
  for name, flags in (('one', []), ('again', []),
                      ('other', ['--seed=1', '--test_fraction=0.5'])):
    make(tmp_path / 'in', tmp_path / name, '--size=8', *flags)
    made[name] = {
        n: (tmp_path / name / n).read_bytes()
        for n in os.listdir(str(tmp_path / name))
    }
  assert made['one'] == made['again']
  assert made['one']['train.bin'] != made['other']['train.bin']
  _, found = contents(tmp_path / 'other')
  assert len(found['test']) == len(found['train']) == 12


def test_a_split_by_the_user_is_kept(tmp_path, make, error_of):
  folder, out = tmp_path / 'in', tmp_path / 'out'
  made = {
      'train': picture_folders.write_noise(folder / 'train', {'a': 3, 'b': 4}),
      'test': picture_folders.write_noise(folder / 'test', {'a': 1, 'b': 5})
  }  # yapf: disable
  make(folder, out, '--size=8', '--noflip')
  data, found = contents(out)
  assert not data.flip
  for part, pictures in made.items():
    assert keys(found[part]) == keys(pictures)
  picture_folders.write_noise(folder / 'test', {'c': 2})
  line = error_of(folder, tmp_path / 'more')
  assert line == '%s: no pictures found of class c' % (folder / 'train')
  (folder / 'valid').mkdir()
  line = error_of(folder, tmp_path / 'more')
  assert line == (
      '%s: found test, train, valid; expected only train and test, or one '
      'folder per class' % folder)


def test_parts_of_other_names_are_not_taken_for_classes(tmp_path, make,
                                                        error_of):
  folder = tmp_path / 'in'
  for part in ('Train', 'val'):
    picture_folders.write_noise(folder / part, {'a': 3, 'b': 2})
  assert error_of(folder, tmp_path / 'out') == (
      '%s: found Train, val; expected only train and test, or one folder per '
      'class' % folder)
  # Pictures of trains and of a test.
  picture_folders.write_noise(tmp_path / 'classes', {'train': 3, 'testing': 2})
  make(tmp_path / 'classes', tmp_path / 'out')
  assert contents(tmp_path / 'out')[0].classes == ('testing', 'train')


def test_broken_pictures_and_other_files_are_named(tmp_path, make, error_of,
                                                   capsys):
  folder = tmp_path / 'in'
  picture_folders.write_noise(folder, {'a': 3, 'b': 3})
  (folder / 'a' / 'broken.png').write_bytes(
      (folder / 'a' / '0.png').read_bytes()[:-30])
  (folder / 'b' / 'page.JPG').write_text('<html>')
  (folder / 'b' / 'notes.txt').write_text('')
  (folder / 'b' / '.hidden.png').write_text('')
  (folder / '.git').mkdir()
  (folder / 'b' / 'up').symlink_to('..')  # A cycle, which is not entered.
  make(folder, tmp_path / 'out', '--size=8')
  printed, err = capsys.readouterr()
  assert '2 classes, 4 pictures to train on, 2 to test on; 2 broken.' in printed
  lines = err.splitlines()
  skipped = '2 other files in {0}/ skipped: {0}/b/notes.txt, {0}/b/up'
  assert lines[0] == skipped.format(folder)
  broken = sorted(line.split(': ')[0] for line in lines[1:])
  assert broken == [
      str(folder / 'a' / 'broken.png'),
      str(folder / 'b' / 'page.JPG')
  ]
  # A class without enough pictures that are not broken.
  (folder / 'a' / '0.png').unlink()
  (folder / 'a' / '1.png').unlink()
  line = error_of(folder, tmp_path / 'none')
  assert line == (
      '%s: pictures of class a: found 1 to train on and 0 to test on, expected '
      'at least one of each' % folder)


def test_errors_are_one_line(tmp_path, error_of):
  folder, out = tmp_path / 'in', tmp_path / 'out'
  missing = f'{folder}: no such folder; expected {EXPECTED}'
  assert error_of(folder, out) == missing
  folder.mkdir()
  assert error_of(folder, out) == (
      f'{folder}: class folders: found 0, expected two or more: {EXPECTED}')
  picture_folders.write_noise(folder, {'a': 2})
  (folder / 'b').mkdir()
  assert error_of(folder, out) == f'{folder}: no pictures found of class b'
  picture_folders.write_noise(folder, {'b': 1})
  assert 'pictures of class b: found 1 to train on' in error_of(folder, out)
  out.mkdir()
  assert error_of(
      folder, out) == (f'--out={out}: already exists; expected a new folder')
  assert os.listdir(str(out)) == []


def test_a_name_that_is_no_text_and_a_place_among_the_pictures_are_refused(
    tmp_path, error_of):
  folder = tmp_path / 'in'
  picture_folders.write_noise(folder, {'a': 2, 'b': 2})
  inside = folder / 'new'
  assert error_of(folder,
                  inside).startswith('--out=%s: is in %s, ' % (inside, folder))
  os.mkdir(os.fsencode(str(folder)) + b'/\xff')
  line = error_of(folder, tmp_path / 'out')
  assert line.endswith(" '\\udcff' is not valid UTF-8")
  assert os.listdir(str(tmp_path)) == ['in']


@pytest.mark.slow
def test_from_pictures_to_predictions(tmp_path, make, capsys):
  for name, images in picture_folders.shapes(40, 64).items():
    picture_folders.write_pngs(tmp_path / 'in' / name, images)
  out, train_dir = tmp_path / 'out', tmp_path / 'train'
  make(tmp_path / 'in', out, '--size=48')
  capsys.readouterr()
  cifar10_train.train(
      short_runs.small_config(tmp_path, dataset='cifar10', data_dir=str(out),
                              max_steps=40, log_frequency=10, seed=1))
  printed = capsys.readouterr().out
  # 0.4 of 96 images, with the name of the folder.
  assert printed.startswith('Filling queue with 38 out images before ')
  assert short_runs.steps(printed) == [0, 10, 20, 30]
  checkpoint_dir = f'--checkpoint_dir={train_dir}'
  status, printed, err = short_runs.run('cifar10_eval', '--dataset=cifar10',
                                        f'--data_dir={out}', '--run_once',
                                        f'--eval_dir={tmp_path}/eval',
                                        checkpoint_dir)
  assert (status, processes.without_model(err)) == (0, '')
  ((_, correct, total, _),) = short_runs.PRECISION_LINE.findall(printed)
  assert int(total) == 24 and int(correct) >= 16  # Chance is 8.
  classes = ('disc', 'square', 'triangle')
  new = [images[0] for images in picture_folders.shapes(1, 200, 7).values()]
  picture_folders.write_pngs(tmp_path / 'new', new)
  status, printed, err = processes.run(
      [short_runs.script('cifar10_predict'), '--json', checkpoint_dir] +
      [str(tmp_path / 'new' / f'{k}.png') for k in range(3)])
  assert (status, processes.without_model(err)) == (0, '')
  answers = [json.loads(line) for line in printed.splitlines()]
  assert tuple(answers[0]['probabilities']) == classes
  right = [a['class'] == c for a, c in zip(answers, classes)]
  assert len(right) == 3 and sum(right) >= 2
