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
  zeros = '0' * 64
  for settings, sha256, problem in (
      (two, zeros, 'found 1, expected 2, separated by commas, for train_32x32'),
      ({}, 'a,b', 'found 2, expected 1, .* for cifar-10-binary.tar.gz'),
      ({}, zeros[1:], "found '0+'; expected 64 hexadecimal digits"),
      ({}, 'g' * 64, "found 'g+'; expected 64 hexadecimal digits"),
      (two, f'{zeros}, {zeros}', "found ' 0+'; expected 64 hexadecimal")):
    with pytest.raises(UserError, match='^--data_sha256: .*' + problem):
      remotes(data_sha256=sha256, **settings)
