"""The public data sets: their official addresses, and how to fetch them."""

import os
import re
from typing import Callable, NamedTuple, Optional, Tuple

from cifar10.data import dataset_json
from cifar10.data import download
from cifar10.data import svhn
from cifar10.errors import UserError
from cifar10.errors import printable

_MAX_SIZE_RATIO = 10  # Another file may be this many times as large.


class Source(NamedTuple):
  """A public data set."""

  folder: str  # Name of its folder, in --data_dir and in its archive.
  python_folder: str  # The folder of its Python version, or ''.
  official: Tuple[download.Remote, ...]  # Its files, without paths.
  counts: Tuple[int, int]  # Numbers of its training and of its test records.
  # Names of the files of training and of test records in `folder`.
  train: Tuple[str, ...] = ('train.bin',)
  test: Tuple[str, ...] = ('test.bin',)
  # Names of other files in `folder` that must be there, or may be.
  required: Tuple[str, ...] = ()
  optional: Tuple[str, ...] = ()
  # Function (paths of the fetched files, path of a folder) that writes the data
  # set into the folder; None: unpacks the one archive.
  convert: Optional[Callable] = None
  # Raises UserError if a package is missing that `convert` needs.
  need: Optional[Callable] = None

  def folder_in(self, data_dir):
    """The path of its folder: in `data_dir`, or `data_dir` itself."""
    inside = os.path.join(data_dir, self.folder)
    # Beside a dataset.json, files of these names may be of another data set.
    has_name = os.path.basename(os.path.abspath(data_dir)) == self.folder
    is_own = os.path.exists(os.path.join(data_dir, dataset_json.FILE_NAME))
    is_folder = (has_name or not is_own) and any(
        os.path.isfile(os.path.join(data_dir, name))
        for name in self.train + self.test)
    return data_dir if is_folder and not os.path.isdir(inside) else inside


# The SHA-256 and sizes agree with those in TensorFlow Datasets 4.9.10, the
# counts with the descriptions at https://www.cs.toronto.edu/~kriz/cifar.html
# and http://ufldl.stanford.edu/housenumbers.
_CIFAR10_ARCHIVE = download.Remote(
    'https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz',
    'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd',
    170052171)
_CIFAR100_ARCHIVE = download.Remote(
    'https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz',
    '58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec',
    168513733)
_SVHN_FILES = (
    download.Remote(
        'http://ufldl.stanford.edu/housenumbers/train_32x32.mat',
        '435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8',
        182040794),
    download.Remote(
        'http://ufldl.stanford.edu/housenumbers/test_32x32.mat',
        'cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b',
        64275384))
SOURCES = {
    'cifar10': Source('cifar-10-batches-bin', 'cifar-10-batches-py',
                      (_CIFAR10_ARCHIVE,), counts=(50000, 10000),
                      train=tuple('data_batch_%d.bin' % i for i in range(1, 6)),
                      test=('test_batch.bin',),
                      optional=('batches.meta.txt', 'readme.html')),
    'cifar100': Source(
        'cifar-100-binary', 'cifar-100-python', (_CIFAR100_ARCHIVE,),
        counts=(50000, 10000),
        required=('fine_label_names.txt', 'coarse_label_names.txt')),
    'svhn': Source('svhn', '', _SVHN_FILES, counts=(73257, 26032),
                   convert=svhn.convert, need=svhn.need_scipy)
}


def fetch(source, settings):
  """Fetches a data set into --data_dir; raises UserError if it cannot."""
  if source.need is not None:
    source.need()  # Before fetching what could not be converted.

  def unpack(archives, to):
    required = source.train + source.test + source.required
    download.unpack(archives[0], source.folder, to, required, source.optional)

  data_dir, pickles = settings.data_dir, source.python_folder
  is_python = os.path.basename(os.path.abspath(data_dir)) == pickles
  is_python |= os.path.isdir(os.path.join(data_dir, pickles))
  if pickles and is_python:
    print(
        printable(f'--data_dir={data_dir}: found the Python version, '
                  f'{pickles}; the programs read the binary version, '
                  f'{source.folder}.'))
  folder, fill = source.folder_in(data_dir), source.convert or unpack
  download.fetch_into(folder, remotes(source, settings), fill)


def remotes(source, settings):
  """The files to fetch, officially or from a mirror: a list of Remote.

  Raises UserError if --data_sha256 does not hold a checksum for each.
  """
  names = [os.path.basename(official.url) for official in source.official]
  digests = [official.sha256 for official in source.official]
  if settings.data_sha256:
    digests = settings.data_sha256.split(',')
  if len(digests) != len(names):
    raise UserError(
        f'--data_sha256: checksums: found {len(digests)}, expected '
        f'{len(names)}, separated by commas, for {", ".join(names)}')
  files = []
  for official, name, digest in zip(source.official, names, digests):
    if not re.fullmatch('[0-9a-fA-F]{64}', digest):
      raise UserError(
          f'--data_sha256: found {digest!r}; expected 64 hexadecimal digits')
    url = settings.data_url or official.url
    if settings.data_url and len(names) > 1:
      url = f'{settings.data_url.rstrip("/")}/{name}'
    size = official.size if digest.lower() == official.sha256 else None
    files.append(
        download.Remote(url, digest, size, _MAX_SIZE_RATIO * official.size,
                        os.path.join(settings.data_dir, name)))
  return files
