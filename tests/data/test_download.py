"""Fetching and unpacking, from a real server that injects faults."""

import gzip
import hashlib
import http.server
import io
import os
import signal
import socket
import tarfile
import threading
import time

import numpy as np
import pytest
from six.moves import urllib

from cifar10.data import download
from cifar10.errors import UserError
from tests import processes
from tests import short_runs

REQUIRED = ('a.bin', 'b.bin')
# Larger than a chunk of the reader, and incompressible.
CONTENT = {
  'folder/a.bin': np.random.RandomState(0).bytes(900000),
  'folder/b.bin': np.random.RandomState(1).bytes(300000),
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
LIMIT = 2 * len(ARCHIVE)


def sha256(content):
  return hashlib.sha256(content).hexdigest()


class Server(http.server.HTTPServer):
  """Serves ARCHIVE.

  Attributes:
    faults: one fault for each of the first requests: a status to answer with,
      or the number of bytes after which to close the connection.
    ranges: whether it supports ranges.
    hold: number of bytes after which an answer waits for `go`, or None.
    go: threading.Event.
    asked: the Range header of each request, or None.
    sent: total number of bytes sent.
    url: its address.
  """

  daemon_threads = True

  def __init__(self, faults=(), ranges=True, hold=None):
    super().__init__(('127.0.0.1', 0), Handler)
    self.faults = list(faults)
    self.ranges = ranges
    self.hold = hold
    self.go = threading.Event()
    self.asked = []
    self.sent = 0
    self.url = 'http://127.0.0.1:%d/archive.tar.gz' % self.server_port
    # Polls every 0.01 s whether to shut down.
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
  """Uses no proxy for the server, which is on this machine."""
  monkeypatch.setenv('no_proxy', '*')


@pytest.fixture(autouse=True)
def waits(monkeypatch):
  """Replaces waits between attempts; returns the list of their seconds."""
  seconds = []

  class Clock:
    sleep = staticmethod(seconds.append)

  monkeypatch.setattr(download, 'time', Clock)
  return seconds


def fetch(tmp_path, url, digest=None, size=None):
  archive = str(tmp_path / 'data' / 'archive.tar.gz')
  download.fetch_into(
    str(tmp_path / 'data' / 'folder'),
    [download.Remote(url, digest or sha256(ARCHIVE), archive, size, LIMIT)],
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


def test_an_interrupted_fetch_is_resumed(tmp_path, serve, waits, capsys):
  server = serve(faults=[300000, 100000])
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  # The server sends multiples of 1 << 15 bytes.
  first, second = 10 << 15, (10 + 4) << 15
  assert server.asked == [None, 'bytes=%d-' % first, 'bytes=%d-' % second]
  assert server.sent == len(ARCHIVE)  # No byte is sent twice.
  assert waits == [1, 1]  # They grow only without progress.
  printed = capsys.readouterr().out
  assert printed.count('%s: the connection ended after ' % server.url) == 2
  assert printed.count('; retrying in 1 s.\n') == 2


def test_a_later_call_resumes_too(tmp_path, serve):
  with pytest.raises(UserError, match='the connection ended after'):
    fetch(tmp_path, serve(faults=[200000] + [0] * 9).url)
  assert names(tmp_path)[0].endswith('.part')
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked[0] is not None


def test_a_server_without_ranges_sends_the_whole_file_again(tmp_path, serve):
  server = serve(faults=[300000], ranges=False)
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked[0] is None and server.asked[1] is not None
  assert server.sent == (10 << 15) + len(ARCHIVE)


def test_a_complete_part_is_used(tmp_path, serve):
  (tmp_path / 'data').mkdir()
  part = tmp_path / 'data' / ('archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8])
  part.write_bytes(ARCHIVE)
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.sent == 0


@pytest.mark.parametrize(
  'size',
  [1000, len(ARCHIVE), len(ARCHIVE) + 1000],
  ids=['short', 'whole', 'long'],
)
def test_a_damaged_part_is_fetched_again(tmp_path, serve, waits, size):
  (tmp_path / 'data').mkdir()
  part = tmp_path / 'data' / ('archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8])
  part.write_bytes(b'?' * size)
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked == ['bytes=%d-' % size, None]
  assert waits == []


def test_retries_if_the_server_is_busy_but_not_if_the_file_is_missing(
  tmp_path, serve, waits
):
  server = serve(faults=[503, 503])
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert waits == [1, 2]
  server = serve(faults=[404, 404])
  message = error_of(tmp_path / 'other', server.url)
  assert server.url in message and 'Not Found' in message
  assert len(server.asked) == 1


def test_gives_up_if_the_server_stays_busy(tmp_path, serve, waits):
  server = serve(faults=[503] * 9)
  message = error_of(tmp_path, server.url)
  assert server.url in message and 'Service Unavailable' in message
  assert len(server.asked) == 5 and waits == [1, 2, 4, 8]
  assert names(tmp_path) == []


def test_a_network_that_fails_for_a_moment(tmp_path, serve, waits, monkeypatch):
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
  assert waits == [1, 2, 4]
  assert server.sent == len(ARCHIVE)


def test_any_number_of_interruptions_with_progress(tmp_path, serve, waits):
  fetch(tmp_path, serve(faults=[50000] * 10).url)
  assert_complete(tmp_path)
  assert waits == [1] * 10


def test_a_wrong_checksum_leaves_nothing(tmp_path, serve):
  message = error_of(tmp_path, serve().url, 'f' * 64)
  assert 'found SHA-256 ' + sha256(ARCHIVE) in message
  assert 'expected ' + 'f' * 64 in message and '--data_sha256' in message
  assert names(tmp_path) == []
  fetch(tmp_path, serve().url, sha256(ARCHIVE).upper())
  assert_complete(tmp_path)


def test_an_archive_from_the_user_is_used_but_never_changed(tmp_path):
  (tmp_path / 'data').mkdir()
  archive = tmp_path / 'data' / 'archive.tar.gz'
  archive.write_bytes(ARCHIVE[:-1])
  message = error_of(tmp_path, 'http://127.0.0.1:9/')
  assert message.startswith('%s: found SHA-256' % archive)
  assert archive.read_bytes() == ARCHIVE[:-1]
  archive.write_bytes(ARCHIVE)
  fetch(tmp_path, 'http://127.0.0.1:9/')
  assert_complete(tmp_path)


def test_a_wrong_size_is_an_error_before_fetching(tmp_path, serve):
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


def test_a_file_address_without_a_file_is_an_error_at_once(tmp_path, waits):
  url = 'file://%s' % (tmp_path / 'none.tar.gz')
  message = error_of(tmp_path, url)
  assert url in message and 'No such file' in message
  assert waits == []


def test_no_network_is_an_error_at_once(tmp_path, waits):
  with socket.socket() as unused:
    unused.bind(('127.0.0.1', 0))
    url = 'http://127.0.0.1:%d/x.tar.gz' % unused.getsockname()[1]
    message = error_of(tmp_path, url)
  assert url in message and '--dataset=sample' in message
  assert 'refused' in message
  for url in ('nonsense', 'htp://a/x', 'http:///x', 'http://a:b/x'):
    assert 'cannot fetch %s: ' % url in error_of(tmp_path, url)
  assert 'directory' in error_of(tmp_path, 'file://%s' % tmp_path)
  assert waits == []
  assert names(tmp_path) == []


def link(name, target, kind):
  info = tarfile.TarInfo(name)
  info.type = kind
  info.linkname = target
  return info


@pytest.mark.parametrize(
  'members',
  [
    {'folder/a.bin': b'a'},
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
def test_an_archive_without_the_files_leaves_no_folder(tmp_path, members):
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
  # If followed, this link would lead out of the folder.
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
  ids=['truncated', 'overwritten', 'no gzip', 'no tar', 'empty'],
)
def test_a_damaged_archive_leaves_no_folder(tmp_path, archive):
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(archive)
  message = error_of(tmp_path, 'file://%s' % source, sha256(archive))
  assert 'archive.tar.gz: cannot be unpacked' in message
  assert names(tmp_path) == ['archive.tar.gz']


# Fetches an archive to sys.argv[1] from the address sys.argv[2].
PROGRAM = """
import os
import sys

from cifar10.data import download

sys.stdout.reconfigure(line_buffering=True)
{setup}
archive = os.path.join(sys.argv[1], 'archive.tar.gz')
download.fetch_into(
  os.path.join(sys.argv[1], 'folder'),
  [download.Remote(sys.argv[2], '{sha256}', archive, None, 10**9)],
  lambda paths, to: download.unpack(archive, 'folder', to, {required}),
)
"""


@pytest.fixture
def start(tmp_path):
  """Starts processes that fetch ARCHIVE from an address."""
  started = []

  def begin(url, setup=''):
    script = tmp_path / ('fetch_%d.py' % len(started))
    script.write_text(
      PROGRAM.format(setup=setup, sha256=sha256(ARCHIVE), required=REQUIRED)
    )
    process = processes.start(
      [str(script), str(tmp_path / 'data'), url],
      cwd=short_runs.ROOT,
      stdout=processes.PIPE,
      stderr=processes.PIPE,
    )
    started.append(process)
    return process

  yield begin
  for process in started:  # Those that a failed test leaves behind.
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
  # The process blocks when it writes the last file.
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


def test_the_folder_appears_by_a_rename(tmp_path, serve, monkeypatch):
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
