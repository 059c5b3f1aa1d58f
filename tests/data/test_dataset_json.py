"""dataset.json: writing, reading, and errors in it."""

import hashlib
import json

import numpy as np
import pytest

from cifar10 import cifar10_train
from cifar10.data import dataset_json
from cifar10.data import datasets
from cifar10.data.records import Layout
from cifar10.data.records import layout_for
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import short_runs
from tests import synthetic_records


def write(folder, **changes):
  """Writes a dataset.json with some entries changed; returns its path."""
  value = {'classes': ['a', 'b'], 'size': 8, 'channels': 1, 'flip': True}
  value.update(train={'files': ['x']}, test={'files': ['y', 'z'], 'count': 7})
  value.update(changes)
  path = folder / 'dataset.json'
  path.write_text(json.dumps(value))
  return str(path)


def test_a_saved_description_is_loaded(tmp_path):
  classes = ['x', '\u00fc']  # Not ASCII.
  layout = layout_for(8, 1, classes)
  records = synthetic_records.make_records([0, 1, 1], layout=layout)
  (tmp_path / 'train.bin').write_bytes(records.tobytes())
  (tmp_path / 'test.bin').write_bytes(records[:2].tobytes())
  dataset_json.save(str(tmp_path), classes, 8, 1, flip=False, counts=(3, 2))
  data = short_runs.prepared(Settings(data_dir=str(tmp_path)))
  assert data == datasets.DataSet(train_files=(str(tmp_path / 'train.bin'),),
                                  test_files=(str(tmp_path / 'test.bin'),),
                                  classes=tuple(classes),
                                  layout=Layout(8, 8, 1), flip=False,
                                  counts=(3, 2), name=tmp_path.name)
  value = json.loads((tmp_path / 'dataset.json').read_text())
  assert value['sha256'] == {
      'train.bin': hashlib.sha256(records.tobytes()).hexdigest(),
      'test.bin': hashlib.sha256(records[:2].tobytes()).hexdigest()
  }


def test_counts_are_optional(tmp_path):
  assert dataset_json.load(write(tmp_path)) == {
      'train_files': (str(tmp_path / 'x'),),
      'test_files': tuple(str(tmp_path / n) for n in 'yz'),
      'classes': ('a', 'b'),
      'layout': Layout(8, 8, 1),
      'flip': True,
      'counts': (None, 7)
  }


@pytest.mark.parametrize(
    'changes, message', [({
        'size': None
    }, 'TypeError'), ({
        'train': []
    }, 'TypeError'), ({
        'test': {}
    }, "KeyError..files'"),
                         ({
                             'test': {
                                 'files': 'test.bin'
                             }
                         }, 'the files of test are not a list'),
                         ({
                             'train': {
                                 'files': ['a.bin', 'a.bin']
                             }
                         }, 'train names a file twice'),
                         ({
                             'classes': 'ab'
                         }, 'classes is not a list'),
                         ({
                             'classes': ['a']
                         }, '1 classes; expected 2 or more'),
                         ({
                             'classes': ['a', 'b', 'a']
                         }, 'two classes have the same name'),
                         ({
                             'size': 48.9
                         }, 'size is 48.9; expected an integer'),
                         ({
                             'size': 8.0
                         }, 'size is 8.0; expected an integer'),
                         ({
                             'size': '8'
                         }, "size is '8'; expected an integer"),
                         ({
                             'size': True
                         }, 'size is True; expected an integer'),
                         ({
                             'size': float('inf')
                         }, 'size is inf; expected an integer'),
                         ({
                             'size': 1
                         }, 'size 1; expected 2 to 10000'),
                         ({
                             'size': 10001
                         }, 'size 10001; expected 2 to 10000'),
                         ({
                             'size': 10**400
                         }, 'expected 2 to 10000'),
                         ({
                             'channels': True
                         }, 'channels is True; expected an integer'),
                         ({
                             'test': {
                                 'files': ['y'],
                                 'count': 7.5
                             }
                         }, 'count is 7.5; expected an int'),
                         ({
                             'test': {
                                 'files': ['y'],
                                 'count': False
                             }
                         }, 'count is False; expected an'),
                         ({
                             'test': {
                                 'files': [7]
                             }
                         }, 'TypeError'),
                         ({
                             'test': {
                                 'files': ['../../x']
                             }
                         }, 'file .*x.*; expected a name without a'),
                         ({
                             'test': {
                                 'files': ['/etc/passwd']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'test': {
                                 'files': ['a/b']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'test': {
                                 'files': ['a/']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'test': {
                                 'files': ['']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'test': {
                                 'files': ['.']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'train': {
                                 'files': ['x', '..']
                             }
                         }, 'expected a name without a folder'),
                         ({
                             'channels': 4
                         }, '4 channels; expected 3 or 1'),
                         ({
                             'flip': 'false'
                         }, 'flip is neither true nor false'),
                         ({
                             'test': {
                                 'files': []
                             }
                         }, 'no files; expected at least one in train and'),
                         ({
                             'train': {
                                 'files': []
                             }
                         }, 'no files; expected at least one in train and')],
    ids=[
        'no size', 'list', 'no files', 'files not a list', 'a file twice',
        'classes not a list', 'one class', 'equal names',
        'size with a fraction', 'size a float', 'size a string', 'size a bool',
        'infinite', 'too small', 'too large', 'much too large',
        'channels a bool', 'count with a fraction', 'count a bool',
        'file a number', 'file above', 'file elsewhere', 'file in a folder',
        'folder as a file', 'file without a name', 'this folder',
        'folder above', 'channels', 'flip not a bool', 'no test files',
        'no train files'
    ])
def test_a_wrong_description_is_named(tmp_path, changes, message):
  path = write(tmp_path, **changes)
  with pytest.raises(UserError, match=message) as info:
    dataset_json.load(path)
  assert str(info.value).startswith(path + ': ')
  assert str(info.value).endswith(' as cifar10_make_dataset writes them')
  assert '\n' not in str(info.value)


@pytest.mark.parametrize('name', ['a\0b', '\udcff'])
@pytest.mark.parametrize('key', ['classes', 'files'])
def test_a_name_that_is_no_text_is_named(tmp_path, key, name):
  changes = {'classes': ['a', name]}
  if key == 'files':
    changes = {'test': {'files': [name]}}
  path = write(tmp_path, **changes)
  with pytest.raises(UserError) as info:
    dataset_json.load(path)
  assert str(info.value).startswith(path + ': not JSON: ')


@pytest.mark.parametrize('channels', dataset_json.CHANNELS)
def test_offsets_in_the_largest_record_fit_into_31_bits(channels):
  largest = layout_for(dataset_json.LARGEST, channels, range(1000))
  assert largest.record_bytes < 1 << 31


def test_a_missing_description_is_named(tmp_path):
  with pytest.raises(UserError, match='dataset.json: no such file$'):
    dataset_json.load(str(tmp_path / 'dataset.json'))


def test_the_smallest_images_train(tmp_path, capsys):
  # Nothing would be left of smaller ones after the crop.
  size = dataset_json.SMALLEST
  layout = layout_for(size, 1, 'ab')
  records = np.random.RandomState(0).randint(0, 2, (8, layout.record_bytes))
  for name in ('train.bin', 'test.bin'):
    (tmp_path / name).write_bytes(records.astype(np.uint8).tobytes())
  dataset_json.save(str(tmp_path), 'ab', size, 1, flip=True, counts=(8, 8))
  config = short_runs.small_config(tmp_path, dataset='cifar10',
                                   data_dir=str(tmp_path), batch_size=4,
                                   max_steps=1)
  cifar10_train.train(config)
  assert short_runs.steps(capsys.readouterr().out) == [0]
