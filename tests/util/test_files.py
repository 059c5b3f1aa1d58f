"""Atomic writes of files and folders, checksums, and JSON files."""

import errno
import hashlib
import os
import resource
import stat

import pytest

from cifar10.errors import UserError
from cifar10.util import files


def umask():
  mask = os.umask(0)
  os.umask(mask)
  return mask


@pytest.mark.parametrize('mode', [0o600, 0o664, 0o400])
def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path, mode):
  folder, path = tmp_path / 'folder', tmp_path / 'x'
  folder.mkdir()
  path.symlink_to('folder/y')
  files.write_atomically(str(path), b'new')  # Whose target is missing.
  assert stat.S_IMODE((folder / 'y').stat().st_mode) == 0o666 & ~umask()
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


@pytest.mark.parametrize('kept', [False, True])
def test_a_failure_leaves_no_folder_around_it(tmp_path, kept):
  path = tmp_path / 'a' / 'b' / 'c'
  if kept:
    path.parent.mkdir(parents=True)
  with pytest.raises(ValueError):
    with files.folders_around(str(path) + '/'):
      assert path.parent.is_dir() and not path.exists()
      raise ValueError
  assert os.listdir(str(tmp_path)) == ['a'] * kept
  assert path.parent.exists() == kept


def test_what_a_killed_process_has_left_in_a_folder_is_deleted(tmp_path):
  temporary = tmp_path / 'x.unpacking'
  temporary.mkdir()
  (temporary / 'old').write_text('')
  path = str(tmp_path / 'x')
  with files.new_folder(path, str(temporary)) as folder:
    assert folder == str(temporary) and os.listdir(folder) == []
  assert os.listdir(str(tmp_path)) == ['x'] and os.listdir(path) == []


def test_a_full_disk_changes_nothing(tmp_path):
  path = tmp_path / 'x'
  path.write_bytes(b'old')
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (10000, limits[1]))
  try:
    with pytest.raises(OSError):
      files.write_atomically(str(path), b'new' * 10000)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
  assert os.listdir(str(tmp_path)) == ['x']
  assert path.read_bytes() == b'old'


def test_a_missing_folder_is_not_made(tmp_path):
  path = str(tmp_path / 'none' / 'x')
  with pytest.raises(FileNotFoundError) as info:
    files.write_atomically(path, b'new')
  assert info.value.filename == path  # Not a temporary name.
  assert os.listdir(str(tmp_path)) == []


def test_the_checksum_of_a_file(tmp_path):
  path = tmp_path / 'x'
  for content in (b'', b'x' * ((1 << 18) + 1)):  # More than is read at once.
    path.write_bytes(content)
    assert files.sha256(str(path)) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize('kind', ['missing', 'there'])
def test_an_own_file_is_opened_as_it_is(tmp_path, kind):
  path = tmp_path / 'x'
  if kind == 'there':
    path.write_bytes(b'old')
  with files.open_own(str(path)) as file:
    assert file.read() == (b'old' if kind == 'there' else b'')
    file.seek(0)
    file.write(b'new!')
    assert path.read_bytes() == b'new!'  # Not in a buffer.
  assert stat.S_IMODE(path.stat().st_mode) & ~0o644 == 0


@pytest.mark.parametrize(
    'make, problem',
    [(lambda path, other: path.symlink_to(other), 'is a link'),
     (lambda path, other: path.symlink_to('none'), 'is a link'),
     (lambda path, other: os.link(str(other), str(path)), 'has another name '),
     (lambda path, other: os.mkfifo(str(path)), 'is not a regular file; '),
     (lambda path, other: path.symlink_to('/dev/null'), 'is a link')],
    ids=['link', 'dangling link', 'hard link', 'pipe', 'device'])
def test_what_is_not_an_own_file_is_refused(tmp_path, make, problem):
  other, path = tmp_path / 'other', tmp_path / 'x'
  other.write_text('precious')
  make(path, other)
  with pytest.raises(UserError) as info:
    files.open_own(str(path))
  assert str(info.value).startswith('%s: %s' % (path, problem))
  assert str(info.value).endswith('; expected a file of your own')
  assert other.read_text() == 'precious'
  assert sorted(os.listdir(str(tmp_path))) == ['other', 'x']


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_a_file_of_another_user_is_refused(tmp_path):
  path = tmp_path / 'x'
  path.write_text('theirs')
  os.chown(str(path), 12345, -1)
  with pytest.raises(UserError) as info:
    files.open_own(str(path))
  assert str(info.value) == (
      f'{path}: belongs to another user; expected a file of your own')


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


def test_an_error_without_a_file_gets_its_name():
  with pytest.raises(OSError) as info:
    with files.naming('a/b'):
      os.write(-1, b'')
  assert (info.value.errno, info.value.filename) == (errno.EBADF, 'a/b')
  assert 'a/b' in str(info.value)
  # The subclass follows from the number.
  with pytest.raises(BrokenPipeError, match='a/b'):
    with files.naming('a/b'):
      raise OSError(errno.EPIPE, 'pipe')


@pytest.mark.parametrize(
    'error',
    [OSError(errno.ENOENT, 'no', 'other'),
     OSError('text'),
     ValueError()])
def test_other_errors_are_as_before(error):
  with pytest.raises(type(error)) as info:
    with files.naming('a/b'):
      raise error
  assert info.value is error


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
      with pytest.raises(UserError) as info:
        read(str(name))
      assert str(info.value) == ('%s: is not a regular file; expected one' %
                                 name)


@pytest.mark.parametrize(
    'content, reason',
    [(b'', 'not JSON: '), (b'{"a": 1', 'not JSON: '),
     (b'{"a": "\xff"}', 'not JSON: '), (b'[1]', 'expected a JSON object'),
     (b'{"a": ["x\\u0000"]}', 'not JSON: a string holds a NUL'),
     (b'{"a\\u0000": 1}', 'not JSON: a string holds a NUL'),
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


def test_json_that_is_written_is_read_and_keeps_its_order(tmp_path):
  path = tmp_path / 'x.json'
  assert files.read_json(str(path)) is None
  value = {'b': [1, 2], 'a': {'text': '\u00e9"', 'c': '\U0001f600'}}
  files.write_json(str(path), value)
  assert files.read_json(str(path)) == value
  assert path.read_text().startswith('{\n  "b": [\n')
  assert path.read_text().endswith('}\n')


def test_a_line_of_json_is_appended_whole_or_not_at_all(tmp_path):
  path = tmp_path / 'lines'
  files.append_json_line(str(path), {'step': 1})
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
  try:
    with pytest.raises(OSError, match='No space left') as info:
      files.append_json_line(str(path), {'step': 2})
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
  assert info.value.filename == str(path)
  assert path.read_text() == '{"step": 1}\n'
