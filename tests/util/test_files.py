"""Atomic writes of files and folders, checksums, and JSON files."""

import hashlib
import os
import resource

import pytest

from cifar10.errors import UserError
from cifar10.util import files


def fail(*args):
  raise OSError('broken')


def test_a_file_is_written_and_replaced(tmp_path):
  path = tmp_path / 'x'
  files.write_atomically(str(path), b'old')
  assert path.read_bytes() == b'old'
  files.write_atomically(str(path), b'')
  assert path.read_bytes() == b''
  assert os.listdir(str(tmp_path)) == ['x']


@pytest.mark.parametrize('exists', [True, False])
@pytest.mark.parametrize('function', ['fsync', 'replace'])
def test_a_failure_changes_nothing(tmp_path, monkeypatch, exists, function):
  path = tmp_path / 'x'
  if exists:
    path.write_bytes(b'old')
  monkeypatch.setattr(files.os, function, fail)
  with pytest.raises(OSError, match='broken'):
    files.write_atomically(str(path), b'new')
  assert os.listdir(str(tmp_path)) == ['x'] * exists
  assert not exists or path.read_bytes() == b'old'


def test_an_interrupt_changes_nothing(tmp_path, monkeypatch):
  def interrupt(*args):
    raise KeyboardInterrupt

  path = tmp_path / 'x'
  path.write_bytes(b'old')
  monkeypatch.setattr(files.os, 'fsync', interrupt)
  with pytest.raises(KeyboardInterrupt):
    files.write_atomically(str(path), b'new')
  assert os.listdir(str(tmp_path)) == ['x']
  assert path.read_bytes() == b'old'


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
      fail()
  assert os.listdir(str(tmp_path)) == []
  path.mkdir()
  (path / 'file').write_text('old')
  with pytest.raises(OSError):
    with files.new_folder(str(path)):
      pass
  assert os.listdir(str(tmp_path)) == ['x']
  assert (path / 'file').read_text() == 'old'


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


def test_a_reader_sees_the_old_or_the_new_content(tmp_path, monkeypatch):
  path = tmp_path / 'x'
  path.write_bytes(b'old')
  replace = os.replace
  seen = []

  def look_and_replace(source, target):
    with open(source, 'rb') as written:
      seen.append((path.read_bytes(), written.read()))
    replace(source, target)

  monkeypatch.setattr(files.os, 'replace', look_and_replace)
  files.write_atomically(str(path), b'new')
  assert seen == [(b'old', b'new')]
  assert path.read_bytes() == b'new'


def test_a_missing_folder_is_not_made(tmp_path):
  with pytest.raises(FileNotFoundError):
    files.write_atomically(str(tmp_path / 'none' / 'x'), b'new')
  assert os.listdir(str(tmp_path)) == []


def test_the_checksum_of_a_file(tmp_path):
  path = tmp_path / 'x'
  for content in (b'', b'x' * ((1 << 18) + 1)):  # More than is read at once.
    path.write_bytes(content)
    assert files.sha256(str(path)) == hashlib.sha256(content).hexdigest()


def test_json_is_an_object_or_absent(tmp_path):
  path = tmp_path / 'x.json'
  assert files.read_json(str(path)) is None
  path.write_text('{"a": [1, null]}')
  assert files.read_json(str(path)) == {'a': [1, None]}


@pytest.mark.parametrize(
  'content, reason',
  [
    (b'', 'not JSON: '),
    (b'{"a": 1', 'not JSON: '),
    (b'{"a": "\xff"}', 'not JSON: '),
    (b'[1]', 'expected a JSON object'),
    (b'null', 'expected a JSON object'),
  ],
  ids=['empty', 'truncated', 'not UTF-8', 'list', 'null'],
)
def test_other_content_is_an_error_of_one_line(tmp_path, content, reason):
  path = tmp_path / 'x.json'
  path.write_bytes(content)
  with pytest.raises(UserError) as info:
    files.read_json(str(path))
  message = str(info.value)
  assert message.startswith('%s: %s' % (path, reason)) and '\n' not in message


def test_json_that_is_written_is_read_and_keeps_its_order(tmp_path):
  path = tmp_path / 'x.json'
  value = {'b': [1, 2], 'a': {'text': '\u00e9"'}}
  files.write_json(str(path), value)
  assert files.read_json(str(path)) == value
  assert path.read_text().startswith('{\n  "b": [\n')
  assert path.read_text().endswith('}\n')
