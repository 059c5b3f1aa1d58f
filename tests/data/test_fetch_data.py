"""The program that fetches a data set, run as a module."""

import os

import pytest

from tests import processes
from tests import short_runs
from tests import synthetic_records


def run(*flags):
  """Runs the program; returns its status, output and error output."""
  return processes.run(['-m', 'cifar10.data.fetch_data', *flags],
                       cwd=short_runs.ROOT)


def test_complete_data_is_checked_without_a_network(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=3)
  for path in folder.iterdir():
    os.truncate(str(path), 0)
    os.truncate(str(path), 10000 * 3073)  # Zeros, which take no room.
  flags = ['--data_dir=%s' % tmp_path, '--data_url=nowhere']
  missing = 'images of automobile, bird, cat, ... (9)'
  assert run(
      *flags) == (0,
                  f'WARNING: {folder}: found no training {missing} and no test '
                  f'{missing}.\n', '')


@pytest.mark.parametrize(
    'flags, message',
    [(['--data_sha256=abc'
      ], "--data_sha256: found 'abc'; expected 64 hexadecimal digits"),
     (['--data_url=file:///none'
      ], 'cannot fetch file:///none: [Errno 2] No such file or directory: '
      "'/none'. Without an internet connection: put the file at "
      '{data}/typo/cifar-10-binary.tar.gz, name a mirror with --data_url, or '
      'use --dataset=sample')], ids=['checksum', 'missing'])
def test_a_failure_leaves_no_trace(tmp_path, flags, message):
  found = run('--data_dir=%s/typo' % tmp_path, *flags)
  message = message.format(data=tmp_path)
  assert found == (1, '', 'fetch_data: error: %s\n' % message)
  assert os.listdir(str(tmp_path)) == []


def test_errors_are_one_line(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=3)
  path = folder / 'test_batch.bin'
  path.write_bytes(b'')
  status, out, err = run('--data_dir=%s' % tmp_path)
  assert (status, out) == (1, '')
  assert err == (
      'fetch_data: error: %s: the file is empty; expected a whole number of '
      '3,073-byte records\n' % path)
