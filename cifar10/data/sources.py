"""The public data sets: where they come from and how they get on the disk."""

import os
from typing import Any, NamedTuple, Tuple

from cifar10.data import dataset_json
from cifar10.data import download
from cifar10.data import svhn
from cifar10.errors import UserError


class Official(NamedTuple):
  """A file in its official place: address, SHA-256, bytes."""

  url: str
  sha256: str
  size: int


class Source(NamedTuple):
  """A public data set.

  Attributes:
    folder: name of the folder of its files, in `data_dir` and in its archive.
    official: the files that are fetched.
    train: names of the files of training records in `folder`.
    test: names of the files of test records.
    required: names of the other files that it needs.
    optional: names of files that it may have besides.
    convert: function of the paths of what was fetched and of a folder, that
      makes the files there. None: they are unpacked from the one archive.
    need: function that checks that `convert` has what it needs, or None.
  """

  folder: str
  official: Tuple[Official, ...]
  train: Tuple[str, ...]
  test: Tuple[str, ...]
  required: Tuple[str, ...] = ()
  optional: Tuple[str, ...] = ()
  convert: Any = None
  need: Any = None

  def folder_in(self, data_dir):
    """The path of its folder."""
    return os.path.join(data_dir, self.folder)


# SHA-256 and sizes are those that TensorFlow Datasets 4.9.10 expects too.
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
    convert=svhn.convert,
    need=svhn.need_scipy,
  ),
}


def fetch(source, config):
  """Puts the folder of a Source into `config.data_dir`.

  Raises:
    UserError: it cannot be fetched, unpacked or converted.
  """
  if source.need is not None:
    source.need()  # Before so much is fetched for nothing.

  def unpack(archives, folder):
    required = source.train + source.test + source.required
    download.unpack(
      archives[0], source.folder, folder, required, source.optional
    )

  download.fetch_into(
    source.folder_in(config.data_dir),
    remotes(source, config),
    source.convert or unpack,
  )


def remotes(source, config):
  """What is fetched of a Source, from where `config` says.

  Returns:
    List of download.Remote; their paths are in `config.data_dir`.

  Raises:
    UserError: --data_sha256 has more or fewer checksums than there are files.
  """
  digests = [official.sha256 for official in source.official]
  names = [os.path.basename(official.url) for official in source.official]
  if config.data_sha256:
    digests = config.data_sha256.split(',')
  if len(digests) != len(names):
    raise UserError(
      '--data_sha256: found %d checksum(s); expected %d with a comma between, '
      'of %s' % (len(digests), len(names), ', '.join(names))
    )
  found = []
  for official, name, digest in zip(source.official, names, digests):
    url = config.data_url or official.url
    if config.data_url and len(names) > 1:
      url = '%s/%s' % (config.data_url.rstrip('/'), name)
    is_official = digest.lower() == official.sha256
    size = official.size if is_official else None
    path = os.path.join(config.data_dir, name)
    found.append(download.Remote(url, digest, path, size))
  return found
