"""The bundled sample: what it holds, and the program that makes it."""

import hashlib
import os
import shutil
import sys

import numpy as np
import pytest

from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'make_sample.py')
REAL = os.path.join(Settings().data_dir, 'cifar-10-batches-bin')


@pytest.fixture(scope='module')
def make_sample():
  return short_runs.module_at(SCRIPT)


def run(*arguments):
  """Runs the program; returns its status, output and error output."""
  return processes.run([SCRIPT, *arguments], cwd=short_runs.ROOT)


def test_the_sample_needs_no_data_dir_and_is_balanced(tmp_path):
  config = Settings(dataset='sample', data_dir=str(tmp_path / 'none'))
  data = short_runs.prepared(config)
  assert data.count(data.train_files) == 1000
  assert data.count(data.test_files) == 500
  for files, per_class in ((data.train_files, 100), (data.test_files, 50)):
    records = np.fromfile(files[0], np.uint8).reshape(-1, 3073)
    assert np.bincount(records[:, 0]).tolist() == [per_class] * 10
    assert len(np.unique(records, axis=0)) == len(records)
  assert os.listdir(str(tmp_path)) == []


def test_a_sample_does_not_depend_on_the_order(make_sample, tmp_path):
  records = synthetic_records.make_records(np.arange(60) % 10)
  paths = [str(tmp_path / name) for name in ('x.bin', 'y.bin')]
  records[:25].tofile(paths[0])
  records[25:].tofile(paths[1])
  found = make_sample.sample(paths, 2)
  # The same by another way: a record is in the sample if fewer than two records
  # of its class have a smaller SHA-256.
  by_sha = sorted((hashlib.sha256(record.tobytes()).digest(), record.tobytes())
                  for record in records)
  expected = [
      record for k, (_, record) in enumerate(by_sha)
      if sum(earlier[0] == record[0] for _, earlier in by_sha[:k]) < 2
  ]
  assert len(expected) == 20 and found == b''.join(expected)
  records = records[np.random.RandomState(0).permutation(60)]
  records[:40].tofile(paths[0])
  records[40:].tofile(paths[1])
  assert make_sample.sample(paths, 2) == found


def test_too_few_records_of_a_class_are_an_error(make_sample, tmp_path):
  path = tmp_path / 'x.bin'
  path.write_bytes(synthetic_records.make_records(np.arange(29) % 10).tobytes())
  with pytest.raises(UserError) as info:
    make_sample.sample([str(path)], 3)
  assert str(info.value) == (
      '%s: found [3, 3, 3, 3, 3, 3, 3, 3, 3, 2] records by class; expected 3 '
      'of each' % path)


def test_the_program_writes_both_files_and_prints_their_checksums(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=500)
  out = tmp_path / 'new' / 'sample'
  status, printed, err = run(str(folder), '--out=%s' % out)
  assert (status, err) == (0, '')
  lines = []
  for name, count in (('data_batch_1.bin', 1000), ('test_batch.bin', 500)):
    content = (out / name).read_bytes()
    assert len(content) == count * 3073
    lines.append('%s: %s\n' % (name, hashlib.sha256(content).hexdigest()))
  assert printed == ''.join(lines)
  assert sorted(os.listdir(str(out))) == ['data_batch_1.bin', 'test_batch.bin']


def test_errors_are_one_line(tmp_path):
  status, out, err = run(str(tmp_path), '--out=%s' % (tmp_path / 'out'))
  assert (status, out) == (1, '')
  assert err == (
      'make_sample: error: %s/data_batch_1.bin: no such file; expected a whole '
      'number of 3,073-byte records\n' % tmp_path)
  (tmp_path / 'file').write_text('')
  status, out, err = run(str(tmp_path), '--out=%s' % (tmp_path / 'file'))
  assert (status, out) == (1, '')
  assert err == ("make_sample: error: [Errno 17] File exists: '%s/file'\n" %
                 tmp_path)


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=500)
  out = tmp_path / 'out'
  status, printed, err = picture_folders.run_on_full_disk(
      tmp_path, 100000,
      [SCRIPT, str(folder), '--out=%s' % out])
  assert (status, printed) == (1, '')
  assert err == (
      "make_sample: error: [Errno 27] File too large: '%s/data_batch_1.bin'\n" %
      out)
  assert os.listdir(str(out)) == []


def test_by_default_the_bundled_sample_is_written(make_sample, monkeypatch):
  made = []
  monkeypatch.setattr(make_sample, 'make', lambda *args: made.append(args))
  for name in ('open_streams', 'exit_on_signals'):
    monkeypatch.setattr(make_sample.arguments.console, name, lambda: None)
  monkeypatch.setattr(sys, 'argv', ['make_sample', 'folder'])
  with pytest.raises(SystemExit, match='^0$'):
    make_sample.main()
  assert made == [('folder', datasets.SAMPLE_FOLDER)]
  folder = os.path.join(short_runs.ROOT, 'cifar10', 'data', 'sample')
  assert datasets.SAMPLE_FOLDER == folder


@pytest.mark.skipif(not os.path.isdir(REAL), reason='needs ' + REAL)
def test_the_bundled_sample_is_made_from_cifar10_in_any_order(tmp_path):
  folder = tmp_path / 'permuted'
  folder.mkdir()
  random = np.random.RandomState(0)
  names = ['data_batch_%d.bin' % i for i in range(1, 6)]
  records = np.concatenate([
      np.fromfile(os.path.join(REAL, n), np.uint8).reshape(-1, 3073)
      for n in names
  ])
  parts = np.split(records[random.permutation(len(records))], 5)
  for name, part in zip(names, parts):
    (folder / name).write_bytes(part.tobytes())
  os.symlink(os.path.join(REAL, 'test_batch.bin'),
             str(folder / 'test_batch.bin'))
  status, _, err = run(str(folder), '--out=%s' % (tmp_path / 'sample'))
  assert (status, err) == (0, '')
  shutil.rmtree(str(folder))  # 150 MB, which pytest would keep.
  for name in ('data_batch_1.bin', 'test_batch.bin'):
    made = (tmp_path / 'sample' / name).read_bytes()
    with open(os.path.join(datasets.SAMPLE_FOLDER, name), 'rb') as bundled:
      assert made == bundled.read(), name
