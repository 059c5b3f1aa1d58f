"""The public data sets: their official addresses, and how to fetch them."""

import os
import re
from typing import Any, NamedTuple, Tuple

from cifar10.data import archive
from cifar10.data import dataset_json
from cifar10.data import download
from cifar10.data import svhn
from cifar10.errors import UserError

# How many times as large as the official file another file may be.
_MAX_SIZE_RATIO = 10


class Official(NamedTuple):
  """A file at its official address.

  Attributes:
    url: address.
    sha256: SHA-256 of the content, in hexadecimal.
    size: size in bytes.
  """

  url: str
  sha256: str
  size: int


class Source(NamedTuple):
  """A public data set.

  Attributes:
    folder: name of its folder, in `data_dir` and in its archive.
    official: the files to fetch.
    train: names of the files of training records in `folder`.
    test: names of the files of test records in `folder`.
    counts: numbers of its training and of its test records.
    required: names of other files in `folder` that must be there.
    optional: names of other files in `folder` that may be there.
    convert: function (paths of the fetched files, path of a folder) that
      writes the files of the data set into the folder; None if they are
      unpacked from the one archive.
    need: function that checks that the packages for `convert` are installed;
      None if it needs none.
  """

  folder: str
  official: Tuple[Official, ...]
  train: Tuple[str, ...]
  test: Tuple[str, ...]
  counts: Tuple[int, int]
  required: Tuple[str, ...] = ()
  optional: Tuple[str, ...] = ()
  convert: Any = None
  need: Any = None

  def folder_in(self, data_dir):
    """The path of its folder in `data_dir`."""
    return os.path.join(data_dir, self.folder)


# The SHA-256 and sizes agree with those in TensorFlow Datasets 4.9.10, the
# counts with the descriptions at the addresses below.
SOURCES = {
  # https://www.cs.toronto.edu/~kriz/cifar.html
  'cifar10': Source(
    folder='cifar-10-batches-bin',
    official=(
      Official(
        'https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz',
        'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd',
        170052171,
      ),
    ),
    train=tuple('data_batch_%d.bin' % i for i in range(1, 6)),
    test=('test_batch.bin',),
    counts=(50000, 10000),
    optional=('batches.meta.txt', 'readme.html'),
  ),
  'cifar100': Source(
    folder='cifar-100-binary',
    official=(
      Official(
        'https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz',
        '58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec',
        168513733,
      ),
    ),
    train=('train.bin',),
    test=('test.bin',),
    counts=(50000, 10000),
    required=('fine_label_names.txt', 'coarse_label_names.txt'),
  ),
  # http://ufldl.stanford.edu/housenumbers
  'svhn': Source(
    folder='svhn',
    official=(
      Official(
        'http://ufldl.stanford.edu/housenumbers/train_32x32.mat',
        '435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8',
        182040794,
      ),
      Official(
        'http://ufldl.stanford.edu/housenumbers/test_32x32.mat',
        'cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b',
        64275384,
      ),
    ),
    train=(dataset_json.TRAIN_NAME,),
    test=(dataset_json.TEST_NAME,),
    counts=(73257, 26032),
    convert=svhn.convert,
    need=svhn.need_scipy,
  ),
}


def fetch(source, data_dir, settings):
  """Fetches a data set and puts its folder into `data_dir`.

  Args:
    source: Source.
    data_dir: path of the folder that gets the folder of the data set.
    settings: settings.Settings with an address and checksums.

  Raises:
    UserError: the data set cannot be fetched, unpacked or converted.
  """
  if source.need is not None:
    source.need()  # Before fetching what could not be converted.

  def unpack(archives, folder):
    required = source.train + source.test + source.required
    archive.unpack(
      archives[0], source.folder, folder, required, source.optional
    )

  download.fetch_into(
    source.folder_in(data_dir),
    remotes(source, data_dir, settings),
    source.convert or unpack,
  )


def remotes(source, data_dir, settings):
  """The files to fetch, from the official addresses or from a mirror.

  Args:
    source: Source.
    data_dir: path of the folder to put the files into.
    settings: settings.Settings with an address and checksums.

  Returns:
    List of download.Remote.

  Raises:
    UserError: --data_sha256 does not hold a checksum for each file.
  """
  digests = [official.sha256 for official in source.official]
  names = [os.path.basename(official.url) for official in source.official]
  if settings.data_sha256:
    digests = settings.data_sha256.split(',')
  if len(digests) != len(names):
    raise UserError(
      '--data_sha256: checksums: found %d, expected %d, separated by commas, '
      'for %s' % (len(digests), len(names), ', '.join(names))
    )
  for digest in digests:
    if not re.match('[0-9a-fA-F]{64}$', digest):
      raise UserError(
        '--data_sha256: found %r; expected 64 hexadecimal digits' % digest
      )
  files = []
  for official, name, digest in zip(source.official, names, digests):
    url = settings.data_url or official.url
    if settings.data_url and len(names) > 1:
      url = '%s/%s' % (settings.data_url.rstrip('/'), name)
    is_official = digest.lower() == official.sha256
    size = official.size if is_official else None
    path = os.path.join(data_dir, name)
    limit = _MAX_SIZE_RATIO * official.size
    files.append(download.Remote(url, digest, path, size, limit))
  return files
