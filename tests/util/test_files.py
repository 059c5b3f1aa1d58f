"""Atomic writes of files and folders, checksums, and JSON files."""

import os
import stat

import pytest

from cifar10.errors import UserError
from cifar10.util import files
from tests import processes


@pytest.mark.parametrize('mode', [0o600, 0o664, 0o400])
def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path, mode):
  folder, path = tmp_path / 'folder', tmp_path / 'x'
  folder.mkdir()
  (tmp_path / 'other').write_bytes(b'')
  path.symlink_to('folder/y')
  files.write_atomically(str(path), b'new')  # Whose target is missing.
  usual = (tmp_path / 'other').stat().st_mode
  assert (folder / 'y').stat().st_mode == usual
  (folder / 'y').chmod(mode)
  files.write_atomically(str(path), b'newer')
  assert stat.S_IMODE((folder / 'y').stat().st_mode) == mode
  assert (folder / 'y').read_bytes() == b'newer'
  assert path.is_symlink() and os.listdir(str(folder)) == ['y']


def test_a_link_of_another_user_is_not_followed(tmp_path, monkeypatch):
  own, path = tmp_path / 'own', tmp_path / 'x'
  own.write_bytes(b'own')
  path.symlink_to('own')
  user = os.geteuid() + 1
  monkeypatch.setattr(files.os, 'geteuid', lambda: user)
  files.write_atomically(str(path), b'new')
  assert not path.is_symlink() and own.read_bytes() == b'own'


@pytest.mark.parametrize('exists', [True, False])
@pytest.mark.parametrize('function', ['fsync', 'replace'])
@pytest.mark.parametrize('error', [OSError, KeyboardInterrupt])
def test_a_failure_changes_nothing(tmp_path, monkeypatch, exists, function,
                                   error):

  def fail(*args):
    raise error('broken')

  path = tmp_path / 'x'
  if exists:
    path.write_bytes(b'old')
  monkeypatch.setattr(files.os, function, fail)
  with pytest.raises(error, match='broken'):
    files.write_atomically(str(path), b'new')
  assert os.listdir(str(tmp_path)) == ['x'] * exists
  assert not exists or path.read_bytes() == b'old'


@pytest.mark.parametrize('exists', [True, False])
def test_a_folder_appears_when_it_is_complete(tmp_path, exists):
  path = tmp_path / 'x'
  if exists:
    path.mkdir()
  with files.new_folder(str(path) + '/') as temporary:
    (tmp_path / temporary / 'file').write_text('new')
    assert os.listdir(str(path)) == [] if exists else not path.exists()
  assert os.listdir(str(tmp_path)) == ['x']
  assert (path / 'file').read_text() == 'new'


def test_a_failure_in_a_folder_changes_nothing(tmp_path):
  path = tmp_path / 'x'
  with pytest.raises(OSError, match='broken'):
    with files.new_folder(str(path)):
      raise OSError('broken')
  assert os.listdir(str(tmp_path)) == []
  path.mkdir()
  (path / 'file').write_text('old')
  with pytest.raises(OSError):
    with files.new_folder(str(path)):
      pass
  assert os.listdir(str(tmp_path)) == ['x']
  assert (path / 'file').read_text() == 'old'


def test_a_missing_folder_is_not_made(tmp_path):
  path = str(tmp_path / 'none' / 'x')
  with pytest.raises(FileNotFoundError) as info:
    files.write_atomically(path, b'new')
  assert info.value.filename == path  # Not a temporary name.
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_a_file_of_another_user_is_refused(tmp_path):
  path = tmp_path / 'x'
  path.write_text('theirs')
  os.chown(str(path), 12345, -1)
  with pytest.raises(UserError, match=f'^{path}: belongs to another user; exp'):
    files.open_own(str(path))


def test_a_file_is_own_where_the_server_sets_the_owners(tmp_path, monkeypatch):
  user = os.geteuid()
  monkeypatch.setattr(files.os, 'geteuid', lambda: user + 1)
  for _ in range(2):
    files.open_own(str(tmp_path / 'x')).close()
  assert not files.is_of_another(str(tmp_path / 'x'))
  assert os.listdir(str(tmp_path)) == ['x']


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_a_link_counts_by_its_own_owner(tmp_path, monkeypatch):
  for name, folder, link in (('own', 12345, 0), ('theirs', 0, 12345)):
    (tmp_path / name).mkdir()
    (tmp_path / (name + '_link')).symlink_to(tmp_path / name)
    os.chown(str(tmp_path / name), folder, -1)
    os.lchown(str(tmp_path / (name + '_link')), link, -1)
  names = ['own', 'own_link', 'theirs', 'theirs_link', 'none']
  found = [n for n in names if files.is_of_another(str(tmp_path / n))]
  assert found == ['own', 'theirs_link']
  os.chown(str(tmp_path), 1000, -1)
  monkeypatch.setattr(files.os, 'geteuid', lambda: 1000)
  assert not files.is_of_another(str(tmp_path / 'own_link'))  # Of root.
  assert files.is_of_another(str(tmp_path / 'theirs_link'))


def test_only_a_regular_file_is_read(tmp_path):
  path, pipe, link = (tmp_path / name for name in ('x', 'pipe', 'link'))
  path.write_bytes(b'content')
  link.symlink_to(path)
  os.mkfifo(str(pipe))
  for name in (path, link):
    with files.open_regular(str(name)) as file:
      assert file.read() == b'content'
  for name in (pipe, tmp_path, '/dev/zero'):
    for read in (files.open_regular, files.sha256, files.read_json):
      with pytest.raises(UserError, match=f'^{name}: is not a regular file; '):
        read(str(name))


@pytest.mark.parametrize(
    'content, reason',
    [(b'', 'not JSON: '), (b'{"a": 1', 'not JSON: '),
     (b'{"a": "\xff"}', 'not JSON: '), (b'[1]', 'expected a JSON object'),
     (b'{"a": ["x\\u0000"]}', 'not JSON: a string holds a NUL'),
     (b'{"a\\\\\\u0000": 1}', 'not JSON: a string holds a NUL'),
     (b'{"a": {"b": "\\udcff"}}', 'not JSON: '),
     (b'{"\\ud800": 1}', 'not JSON: '),
     (b'{"a": ' + b'[' * 100000 + b']' * 100000 + b'}', 'too many levels of '),
     (b'[' * 100000, 'too many levels of brackets'),], ids=range(10))
def test_other_content_is_an_error_of_one_line(tmp_path, content, reason):
  path = tmp_path / 'x.json'
  path.write_bytes(content)
  with pytest.raises(UserError) as info:
    files.read_json(str(path))
  message = str(info.value)
  assert message.startswith(f'{path}: {reason}') and '\n' not in message


def test_a_backslash_before_u0000_is_no_nul(tmp_path):
  path, value = str(tmp_path / 'x.json'), {'a': '\\u0000'}
  files.write_json(path, value)
  assert files.read_json(path) == value


def test_a_line_of_json_is_appended_whole_or_not_at_all(tmp_path):
  path = tmp_path / 'lines'
  files.append_json_line(str(path), {'step': 1})
  with processes.full_disk(20):
    with pytest.raises(OSError, match='No space left') as info:
      files.append_json_line(str(path), {'step': 2})
  assert info.value.filename == str(path)
  assert path.read_text() == '{"step": 1}\n'
