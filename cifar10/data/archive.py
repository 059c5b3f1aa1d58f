"""Unpacks archives from untrusted sources."""

import os
import shutil
import tarfile
import zlib

from cifar10.errors import UserError
from cifar10.util import files


def unpack(archive, inside, folder, required, optional=()):
  """Unpacks the named files of a .tar.gz.

  Safe for untrusted archives: writes only regular files with exactly these
  names, to paths made from these names. Ignores links and all other members.

  Args:
    archive: path of the archive.
    inside: folder in the archive that holds the files.
    folder: path of the folder to write the files to.
    required: tuple of names of files that the archive must hold.
    optional: tuple of names of files that the archive may hold.

  Raises:
    UserError: the archive is damaged or lacks a required file.
  """
  wanted = {'%s/%s' % (inside, name): name for name in required + optional}
  try:
    with tarfile.open(archive, 'r:gz') as tar:
      for member in tar:
        name = wanted.get(os.path.normpath(member.name))
        if name is None or not member.isreg():
          continue
        path = os.path.join(folder, name)
        with tar.extractfile(member) as source, files.naming(path):
          with open(path, 'wb') as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
  except (
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
  ) as error:
    raise UserError('%s: cannot be unpacked: %s' % (archive, error)) from error
  for name in required:
    if not os.path.exists(os.path.join(folder, name)):
      raise UserError('%s: holds no file %s/%s' % (archive, inside, name))
