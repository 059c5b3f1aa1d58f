"""The program that fetches a data set, run as a module."""

from tests import processes
from tests import short_runs
from tests import synthetic_records


def run(*flags):
  """Runs the program; returns its status, output and error output."""
  return processes.run(
    ['-m', 'cifar10.data.fetch_data', *flags], cwd=short_runs.ROOT
  )


def test_complete_data_is_checked_silently(tmp_path):
  synthetic_records.make_folder(tmp_path, per_file=3)
  flags = ['--data_dir=%s' % tmp_path, '--data_url=nowhere']
  assert run(*flags) == (0, '', '')


def test_errors_are_one_line(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=3)
  path = folder / 'test_batch.bin'
  path.write_bytes(b'')
  status, out, err = run('--data_dir=%s' % tmp_path)
  assert (status, out) == (1, '')
  assert err == (
    'fetch_data: error: %s: the file is empty; expected a whole number of '
    '3,073-byte records\n' % path
  )
