"""Archives for tests."""

import io
import tarfile

import numpy as np

REQUIRED = ('a.bin', 'b.bin')
# Larger than a chunk of the reader, and incompressible.
CONTENT = {
    'folder/a.bin': np.random.RandomState(0).bytes(900000),
    'folder/b.bin': np.random.RandomState(1).bytes(300000)
}


def make_archive(members):
  """The bytes of a .tar.gz of {name: bytes, or a TarInfo to add}."""
  stream = io.BytesIO()
  with tarfile.open(fileobj=stream, mode='w:gz') as tar:
    for name, content in members.items():
      if isinstance(content, tarfile.TarInfo):
        tar.addfile(content)
      else:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
  return stream.getvalue()


ARCHIVE = make_archive(CONTENT)
