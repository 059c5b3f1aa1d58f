"""Fetching and unpacking, from a real server with real faults."""

import gzip
import hashlib
import http.server
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request

import pytest

from cifar10.data import download
from cifar10.errors import UserError
from tests import short_runs

REQUIRED = ('a.bin', 'b.bin')
# Larger than a chunk of the reader, and not to be compressed.
CONTENT = {
  'folder/a.bin': os.urandom(900000),
  'folder/b.bin': os.urandom(300000),
}


def make_archive(members):
  """A .tar.gz of {name: bytes, or a TarInfo to be used as it is}."""
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


def sha256(content):
  return hashlib.sha256(content).hexdigest()


class Server(http.server.HTTPServer):
  """Serves ARCHIVE, with one fault for each of the first requests.

  A fault is a status to answer with, or the number of bytes after which the
  connection breaks off. After `hold` bytes of each answer it waits for `go`.
  """

  daemon_threads = True

  def __init__(self, faults=(), ranges=True, hold=None):
    super().__init__(('127.0.0.1', 0), Handler)
    self.faults = list(faults)
    self.ranges = ranges
    self.hold = hold
    self.go = threading.Event()
    self.asked = []  # The Range of each request.
    self.sent = 0
    self.url = 'http://127.0.0.1:%d/archive.tar.gz' % self.server_port
    # Looks often whether it is to shut down.
    threading.Thread(
      target=self.serve_forever, args=(0.01,), daemon=True
    ).start()


class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self):  # noqa: N802 The library's name.
    server = self.server
    server.asked.append(self.headers.get('Range'))
    fault = server.faults.pop(0) if server.faults else None
    if fault in (404, 503):
      self.send_error(fault)
      return
    start = 0
    if server.ranges and self.headers.get('Range'):
      start = int(self.headers['Range'][len('bytes=') : -1])
    if start >= len(ARCHIVE):
      self.send_error(416)
      return
    self.send_response(206 if start else 200)
    self.send_header('Content-Length', str(len(ARCHIVE) - start))
    self.end_headers()
    body = ARCHIVE[start:]
    for i in range(0, len(body), 1 << 15):
      part = body[i : i + (1 << 15)]
      if fault is not None and i >= fault:
        return
      if server.hold is not None and i >= server.hold:
        server.go.wait(60)
      try:
        self.wfile.write(part)
      except OSError:
        return
      server.sent += len(part)

  def log_message(self, *args):
    pass


@pytest.fixture
def serve():
  servers = []

  def start(*args, **kwargs):
    servers.append(Server(*args, **kwargs))
    return servers[-1]

  yield start
  for server in servers:
    server.go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
  """The server is on this machine, whatever the environment says."""
  monkeypatch.setenv('no_proxy', '*')


@pytest.fixture(autouse=True)
def naps(monkeypatch):
  """Waits between attempts take no time, and are noted."""
  taken = []

  class Clock:
    sleep = staticmethod(taken.append)

  monkeypatch.setattr(download, 'time', Clock)
  return taken


def fetch(tmp_path, url, digest=None, size=None):
  archive = str(tmp_path / 'data' / 'archive.tar.gz')
  download.fetch_into(
    str(tmp_path / 'data' / 'folder'),
    [download.Remote(url, digest or sha256(ARCHIVE), archive, size)],
    lambda paths, folder: download.unpack(
      paths[0], 'folder', folder, REQUIRED, optional=('c.txt',)
    ),
  )


def error_of(*args):
  with pytest.raises(UserError) as info:
    fetch(*args)
  assert '\n' not in str(info.value)
  return str(info.value)


def names(tmp_path):
  return sorted(n for n in os.listdir(str(tmp_path / 'data')) if n[0] != '.')


def assert_complete(tmp_path):
  assert names(tmp_path) == ['archive.tar.gz', 'folder']
  folder = tmp_path / 'data' / 'folder'
  assert sorted(os.listdir(str(folder))) == ['a.bin', 'b.bin']
  for name, content in CONTENT.items():
    assert (tmp_path / 'data' / name).read_bytes() == content


def test_fetches_once_and_shows_progress(tmp_path, serve, capsys):
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert '100 % [#########################] 1.2 MB' in capsys.readouterr().out
  fetch(tmp_path, server.url)
  assert server.asked == [None]


def test_a_broken_connection_is_taken_up_where_it_broke(tmp_path, serve, naps):
  server = serve(faults=[300000, 100000])
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  # What the server sends of an answer are whole parts of 1 << 15 bytes.
  first, second = 10 << 15, (10 + 4) << 15
  assert server.asked == [None, 'bytes=%d-' % first, 'bytes=%d-' % second]
  assert server.sent == len(ARCHIVE)  # No byte comes twice.
  assert naps == [1, 1]  # The waits grow only while nothing comes.


def test_a_later_call_goes_on_too(tmp_path, serve):
  with pytest.raises(UserError, match='the connection ended after'):
    fetch(tmp_path, serve(faults=[200000] + [0] * 9).url)
  assert names(tmp_path)[0].endswith('.part')
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked[0] is not None


def test_a_server_without_ranges_sends_all_again(tmp_path, serve):
  server = serve(faults=[300000], ranges=False)
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked[0] is None and server.asked[1] is not None
  assert server.sent == (10 << 15) + len(ARCHIVE)


def test_a_part_that_is_whole_already_is_used(tmp_path, serve):
  (tmp_path / 'data').mkdir()
  part = tmp_path / 'data' / ('archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8])
  part.write_bytes(ARCHIVE)
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.sent == 0


@pytest.mark.parametrize('size', [1000, len(ARCHIVE), len(ARCHIVE) + 1000])
def test_a_spoilt_part_is_fetched_anew(tmp_path, serve, naps, size):
  (tmp_path / 'data').mkdir()
  part = tmp_path / 'data' / ('archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8])
  part.write_bytes(b'?' * size)
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked == ['bytes=%d-' % size, None]
  assert naps == []


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(
  tmp_path, serve, naps
):
  server = serve(faults=[503, 503])
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert naps == [1, 2]
  server = serve(faults=[404, 404])
  message = error_of(tmp_path / 'other', server.url)
  assert server.url in message and 'Not Found' in message
  assert len(server.asked) == 1


def test_a_server_that_stays_busy_is_given_up(tmp_path, serve, naps):
  server = serve(faults=[503] * 9)
  message = error_of(tmp_path, server.url)
  assert server.url in message and 'Service Unavailable' in message
  assert len(server.asked) == 5 and naps == [1, 2, 4, 8]
  assert names(tmp_path) == []


def test_a_network_that_goes_away_for_a_moment(
  tmp_path, serve, naps, monkeypatch
):
  urlopen = urllib.request.urlopen
  calls = []

  def sometimes(*args, **kwargs):
    calls.append(args)
    if len(calls) in (2, 3):
      raise urllib.error.URLError(ConnectionRefusedError('refused'))
    return urlopen(*args, **kwargs)

  monkeypatch.setattr(urllib.request, 'urlopen', sometimes)
  server = serve(faults=[300000])
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert naps == [1, 2, 4]
  assert server.sent == len(ARCHIVE)


def test_a_connection_that_breaks_often_gets_there_too(tmp_path, serve, naps):
  fetch(tmp_path, serve(faults=[50000] * 10).url)
  assert_complete(tmp_path)
  assert len(naps) == 10


def test_a_wrong_checksum_leaves_nothing(tmp_path, serve):
  message = error_of(tmp_path, serve().url, 'f' * 64)
  assert 'found SHA-256 ' + sha256(ARCHIVE) in message
  assert 'expected ' + 'f' * 64 in message and '--data_sha256' in message
  assert names(tmp_path) == []
  fetch(tmp_path, serve().url, sha256(ARCHIVE).upper())
  assert_complete(tmp_path)


def test_an_archive_of_the_users_is_used_or_left_alone(tmp_path):
  (tmp_path / 'data').mkdir()
  archive = tmp_path / 'data' / 'archive.tar.gz'
  archive.write_bytes(ARCHIVE[:-1])
  message = error_of(tmp_path, 'http://127.0.0.1:9/')
  assert message.startswith('%s: found SHA-256' % archive)
  assert archive.read_bytes() == ARCHIVE[:-1]
  archive.write_bytes(ARCHIVE)
  fetch(tmp_path, 'http://127.0.0.1:9/')
  assert_complete(tmp_path)


def test_another_size_than_expected_is_told_before_fetching(tmp_path, serve):
  server = serve()
  message = error_of(tmp_path, server.url, None, 170052171)
  assert 'has %d bytes; expected 170052171' % len(ARCHIVE) in message
  assert names(tmp_path) == []


def test_a_file_address(tmp_path):
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(ARCHIVE)
  fetch(tmp_path, 'file://%s' % source)
  assert_complete(tmp_path)
  assert source.read_bytes() == ARCHIVE


def test_a_file_address_of_no_file_is_told_at_once(tmp_path, naps):
  url = 'file://%s' % (tmp_path / 'none.tar.gz')
  message = error_of(tmp_path, url)
  assert url in message and 'No such file' in message
  assert naps == []


def test_no_network_is_told_at_once(tmp_path, naps):
  with socket.socket() as unused:
    unused.bind(('127.0.0.1', 0))
    url = 'http://127.0.0.1:%d/x.tar.gz' % unused.getsockname()[1]
    message = error_of(tmp_path, url)
  assert url in message and '--dataset=sample' in message
  assert 'refused' in message
  for url in ('nonsense', 'htp://a/x', 'http:///x', 'http://a:b/x'):
    assert 'cannot fetch %s: ' % url in error_of(tmp_path, url)
  assert 'directory' in error_of(tmp_path, 'file://%s' % tmp_path)
  assert naps == []
  assert names(tmp_path) == []


def link(name, target, kind):
  info = tarfile.TarInfo(name)
  info.type = kind
  info.linkname = target
  return info


@pytest.mark.parametrize(
  'members',
  [
    {'folder/a.bin': b'a'},  # One is missing.
    dict(
      CONTENT,
      **{'folder/b.bin': link('folder/b.bin', 'a.bin', tarfile.SYMTYPE)},
    ),
    {
      'folder/a.bin': b'a',
      'folder/b.bin': link('folder/b.bin', '/etc/passwd', tarfile.LNKTYPE),
    },
    {'other/a.bin': b'a', 'other/b.bin': b'b'},
    {},
  ],
  ids=['missing', 'symlink', 'hard link', 'other folder', 'nothing'],
)
def test_an_archive_of_other_content_leaves_no_folder(tmp_path, members):
  archive = make_archive(members)
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(archive)
  message = error_of(tmp_path, 'file://%s' % source, sha256(archive))
  assert 'holds no file folder/' in message
  assert names(tmp_path) == ['archive.tar.gz']


def test_members_outside_the_folder_are_not_written(tmp_path):
  members = dict(CONTENT)
  members['../evil'] = b'x'
  members['folder/../../evil'] = b'x'
  members[str(tmp_path / 'evil')] = b'x'
  # Written through, this folder would be another one.
  members['folder'] = link('folder', str(tmp_path), tarfile.SYMTYPE)
  members['folder/sub/a.bin'] = b'x'
  members['folder/more.bin'] = b'x'
  archive = make_archive(members)
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(archive)
  fetch(tmp_path, 'file://%s' % source, sha256(archive))
  assert_complete(tmp_path)
  assert sorted(os.listdir(str(tmp_path))) == ['data', 'mirror.tar.gz']


@pytest.mark.parametrize(
  'archive',
  [
    ARCHIVE[:700000],
    ARCHIVE[:10] + b'?' * 1000,
    b'no archive',
    gzip.compress(b'no tar'),
    b'',
  ],
  ids=['truncated', 'spoilt', 'no gzip', 'no tar', 'empty'],
)
def test_a_damaged_archive_leaves_no_folder(tmp_path, archive):
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(archive)
  message = error_of(tmp_path, 'file://%s' % source, sha256(archive))
  assert 'archive.tar.gz: cannot be unpacked' in message
  assert names(tmp_path) == ['archive.tar.gz']


@pytest.fixture
def start(tmp_path):
  """Starts processes that fetch this module's archive from a URL."""
  processes = []

  def begin(url, setup=''):
    program = (
      'import sys, pathlib\n'
      'from cifar10.data import download\n'
      '%s\n'
      "digest = '%s'\n"
      'data = pathlib.Path(sys.argv[1])\n'
      "archive = str(data / 'archive.tar.gz')\n"
      "download.fetch_into(str(data / 'folder'),"
      ' [download.Remote(sys.argv[2], digest, archive)],'
      " lambda paths, to: download.unpack(archive, 'folder', to, %r))\n"
    ) % (setup, sha256(ARCHIVE), REQUIRED)
    process = subprocess.Popen(
      [sys.executable, '-u', '-c', program, str(tmp_path / 'data'), url],
      cwd=short_runs.ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      universal_newlines=True,
    )
    processes.append(process)
    return process

  yield begin
  for process in processes:  # Those that a failed test has left.
    process.kill()
    process.communicate()


def wait_for(condition, process):
  deadline = time.time() + 60
  while not condition():
    assert time.time() < deadline and process.poll() is None
    time.sleep(0.005)


def test_killed_while_fetching(tmp_path, serve, start):
  # Two chunks of the reader.
  server = serve(hold=600000)
  process = start(server.url)
  data = tmp_path / 'data'

  def held():
    return sum(part.stat().st_size for part in data.glob('*.part'))

  wait_for(lambda: held() > 200000, process)
  process.send_signal(signal.SIGKILL)
  process.communicate()
  (part,) = names(tmp_path)
  assert part.endswith('.part')
  kept = held()
  again = serve()
  fetch(tmp_path, again.url)
  assert_complete(tmp_path)
  assert again.asked == ['bytes=%d-' % kept]
  assert again.sent == len(ARCHIVE) - kept


def test_killed_while_unpacking(tmp_path, serve, start):
  # The last file never gets written: the process waits for its end there.
  setup = (
    'import time, shutil\n'
    'copy = shutil.copyfileobj\n'
    'def slow(source, target):\n'
    "  if target.name.endswith('b.bin'): time.sleep(600)\n"
    '  copy(source, target)\n'
    'shutil.copyfileobj = slow'
  )
  process = start(serve().url, setup)
  written = tmp_path / 'data' / 'folder.unpacking' / 'b.bin'
  wait_for(written.exists, process)
  process.send_signal(signal.SIGKILL)
  process.communicate()
  assert 'folder' not in names(tmp_path)
  fetch(tmp_path, 'http://127.0.0.1:9/')
  assert_complete(tmp_path)


def test_the_folder_appears_by_one_rename(tmp_path, serve, monkeypatch):
  def fail(*args):
    raise OSError('no rename')

  monkeypatch.setattr(download.os, 'rename', fail)
  with pytest.raises(OSError, match='no rename'):
    fetch(tmp_path, serve().url)
  assert names(tmp_path) == ['archive.tar.gz']


def test_two_processes_fetch_once(tmp_path, serve, start):
  server = serve(hold=100000)
  first = start(server.url)
  wait_for(lambda: server.sent > 0, first)
  second = start(server.url)
  line = second.stdout.readline()
  assert line == 'Another process is fetching the data; waiting for it.\n'
  server.go.set()
  for process in (first, second):
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, '')
  assert len(server.asked) == 1
  assert_complete(tmp_path)
