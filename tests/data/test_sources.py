"""The public data sets: their official addresses, and mirrors."""

import os

import pytest

from cifar10.data import sources
from cifar10.errors import UserError
from cifar10.settings import Settings


def remotes(**settings):
  config = Settings(data_dir='x', **settings)
  return sources.remotes(sources.SOURCES[config.dataset], config)


# The numbers are those of the official pages.
@pytest.mark.parametrize(
    'dataset, counts, expected',
    [('cifar10', (50000, 10000), [
        ('https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz',
         'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd',
         170052171)
    ]),
     ('cifar100', (50000, 10000), [
         ('https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz',
          '58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec',
          168513733)
     ]),
     ('svhn', (73257, 26032), [
         ('http://ufldl.stanford.edu/housenumbers/train_32x32.mat',
          '435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8',
          182040794),
         ('http://ufldl.stanford.edu/housenumbers/test_32x32.mat',
          'cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b',
          64275384)
     ]),])
def test_official_addresses(dataset, counts, expected):
  found = remotes(dataset=dataset)
  assert sources.SOURCES[dataset].counts == counts
  for remote, official in zip(found, expected):
    assert remote[:3] == official and remote.limit == 10 * remote.size
    assert remote.path == 'x/' + os.path.basename(remote.url)


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
