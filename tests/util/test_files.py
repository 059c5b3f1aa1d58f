"""Files that are whole or absent: atomic writing, JSON that may be broken."""

import os
import resource

import pytest

from cifar10.errors import UserError
from cifar10.util import files


def fail(*args):
  raise OSError('broken')


def test_a_file_is_written_and_written_over(tmp_path):
  path = tmp_path / 'x'
  files.write_atomically(str(path), b'old')
  assert path.read_bytes() == b'old'
  files.write_atomically(str(path), b'')
  assert path.read_bytes() == b''
  assert os.listdir(str(tmp_path)) == ['x']


@pytest.mark.parametrize('there', [True, False])
@pytest.mark.parametrize('function', ['fsync', 'replace'])
def test_a_failure_leaves_what_was_there_and_no_more(
  tmp_path, monkeypatch, there, function
):
  path = tmp_path / 'x'
  if there:
    path.write_bytes(b'old')
  monkeypatch.setattr(files.os, function, fail)
  with pytest.raises(OSError, match='broken'):
    files.write_atomically(str(path), b'new')
  assert os.listdir(str(tmp_path)) == ['x'] * there
  assert not there or path.read_bytes() == b'old'


def test_an_interrupt_leaves_what_was_there_and_no_more(tmp_path, monkeypatch):
  def interrupt(*args):
    raise KeyboardInterrupt

  path = tmp_path / 'x'
  path.write_bytes(b'old')
  monkeypatch.setattr(files.os, 'fsync', interrupt)
  with pytest.raises(KeyboardInterrupt):
    files.write_atomically(str(path), b'new')
  assert os.listdir(str(tmp_path)) == ['x']
  assert path.read_bytes() == b'old'


@pytest.mark.parametrize('there', [True, False])
def test_a_folder_appears_whole(tmp_path, there):
  path = tmp_path / 'x'
  if there:
    path.mkdir()
  with files.new_folder(str(path) + '/') as temporary:
    (tmp_path / temporary / 'file').write_text('new')
    assert os.listdir(str(path)) == [] if there else not path.exists()
  assert os.listdir(str(tmp_path)) == ['x']
  assert (path / 'file').read_text() == 'new'


def test_a_folder_that_fails_leaves_what_was_there_and_no_more(tmp_path):
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


def test_a_disk_that_is_full_half_way(tmp_path):
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


def test_a_reader_sees_all_or_nothing(tmp_path, monkeypatch):
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


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
  with pytest.raises(FileNotFoundError):
    files.write_atomically(str(tmp_path / 'none' / 'x'), b'new')
  assert os.listdir(str(tmp_path)) == []


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
)
def test_other_content_is_told_in_one_line(tmp_path, content, reason):
  path = tmp_path / 'x.json'
  path.write_bytes(content)
  with pytest.raises(UserError) as info:
    files.read_json(str(path))
  message = str(info.value)
  assert message.startswith('%s: %s' % (path, reason)) and '\n' not in message
