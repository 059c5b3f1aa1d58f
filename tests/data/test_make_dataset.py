"""Data sets of the user's own pictures, from pictures to predictions."""

import json
import os

import numpy as np
import pytest

from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.data import make_dataset
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records


def contents(out):
  """Reads a data set; returns its DataSet and {part: [(class, image)]}."""
  data = short_runs.prepared(Settings(data_dir=str(out)))
  found = {}
  for part, (path,) in (('train', data.train_files), ('test', data.test_files)):
    records = np.fromfile(path, np.uint8).reshape(-1, data.layout.record_bytes)
    labels = records_lib.labels(records, data.layout)
    images = synthetic_records.images_of(records, data.layout)
    found[part] = [(data.classes[k], i) for k, i in zip(labels, images)]
  return data, found


def keys(items):
  """Makes a list of (class, image) comparable, in any order."""
  return sorted((name, image.tobytes()) for name, image in items)


def make(folder, out, *flags):
  """Makes a data set, in this process."""
  arguments = [str(folder), '--out=%s' % out, *flags]
  make_dataset.make(make_dataset.parser().parse_args(arguments))


def error_of(folder, out, *flags):
  """Fails to make a data set; returns the error. Nothing is left behind."""
  before = sorted(os.listdir(str(out.parent)))
  with pytest.raises((UserError, OSError)) as info:
    make(folder, out, *flags)
  assert sorted(os.listdir(str(out.parent))) == before
  return str(info.value)


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
  *_, done, train = printed.splitlines()
  assert done.endswith(
      'out: 4 classes, 31 pictures to train on, 9 to test on; 0 broken.')
  assert train.startswith('To train: python ')
  assert train.endswith(
      'cifar10_train.py --data_dir={0} --train_dir={0}_run'.format(tmp_path /
                                                                   'out'))
  assert (status, err) == (0, '') and '\r' not in printed
  assert sorted(os.listdir(str(
      tmp_path / 'out'))) == ['dataset.json', 'test.bin', 'train.bin']
  assert sorted(os.listdir(str(tmp_path))) == ['in', 'out']


def test_the_same_seed_yields_the_same_bytes(tmp_path):
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


def test_a_split_by_the_user_is_kept_and_folders_may_be_links(tmp_path, capsys):
  counts = {'train': {'a': 3, 'b': 4}, 'test': {'a': 1, 'b': 5}}
  made = {}
  (tmp_path / 'in').mkdir()
  for part in counts:
    folder = tmp_path / 'elsewhere' / part
    made[part] = picture_folders.write_noise(folder, counts[part])
    (tmp_path / 'in' / part).symlink_to(folder)
  make(tmp_path / 'in', tmp_path / 'out', '--size=8', '--noflip')
  assert capsys.readouterr().err == ''
  data, found = contents(tmp_path / 'out')
  assert not data.flip
  for part, pictures in made.items():
    assert keys(found[part]) == keys(pictures)


def test_classes_may_be_called_like_parts(tmp_path):
  picture_folders.write_noise(tmp_path / 'in', {'train': 3, 'testing': 2})
  make(tmp_path / 'in', tmp_path / 'out')
  assert contents(tmp_path / 'out')[0].classes == ('testing', 'train')


def test_broken_pictures_and_other_files_are_named(tmp_path, capsys):
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
  assert ': pictures of class a: found 1 to train on and 0 to test ' in line


# Folders with their numbers of pictures, and the error.
@pytest.mark.parametrize('counts, problem', [
    ({}, ': no such folder; expected FOLDER/<class>/<pictures>, or FOLDER/tra'),
    ({'.git': 1}, ': class folders: found 0, expected two or more: FOLDER/<'),
    ({'a': 2, 'b': 0}, ': no pictures found of class b'),
    ({'a': 2, 'b': 1}, ': pictures of class b: found 1 to train on and 0 to t'),
    ({'train/a': 1, 'train/b': 1, 'test/a': 1, 'test/b': 1, 'test/c': 1},
     '/train: no pictures found of class c'),
    ({'train/a': 1, 'test/a': 1, 'valid/a': 1},
     ': found test, train, valid; expected only train and test, or one folder'),
    ({'Train/a': 1, 'Train/b': 1, 'val/a': 1}, ': found Train, val; expected '),
])  # yapf: disable
def test_folders_of_another_form_are_named(tmp_path, counts, problem):
  picture_folders.write_noise(tmp_path / 'in', counts)
  line = error_of(tmp_path / 'in', tmp_path / 'out')
  assert line.startswith(f'{tmp_path}/in{problem}')


def test_a_place_that_is_taken_or_among_the_pictures_is_refused(tmp_path):
  folder = tmp_path / 'in'
  picture_folders.write_noise(folder, {'a': 2, 'b': 2})
  for out, problem in ((folder, 'already exists'), (folder / 'x', 'is in ')):
    assert error_of(folder, out).startswith(f'--out={out}: {problem}')
  os.mkdir(os.fsencode(str(folder)) + b'/\xff')
  line = error_of(folder, tmp_path / 'out')
  assert line.endswith(" '\\udcff' is not valid UTF-8")


@pytest.mark.slow
def test_from_pictures_to_predictions(tmp_path, capsys):
  for name, images in picture_folders.shapes(40, 64).items():
    picture_folders.write_pngs(tmp_path / 'in' / name, images)
  out = tmp_path / 'out'
  make(tmp_path / 'in', out, '--size=48')
  capsys.readouterr()
  config = short_runs.small_config(tmp_path, dataset='cifar10',
                                   data_dir=str(out), max_steps=40,
                                   log_frequency=10, seed=1)
  cifar10_train.train(config)
  printed = capsys.readouterr().out
  # 0.4 of 96 images, with the name of the folder.
  assert printed.startswith('Filling queue with 38 out images before ')
  assert short_runs.steps(printed) == [0, 10, 20, 30]
  cifar10_eval.evaluate(config)
  printed = capsys.readouterr().out
  ((_, correct, total, _),) = short_runs.PRECISION_LINE.findall(printed)
  assert int(total) == 24 and int(correct) >= 16  # Chance is 8.
  classes = ('disc', 'square', 'triangle')
  new = [images[0] for images in picture_folders.shapes(1, 200, 7).values()]
  picture_folders.write_pngs(tmp_path / 'new', new)
  printed = processes.output(
      [short_runs.script('cifar10_predict'), '--json'] +
      [f'--checkpoint_dir={config.train_dir}'] +
      [str(tmp_path / 'new' / f'{k}.png') for k in range(3)],
      errors=processes.MODELS)
  answers = [json.loads(line) for line in printed.splitlines()]
  assert tuple(answers[0]['probabilities']) == classes
  right = [a['class'] == c for a, c in zip(answers, classes)]
  assert len(right) == 3 and sum(right) >= 2
