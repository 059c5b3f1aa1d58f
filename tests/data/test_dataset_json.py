"""dataset.json: writing, reading, and errors in it."""

import hashlib
import json

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
  value.update(train={'files': ['x']}, test={'files': ['y', 'z']})
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


def files_of(*names):
  return {'files': list(names)}


@pytest.mark.parametrize('key, values, message', [
    ('classes', [None, 'ab', ['a'], ['a', 'b', 'a']], 'classes; expected a '),
    ('size', [None, 48.9, 8.0, '8', True, float('inf'), 1, 10001, 10**400],
     'size .*; expected 2 to 10000'),
    ('channels', [None, 4, '3', 3.0, True], 'channels; expected 3 or 1'),
    ('flip', [None, 'false', 1], 'flip .*; expected true or false'),
    ('train', [None, [], {}], "TypeError|KeyError..files'"),
    ('test', [files_of(), {'files': 'x'}], 'files .*; expected a list'),
    ('test', [files_of(7)], 'TypeError'),
    ('train', [files_of('x', 'w', 'x'), files_of('y')], 'expected each name'),
    ('test', [dict(files_of('u'), count=9.0)], 'counts .*; expected whole'),
    ('test', [files_of('x', n) for n in ('../x', '/etc/passwd', 'a/b')],
     'expected a name without a folder'),
])  # yapf: disable
def test_a_wrong_description_is_named(tmp_path, key, values, message):
  for value in values:
    path = write(tmp_path, **{key: value})
    with pytest.raises(UserError, match=message) as info:
      dataset_json.load(path)
    assert str(info.value).startswith(path + ': ')
    assert str(info.value).endswith(' as cifar10_make_dataset writes them')


@pytest.mark.slow
def test_the_smallest_images_train(tmp_path, capsys):
  # Nothing would be left of smaller ones after the crop.
  own = synthetic_records.make_images_of_size(tmp_path / 'own',
                                              dataset_json.MIN_SIZE)
  cifar10_train.train(
      short_runs.small_config(tmp_path, dataset='cifar10',
                              data_dir=own.data_dir, batch_size=4, max_steps=1))
  assert short_runs.steps(capsys.readouterr().out) == [0]
