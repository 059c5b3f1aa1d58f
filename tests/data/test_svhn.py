"""SVHN: fetching, checking and converting to records."""

import os
import sys

import numpy as np
import pytest

from cifar10.data import svhn
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.util import files
from tests import short_runs
from tests import synthetic_records

NAMES = ('train_32x32.mat', 'test_32x32.mat')


def save(path, labels):
  """Writes a .mat file like SVHN's; returns images, uint8 [n, 32, 32, 3]."""
  scipy_io = pytest.importorskip('scipy.io')
  images = np.random.RandomState(len(labels)).randint(0, 256,
                                                      (len(labels), 32, 32, 3),
                                                      np.uint8)
  content = {
      'X': images.transpose(1, 2, 3, 0),
      'y': np.array(labels, np.uint8)[:, np.newaxis]
  }
  scipy_io.savemat(str(path), content, do_compression=True)
  return images


def mirror(folder):
  """Makes a mirror; returns its Config and {name: (labels, images)}."""
  folder.mkdir()
  written = {}
  for name, count in zip(NAMES, (2300, 40)):
    labels = np.arange(count) % 10 + 1
    written[name] = (labels, save(folder / name, labels))
  digests = [files.sha256(str(folder / name)) for name in NAMES]
  config = Settings(dataset='svhn', data_dir=str(folder.parent / 'data'),
                    data_url='file://%s/' % folder,
                    data_sha256=','.join(digests))
  return config, written


def test_it_is_fetched_and_converted_once(tmp_path, monkeypatch, capsys):
  config, written = mirror(tmp_path / 'mirror')
  data = short_runs.prepared(config)
  assert capsys.readouterr().out.endswith(
      'found 2,300 training and 40 test records; the official data set has '
      '73,257 and 26,032.\n')
  assert data.classes == tuple('0123456789') and not data.flip
  assert data.layout == Layout()
  made = tmp_path / 'data' / 'svhn'
  assert data.train_files == (str(made / 'train.bin'),)
  assert data.test_files == (str(made / 'test.bin'),)
  for name, (path,) in zip(NAMES, (data.train_files, data.test_files)):
    labels, images = written[name]
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    np.testing.assert_array_equal(records[:, 0], labels % 10)
    assert 10 in labels  # The digit 0.
    np.testing.assert_array_equal(synthetic_records.images_of(records), images)
  assert sorted(os.listdir(str(tmp_path /
                               'data'))) == ['svhn', NAMES[1], NAMES[0]]
  # Later calls need neither the mirror, nor the fetched files, nor scipy.
  for name in NAMES:
    (tmp_path / 'mirror' / name).unlink()
    (tmp_path / 'data' / name).unlink()
  monkeypatch.setitem(sys.modules, 'scipy', None)
  assert short_runs.prepared(config) == data
  assert data.counts == (2300, 40)
  # The folder has a dataset.json, so it works as --data_dir too.
  assert short_runs.prepared(Settings(data_dir=str(made))) == data


def test_a_wrong_file_is_named_and_nothing_is_converted(tmp_path):
  config, _ = mirror(tmp_path / 'mirror')
  name = NAMES[1]
  (tmp_path / 'mirror' / name).write_bytes(b'other')
  with pytest.raises(UserError, match=name + ': found SHA-256'):
    short_runs.prepared(config)
  # The file with the right checksum is kept.
  found = sorted(os.listdir(str(tmp_path / 'data')))
  assert found == [NAMES[0]]


def test_a_damaged_file_is_named(tmp_path):
  scipy_io = pytest.importorskip('scipy.io')
  source = tmp_path / 'x.mat'
  images = np.zeros((32, 32, 3, 2), np.uint8)
  for content, problem in (
      (b'', ''), (b'no mat', ''), (b'MATLAB 5.0' + b'?' * 999, ''),
      ({'Z': [1]}, ''),  # Something else.
      ({'X': images, 'y': [10, 15]}, 'y holds 15; expected labels 1 to 10'),
      ({'X': images, 'y': [10]}, r'found X uint8 .* 2\] and 1 labels'),
      ({'X': images[..., :0], 'y': []}, 'and 0 labels; expected .* or more'),
      ({'X': images / 255, 'y': [1, 2]}, 'found X float64'),
      ({'X': images[1:], 'y': [1, 2]}, r'X uint8 \[31, ')):  # yapf: disable
    if isinstance(content, dict):
      scipy_io.savemat(str(source), content)
    else:
      source.write_bytes(content)
    with pytest.raises(UserError, match='x.mat: cannot be read.*' + problem):
      svhn.write_records(str(source), str(tmp_path / 'x.bin'))
    assert os.listdir(str(tmp_path)) == ['x.mat']


def test_without_scipy_nothing_is_fetched(tmp_path, monkeypatch):
  monkeypatch.setitem(sys.modules, 'scipy', None)
  monkeypatch.setitem(sys.modules, 'scipy.io', None)
  config = Settings(dataset='svhn', data_dir=str(tmp_path), data_url='nowhere')
  with pytest.raises(UserError, match="needs scipy: pip install '..svhn.'"):
    short_runs.prepared(config)
  assert os.listdir(str(tmp_path)) == []
