"""Data sets on disk: what is there, what is checked, and the sample."""

import os
import subprocess
import sys

import numpy as np
import pytest

from cifar10 import dataset
from cifar10 import download
from cifar10.config import Config
from cifar10.errors import UserError
from tests import records as records_lib
from tests import short_runs

REAL = os.path.join(Config().data_dir, 'cifar-10-batches-bin')


def error_of(path, **kwargs):
  with pytest.raises(UserError) as info:
    dataset.check_file(str(path), **kwargs)
  message = str(info.value)
  assert message.startswith(str(path) + ': ') and '\n' not in message
  return message


def test_complete_data_is_used_without_a_network(tmp_path):
  folder = records_lib.make_folder(tmp_path, per_file=20)
  before = sorted(os.listdir(str(tmp_path)))
  data = dataset.prepare(Config(data_dir=str(tmp_path), data_url='nowhere'))
  assert [os.path.basename(f) for f in data.train_files] == [
    'data_batch_%d.bin' % i for i in range(1, 6)
  ]
  assert data.test_files == (str(folder / 'test_batch.bin'),)
  assert data.count(data.files('train_eval')) == 100
  assert data.count(data.files('test')) == 20
  assert len(data.classes) == 10
  assert sorted(os.listdir(str(tmp_path))) == before


@pytest.mark.parametrize('name', ['data_batch_4.bin', 'test_batch.bin'])
def test_every_file_is_checked(tmp_path, name):
  folder = records_lib.make_folder(tmp_path)
  (folder / name).write_bytes(b'x' * 3072)
  with pytest.raises(UserError, match=name + ': found 3,072 bytes'):
    dataset.prepare(Config(data_dir=str(tmp_path)))


def test_a_missing_file_is_named(tmp_path):
  folder = records_lib.make_folder(tmp_path)
  (folder / 'data_batch_2.bin').unlink()
  with pytest.raises(UserError, match='data_batch_2.bin: no such file'):
    dataset.prepare(Config(data_dir=str(tmp_path), data_url='nowhere'))


def test_damaged_files_are_told_with_what_was_found_and_expected(tmp_path):
  path = tmp_path / 'x.bin'
  records = records_lib.make_records(np.arange(30) % 10)
  whole = 'expected a whole number of 3,073-byte records'
  path.write_bytes(b'')
  assert error_of(path).endswith('the file is empty; ' + whole)
  path.write_bytes(records.tobytes()[:-1])
  assert error_of(path).endswith('found 92,189 bytes; ' + whole)
  records[17, 0] = 10
  path.write_bytes(records.tobytes())
  assert error_of(path).endswith(
    'record 17 has label 10; expected labels 0 to 9'
  )
  assert error_of(path, num_classes=3).endswith(
    'record 3 has label 3; expected labels 0 to 2'
  )
  records[17, 0] = 9
  path.write_bytes(records.tobytes())
  dataset.check_file(str(path))


def test_a_layout_of_two_label_bytes_takes_the_last(tmp_path):
  layout = dataset.Layout(height=4, width=4, depth=1, label_bytes=2)
  assert layout.record_bytes == 18
  records = records_lib.make_records([1, 2], layout=layout)
  records[:, 0] = 255  # The first label byte is not the label.
  path = tmp_path / 'x.bin'
  path.write_bytes(records.tobytes())
  dataset.check_file(str(path), layout, 3)
  error_of(path, layout=layout, num_classes=2)


def test_the_sample_needs_nothing_and_is_balanced(tmp_path):
  config = Config(dataset='sample', data_dir=str(tmp_path / 'none'))
  data = dataset.prepare(config)
  assert data.count(data.train_files) == 1000
  assert data.count(data.test_files) == 500
  for files, per_class in ((data.train_files, 100), (data.test_files, 50)):
    records = np.fromfile(files[0], np.uint8).reshape(-1, 3073)
    assert np.bincount(records[:, 0]).tolist() == [per_class] * 10
    assert len(np.unique(records, axis=0)) == len(records)
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.skipif(not os.path.isdir(REAL), reason='needs ' + REAL)
def test_the_sample_comes_out_again_whatever_the_order(tmp_path):
  folder = tmp_path / 'permuted'
  folder.mkdir()
  random = np.random.RandomState(0)
  names = ['data_batch_%d.bin' % i for i in range(1, 6)]
  records = np.concatenate(
    [
      np.fromfile(os.path.join(REAL, n), np.uint8).reshape(-1, 3073)
      for n in names
    ]
  )
  parts = np.split(records[random.permutation(len(records))], 5)
  for name, part in zip(names, parts):
    (folder / name).write_bytes(part.tobytes())
  os.symlink(
    os.path.join(REAL, 'test_batch.bin'), str(folder / 'test_batch.bin')
  )
  subprocess.check_call(
    [
      sys.executable,
      os.path.join(short_runs.ROOT, 'scripts', 'make_sample.py'),
      str(folder),
      '--out=%s' % (tmp_path / 'sample'),
    ]
  )
  for name in ('data_batch_1.bin', 'test_batch.bin'):
    made = (tmp_path / 'sample' / name).read_bytes()
    path = os.path.join(short_runs.ROOT, 'cifar10', 'sample', name)
    with open(path, 'rb') as bundled:
      assert made == bundled.read(), name


def test_the_official_archive_is_the_default():
  assert Config().data_url.startswith('https://www.cs.toronto.edu/')
  assert Config().data_sha256 == download.OFFICIAL_SHA256
  assert download.OFFICIAL_BYTES == 170052171
