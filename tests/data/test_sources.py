"""The public data sets: mirrors and checksums of their files."""

import pytest

from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.settings import Settings


def remotes(**settings):
  config = Settings(data_dir='x', **settings)
  return sources.remotes(sources.SOURCES[config.dataset], config)


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
  two = {'dataset': 'svhn'}
  digits = 'found %r; expected 64 hexadecimal digits'
  names = 'train_32x32.mat, test_32x32.mat'
  count = 'checksums: found %d, expected %d, separated by commas, for %s'
  for settings, sha256, message in ((two, '0' * 64, count % (1, 2, names)),
                                    ({}, 'a,b',
                                     count % (2, 1, 'cifar-10-binary.tar.gz')),
                                    ({}, '0' * 63, digits % ('0' * 63)),
                                    ({}, 'g' * 64, digits % ('g' * 64)),
                                    (two, '0' * 64 + ', ' + '0' * 64,
                                     digits % (' ' + '0' * 64))):
    with pytest.raises(UserError) as info:
      remotes(data_sha256=sha256, **settings)
    assert str(info.value) == '--data_sha256: ' + message
