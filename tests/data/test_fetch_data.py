"""The program that fetches a data set, run as a module."""

import os

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
  status, out, err = run('--data_dir=%s' % tmp_path, '--data_url=nowhere')
  assert (status, err) == (0, '')
  assert out.startswith(f'WARNING: {folder}: found no training images of auto')


def test_a_data_set_of_ones_own_is_not_fetched(tmp_path):
  synthetic_records.make_own_dataset(tmp_path)
  status, out, err = run('--data_dir=%s' % tmp_path)
  assert (status, err) == (0, '')
  assert out.endswith(f'The data set {tmp_path.name} is in {tmp_path}, by its '
                      'dataset.json: nothing to fetch.\n')


def test_a_failure_leaves_no_trace(tmp_path):
  found = run('--data_dir=%s/typo' % tmp_path, '--data_url=file:///none')
  assert found == (
      1, '', 'fetch_data: error: cannot fetch file:///none: [Errno 2] No such '
      "file or directory: '/none'. Without an internet connection: put the "
      f'file at {tmp_path}/typo/cifar-10-binary.tar.gz, name a mirror with '
      '--data_url, or use --dataset=sample\n')
  assert os.listdir(str(tmp_path)) == []
