"""The public data sets: their official addresses, and mirrors."""

import functools
import hashlib
import http.server
import os
import threading

import numpy as np
import pytest

from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import synthetic_records


@pytest.fixture
def mirror(tmp_path, monkeypatch):
  """A folder, served on this machine: its path and address."""
  monkeypatch.setenv('no_proxy', '*')
  folder = tmp_path / 'mirror'
  folder.mkdir()
  handler = functools.partial(Quiet, directory=str(folder))
  server = http.server.HTTPServer(('127.0.0.1', 0), handler)
  threading.Thread(target=server.serve_forever, args=(0.01,),
                   daemon=True).start()
  yield folder, 'http://127.0.0.1:%d' % server.server_port
  server.shutdown()
  server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):

  def log_message(self, *args):
    pass


def remotes(**settings):
  config = Settings(data_dir='x', **settings)
  return sources.remotes(sources.SOURCES[config.dataset], config)


def test_official_addresses():
  (cifar10,) = remotes()
  assert cifar10 == (
      'https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz',
      'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd',
      os.path.join('x', 'cifar-10-binary.tar.gz'), 170052171, 1700521710)
  (cifar100,) = remotes(dataset='cifar100')
  assert cifar100 == (
      'https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz',
      '58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec',
      os.path.join('x', 'cifar-100-binary.tar.gz'), 168513733, 1685137330)
  train, test = remotes(dataset='svhn')
  assert train == (
      'http://ufldl.stanford.edu/housenumbers/train_32x32.mat',
      '435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8',
      os.path.join('x', 'train_32x32.mat'), 182040794, 1820407940)
  assert test == (
      'http://ufldl.stanford.edu/housenumbers/test_32x32.mat',
      'cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b',
      os.path.join('x', 'test_32x32.mat'), 64275384, 642753840)


def test_official_numbers_of_records():
  assert {
      name: s.counts for name, s in sources.SOURCES.items()
  } == {
      'cifar10': (50000, 10000),
      'cifar100': (50000, 10000),
      'svhn': (73257, 26032)
  }


def test_a_mirror_has_the_official_file_unless_a_checksum_is_given():
  (official,) = remotes()
  (other,) = remotes(data_url='file:///m')
  assert other == official._replace(url='file:///m')
  (other,) = remotes(data_sha256=official.sha256.upper())
  assert other.size == official.size
  (other,) = remotes(data_sha256='f' * 64)
  assert other == official._replace(sha256='f' * 64, size=None)


def test_the_mirror_of_two_files_is_their_folder():
  first, second = 'a' * 64, 'b' * 64
  train, test = remotes(dataset='svhn', data_url='http://m/',
                        data_sha256='%s,%s' % (first, second))
  assert (train.url, train.sha256) == ('http://m/train_32x32.mat', first)
  assert (test.url, test.sha256) == ('http://m/test_32x32.mat', second)
  for settings, message in (
      ({
          'dataset': 'svhn',
          'data_sha256': '0' * 64
      }, 'checksums: found 1, expected 2, separated by commas, for '
       'train_32x32.mat, test_32x32.mat'), ({
           'data_sha256': 'a,b'
       }, 'checksums: found 2, expected 1, separated by commas, for '
                                            'cifar-10-binary.tar.gz'),
      ({
          'data_sha256': '0' * 63
      }, 'found %r; expected 64 hexadecimal digits' % ('0' * 63)), ({
          'data_sha256': '0' * 65
      }, 'found %r; expected 64 hexadecimal digits' % ('0' * 65)), ({
          'dataset': 'svhn',
          'data_sha256': '0' * 64 + ', ' + '0' * 64
      }, 'found %r; expected 64 hexadecimal digits' % (' ' + '0' * 64)), ({
          'data_sha256': 'g' * 64
      }, 'found %r; expected 64 hexadecimal digits' % ('g' * 64))):
    with pytest.raises(UserError) as info:
      remotes(**settings)
    assert str(info.value) == '--data_sha256: ' + message


def test_an_archive_is_fetched_and_unpacked(tmp_path, mirror):
  folder, address = mirror
  inside = tmp_path / 'cifar-100-binary'
  inside.mkdir()
  names = ('train.bin', 'test.bin')
  names += ('fine_label_names.txt', 'coarse_label_names.txt')
  for name in names:
    (inside / name).write_text(name)
  archive = folder / 'a.tar.gz'
  source = sources.SOURCES['cifar100']
  settings = Settings(
      data_dir=str(tmp_path / 'data'), data_url=address + '/a.tar.gz',
      data_sha256=synthetic_records.make_archive(archive, inside))
  sources.fetch(source, settings)
  made = tmp_path / 'data' / 'cifar-100-binary'
  assert {
      p.name: p.read_text() for p in made.iterdir()
  } == {
      name: name for name in names
  }
  # Each of them is needed.
  for name in names:
    (inside / name).rename(tmp_path / name)
    archive = tmp_path / 'without' / name / 'cifar-100-binary.tar.gz'
    archive.parent.mkdir(parents=True)
    settings = Settings(
        data_dir=str(archive.parent),
        data_sha256=synthetic_records.make_archive(archive, inside))
    message = 'holds no file cifar-100-binary/' + name
    with pytest.raises(UserError, match=message):
      sources.fetch(source, settings)
    (tmp_path / name).rename(inside / name)


def test_files_in_another_format_are_converted(tmp_path, mirror):
  scipy_io = pytest.importorskip('scipy.io')
  folder, address = mirror
  digests = []
  for name, count in (('train_32x32.mat', 5), ('test_32x32.mat', 3)):
    images = np.zeros([32, 32, 3, count], np.uint8)
    labels = np.arange(1, count + 1, dtype=np.uint8)[:, np.newaxis]
    scipy_io.savemat(str(folder / name), {'X': images, 'y': labels})
    content = (folder / name).read_bytes()
    digests.append(hashlib.sha256(content).hexdigest())
  settings = Settings(data_dir=str(tmp_path / 'data'), data_url=address,
                      data_sha256=','.join(digests))
  sources.fetch(sources.SOURCES['svhn'], settings)
  made = tmp_path / 'data' / 'svhn'
  assert {
      p.name: p.stat().st_size for p in made.glob('*.bin')
  } == {
      'train.bin': 5 * 3073,
      'test.bin': 3 * 3073
  }
