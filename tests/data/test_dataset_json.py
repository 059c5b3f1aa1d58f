"""datasets.json: what is written is read, and what is wrong is named."""

import hashlib
import json

import numpy as np
import pytest

from cifar10.data import datasets
from cifar10.data import dataset_json
from cifar10.config import Config
from cifar10.errors import UserError
from tests import records as records_lib
from tests import short_runs


def write(folder, **changes):
  """Writes a datasets.json with something changed; returns its path."""
  value = {'classes': ['a', 'b'], 'size': 8, 'channels': 1, 'flip': True}
  value.update(train={'files': ['x']}, test={'files': ['y', 'z'], 'count': 7})
  value.update(changes)
  path = folder / 'dataset.json'
  path.write_text(json.dumps(value))
  return str(path)


def test_what_is_saved_is_what_is_loaded(tmp_path):
  classes = ['x', '\u00fc']
  layout = datasets.layout_for(8, 1, classes)
  records = records_lib.make_records([0, 1, 1], layout=layout)
  (tmp_path / 'train.bin').write_bytes(records.tobytes())
  (tmp_path / 'test.bin').write_bytes(records[:2].tobytes())
  dataset_json.save(str(tmp_path), classes, 8, 1, flip=False, counts=(3, 2))
  data = datasets.prepare(Config(data_dir=str(tmp_path)))
  assert data == datasets.DataSet(
    train_files=(str(tmp_path / 'train.bin'),),
    test_files=(str(tmp_path / 'test.bin'),),
    classes=tuple(classes),
    layout=datasets.Layout(8, 8, 1),
    flip=False,
    counts=(3, 2),
    name=tmp_path.name,
  )
  value = json.loads((tmp_path / 'dataset.json').read_text())
  assert value['sha256'] == {
    'train.bin': hashlib.sha256(records.tobytes()).hexdigest(),
    'test.bin': hashlib.sha256(records[:2].tobytes()).hexdigest(),
  }


def test_counts_need_not_be_said(tmp_path):
  said = dataset_json.load(write(tmp_path))
  assert said.train == ((str(tmp_path / 'x'),), None)
  assert said.test == (tuple(str(tmp_path / n) for n in 'yz'), 7)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'size': None}, 'TypeError'),
    ({'train': []}, 'TypeError'),
    ({'test': {}}, "KeyError..files'"),
    ({'test': {'files': 'test.bin'}}, 'files of test are no list'),
    ({'classes': ['a']}, '1 classes; expected 2 or more'),
    ({'classes': ['a', 'b', 'a']}, 'two classes of one name'),
    ({'classes': ['a', '\udcff']}, 'UnicodeEncodeError'),
    ({'size': float('inf')}, 'OverflowError'),
    ({'size': 1}, 'size 1; expected 2 or more'),
    ({'channels': 4}, '4 channels; expected 3 or 1'),
    ({'test': {'files': []}}, 'no files'),
  ],
)
def test_a_wrong_description_is_named(tmp_path, changes, message):
  path = write(tmp_path, **changes)
  with pytest.raises(UserError, match=message) as info:
    dataset_json.load(path)
  assert str(info.value).startswith(path + ': ')
  assert '\n' not in str(info.value)


def test_a_missing_description_is_named(tmp_path):
  with pytest.raises(UserError, match='dataset.json: no such file$'):
    dataset_json.load(str(tmp_path / 'dataset.json'))


def test_the_smallest_images_train(tmp_path):
  # Of smaller ones, nothing would be left when they are cropped.
  size = dataset_json.SMALLEST
  layout = datasets.layout_for(size, 1, 'ab')
  records = np.random.RandomState(0).randint(0, 2, (8, layout.record_bytes))
  for name in ('train.bin', 'test.bin'):
    (tmp_path / name).write_bytes(records.astype(np.uint8).tobytes())
  dataset_json.save(str(tmp_path), 'ab', size, 1, flip=True, counts=(8, 8))
  status, out, err = short_runs.run(
    'cifar10_train',
    '--dataset=cifar10',
    '--data_dir=%s' % tmp_path,
    '--train_dir=%s' % (tmp_path / 'run'),
    '--batch_size=4',
    '--max_steps=1',
  )
  assert (status, err) == (0, '')
  assert short_runs.steps(out) == [0]
