"""The bundled sample: what it holds, and the program that makes it."""

import hashlib
import os

import numpy as np

from cifar10.settings import Settings
from tests import processes
from tests import short_runs
from tests import synthetic_records

SCRIPT = os.path.join(short_runs.ROOT, 'scripts', 'make_sample.py')

make_sample = short_runs.module_at(SCRIPT)


def test_the_sample_needs_no_data_dir_and_is_as_it_was_made(tmp_path):
  config = Settings(dataset='sample', data_dir=str(tmp_path / 'none'))
  data = short_runs.prepared(config)
  contents = b''
  for files, per_class in ((data.train_files, 100), (data.test_files, 50)):
    records = np.fromfile(files[0], np.uint8).reshape(-1, 3073)
    assert np.bincount(records[:, 0]).tolist() == [per_class] * 10
    contents += records.tobytes()
  # As this program made it of CIFAR-10.
  assert hashlib.sha256(contents).hexdigest().startswith('6ea3828ca5812ce5')
  assert os.listdir(str(tmp_path)) == []


def test_a_sample_does_not_depend_on_the_order(tmp_path):
  records = synthetic_records.make_records(np.arange(60) % 10)
  paths = [str(tmp_path / name) for name in ('x.bin', 'y.bin')]
  # The same by another way: a record is in the sample if fewer than two records
  # of its class have a smaller SHA-256.
  by_sha = sorted((hashlib.sha256(record.tobytes()).digest(), record.tobytes())
                  for record in records)
  expected = [
      record for k, (_, record) in enumerate(by_sha)
      if sum(earlier[0] == record[0] for _, earlier in by_sha[:k]) < 2
  ]
  assert len(expected) == 20
  for end in (25, 40):
    records = records[np.random.RandomState(0).permutation(60)]
    records[:end].tofile(paths[0])
    records[end:].tofile(paths[1])
    assert make_sample.sample(paths, 2) == b''.join(expected)


def test_the_program_writes_both_files_or_an_error(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=500)
  out = tmp_path / 'new' / 'sample'
  printed = processes.output([SCRIPT, folder, '--out=%s' % out])
  assert printed == ''.join(
      '%s: %s\n' % (name, hashlib.sha256((out / name).read_bytes()).hexdigest())
      for name in ('data_batch_1.bin', 'test_batch.bin'))
  status, printed, err = processes.run([SCRIPT, out, '--out=%s' % tmp_path])
  assert (status, printed) == (1, '')
  assert err.startswith('make_sample: error: %s/data_batch_2.bin: ' % out)
