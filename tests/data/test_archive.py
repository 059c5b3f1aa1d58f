"""Archives whose contents are not what they should be."""

import gzip
import os
import tarfile

import pytest

from cifar10.data import download
from cifar10.errors import UserError
from tests.data.archives import ARCHIVE
from tests.data.archives import CONTENT
from tests.data.archives import REQUIRED
from tests.data.archives import make_archive


def unpack(path):
  """Unpacks an archive beside itself; returns the folder."""
  folder = path.parent / 'unpacked'
  folder.mkdir()
  download.unpack(str(path), 'folder', str(folder), REQUIRED, ('c.txt',))
  return folder


def link(name, target, kind):
  info = tarfile.TarInfo(name)
  info.type = kind
  info.linkname = target
  return info


@pytest.mark.parametrize(
    'members',
    [{
        'folder/a.bin': b'a'
    },
     dict(CONTENT, **{
         'folder/b.bin': link('folder/b.bin', 'a.bin', tarfile.SYMTYPE)
     }), {
         'folder/a.bin': b'a',
         'folder/b.bin': link('folder/b.bin', '/etc/passwd', tarfile.LNKTYPE)
     }, {
         'other/a.bin': b'a',
         'other/b.bin': b'b'
     }, {}], ids=['missing', 'symlink', 'hard link', 'other folder', 'nothing'])
def test_files_that_are_not_there_are_named(tmp_path, members):
  path = tmp_path / 'archive.tar.gz'
  path.write_bytes(make_archive(members))
  with pytest.raises(UserError) as info:
    unpack(path)
  message = str(info.value)
  assert message.startswith('%s: holds no file folder/' % path)


def test_members_outside_the_folder_are_not_written(tmp_path):
  members = dict(CONTENT)
  members['../evil'] = b'x'
  members['folder/../../evil'] = b'x'
  members[str(tmp_path / 'evil')] = b'x'
  # If followed, this link would lead out of the folder.
  members['folder'] = link('folder', str(tmp_path), tarfile.SYMTYPE)
  members['folder/sub/a.bin'] = b'x'
  members['folder/more.bin'] = b'x'
  path = tmp_path / 'archive.tar.gz'
  path.write_bytes(make_archive(members))
  folder = unpack(path)
  assert sorted(os.listdir(str(tmp_path))) == ['archive.tar.gz', 'unpacked']
  assert {
      'folder/' + file.name: file.read_bytes() for file in folder.iterdir()
  } == CONTENT


@pytest.mark.parametrize(
    'content', [
        ARCHIVE[:700000], ARCHIVE[:10] + b'?' * 1000, b'no archive',
        gzip.compress(b'no tar'), b''
    ], ids=['truncated', 'overwritten', 'no gzip', 'no tar', 'empty'])
def test_a_damaged_archive_is_named(tmp_path, content):
  path = tmp_path / 'archive.tar.gz'
  path.write_bytes(content)
  with pytest.raises(UserError) as info:
    unpack(path)
  assert str(info.value).startswith('%s: cannot be unpacked: ' % path)
