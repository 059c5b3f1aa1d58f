"""Fetching and unpacking, from a real server that injects faults."""

import gzip
import hashlib
import http.server
import io
import os
import shutil
import socket
import struct
import tarfile
import threading
from unittest import mock

import numpy as np
import pytest
from six.moves import urllib

from cifar10.data import download
from cifar10.data.download import unpack
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import processes
from tests import short_runs

REQUIRED = ('a.bin', 'b.bin')
# Larger than a chunk of the reader, and incompressible.
CONTENT = {
    'folder/a.bin': np.random.RandomState(0).bytes(900000),
    'folder/b.bin': np.random.RandomState(1).bytes(300000)
}


def make_archive(members):
  """The bytes of a .tar.gz of {name: bytes, or a TarInfo to add}."""
  stream = io.BytesIO()
  # Without the time, so that all processes of a run make the same one.
  with gzip.GzipFile(fileobj=stream, mode='wb', mtime=0) as packed, \
      tarfile.open(fileobj=packed, mode='w') as tar:
    for name, content in members.items():
      if isinstance(content, tarfile.TarInfo):
        tar.addfile(content)
      else:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
  return stream.getvalue()


def sha256(content):
  return hashlib.sha256(content).hexdigest()


ARCHIVE = make_archive(CONTENT)
LIMIT = 2 * len(ARCHIVE)
TOTAL = len(ARCHIVE)
SHA256 = sha256(ARCHIVE)
PIECE = 1 << 15
PART = f'archive.tar.gz.{SHA256[:8]}.part'
NOWHERE = 'http://127.0.0.1:9/'


class Server(http.server.HTTPServer):
  """Serves ARCHIVE.

  Attributes:
    faults: one fault for each of the first requests: a status to answer with, a
      function of the handler that answers, or the number of bytes after which
      to close the connection. None: the usual answer.
    hold: number of bytes after which an answer waits for `go`, or None.
    asked: the first byte of each request; 0 without a range.
    sent: total number of bytes sent.
  """

  daemon_threads = True

  def __init__(self, faults=(), hold=None):
    super().__init__(('127.0.0.1', 0), Handler)
    self.faults = list(faults)
    self.hold = hold
    self.go = threading.Event()
    self.asked = []
    self.sent = 0
    self.url = f'http://127.0.0.1:{self.server_port}/archive.tar.gz'
    threading.Thread(target=self.serve_forever, args=(0.01,),
                     daemon=True).start()

  def handle_error(self, request, client_address):
    pass  # A client that hangs up.


class Handler(http.server.BaseHTTPRequestHandler):

  def do_GET(self):  # noqa: N802 The library's name.
    server = self.server
    start = int(self.headers.get('Range', 'bytes=0-')[len('bytes='):-1])
    server.asked.append(start)
    fault = server.faults.pop(0) if server.faults else None
    if callable(fault):
      fault(self)
    elif fault in (404, 503):
      self.send_error(fault)
    elif start >= TOTAL:
      self.send_error(416)
    else:
      self.answer(206 if start else 200, Content_Length=TOTAL - start,
                  Content_Range=f'bytes {start}-{TOTAL - 1}/{TOTAL}')
      self._send(ARCHIVE[start:], fault)

  def answer(self, status, body=b'', **headers):
    """Sends an answer; `Content_Range` is the header Content-Range."""
    self.send_response(status)
    for name, value in headers.items():
      self.send_header(name.replace('_', '-'), str(value))
    self.end_headers()
    self.wfile.write(body)

  def _send(self, body, end):
    for i in range(0, len(body), PIECE):
      if end is not None and i >= end:
        return
      if self.server.hold is not None and i >= self.server.hold:
        self.server.go.wait(60)
      self.wfile.write(body[i:i + PIECE])
      self.server.sent += len(body[i:i + PIECE])

  def log_message(self, *args):
    pass


@pytest.fixture
def serve(monkeypatch):
  monkeypatch.setenv('no_proxy', '*')  # The server is on this machine.
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
def waits(monkeypatch):
  """Replaces waits between attempts; returns the list of their seconds."""
  seconds = []

  class Clock:
    sleep = staticmethod(seconds.append)

  monkeypatch.setattr(download, 'time', Clock)
  return seconds


@pytest.fixture
def data(tmp_path):
  """The folder of the data, a pathlib.Path that exists."""
  (tmp_path / 'data').mkdir()
  return tmp_path / 'data'


def fetch(data, url, digest=SHA256, size=None):
  remote = download.Remote(url, digest, size, LIMIT,
                           str(data / 'archive.tar.gz'))
  download.fetch_into(
      str(data / 'folder'), [remote], lambda paths, folder: unpack(
          paths[0], 'folder', folder, REQUIRED, optional=('c.txt',)))


def error_of(*args):
  with pytest.raises((UserError, OSError)) as info:
    fetch(*args)
  return str(info.value)


def names(data):
  return sorted(n for n in os.listdir(str(data)) if n[0] != '.')


def assert_complete(data):
  assert names(data) == ['archive.tar.gz', 'folder']
  assert sorted(os.listdir(str(data / 'folder'))) == ['a.bin', 'b.bin']
  for name, content in CONTENT.items():
    assert (data / name).read_bytes() == content


def test_fetches_once_and_shows_progress(tmp_path, serve, capsys):
  server, data = serve(), tmp_path / 'new' / 'data'
  fetch(data, server.url)
  assert_complete(data)
  assert '100 % [#########################] 1.2 MB' in capsys.readouterr().out
  fetch(data, server.url)
  assert server.asked == [0]


def all_of_it(content_range):
  """An answer to a range: the whole file, with such a Content-Range."""

  def answer(handler):
    handler.answer(206, ARCHIVE, Content_Length=TOTAL,
                   Content_Range=content_range)

  return answer


def without_ranges(handler):
  handler.answer(200, ARCHIVE, Content_Length=TOTAL)


def cut_without_length(handler):
  handler.answer(200, ARCHIVE[:5000])


def busy(handler):
  handler.send_response_only(503, 'busy \x1b[2J\x07')
  handler.end_headers()


def reset(handler):
  linger = struct.pack('ii', 1, 0)
  handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def not_http(handler):
  handler.wfile.write(b'\x1b[2J220 ready\r\n' + bytes(range(256)))


# What the server does first; how many bytes a part of an earlier process holds,
# of ARCHIVE or else of damage; the bytes asked for first, and the waits.
@pytest.mark.parametrize('faults, part, asked, waited', [
    ([300000, 100000], 0, [0, 10 * PIECE, 14 * PIECE], [1, 1]),
    ([50000] * 10, 0, [2 * PIECE * i for i in range(11)], [1] * 10),
    ([503, 503], 0, [0, 0, 0], [1, 2]),
    ([reset, not_http], 0, [0, 0, 0], [1, 2]),
    ([None], 200000, [200000], []),
    ([None], TOTAL, [TOTAL], []),
    ([None], -1000, [1000, 0], []),
    ([None], -TOTAL, [TOTAL, 0], []),
    ([300000, without_ranges], 0, [0, 10 * PIECE], [1]),
    ([all_of_it(f'bytes 0-{TOTAL - 1}/{TOTAL}')], 1000, [1000, 0], []),
    ([all_of_it(f'bytes 7-{TOTAL + 6}/{TOTAL + 7}')], 1000, [1000, 0], []),
    ([all_of_it('nonsense')], 1000, [1000, 0], []),
])  # yapf: disable
def test_a_fetch_goes_on(data, serve, waits, faults, part, asked, waited):
  if part:
    content = ARCHIVE[:part] if part > 0 else b'?' * -part
    (data / PART).write_bytes(content)
  server = serve(faults)
  fetch(data, server.url)
  assert_complete(data)
  assert (server.asked, waits) == (asked, waited)


def redirects(to):
  return lambda handler: handler.answer(302, Location=to)


def endless(handler):
  handler.answer(200)
  while True:
    handler.wfile.write(b'?' * (1 << 16))


def has_length(length, **headers):
  return lambda handler: handler.answer(200, ARCHIVE, Content_Length=length, **
                                        headers)


# What the server does, the size to expect, what the error says, and how often
# the server is asked.
@pytest.mark.parametrize('faults, size, message, count', [
    ([404], None, 'HTTP Error 404: Not Found. Without an internet', 1),
    ([503] * 9, None, 'HTTP Error 503: Service Unavailable. Without', 5),
    ([busy] * 9, None, 'HTTP Error 503: busy \\x1b[2J\\x07. Without', 5),
    ([redirects('/archive.tar.gz')] * 20, None, 'infinite loop. Without an', 5),
    ([redirects('file:///etc/hostname')], None, "'file:///etc/hostname'", 1),
    ([has_length('many')], None, "for int() with base 10: 'many'", 1),
    ([has_length(TOTAL, X='x' * 70000)], None, 'got more than 65536 bytes', 1),
    ([has_length(9)], None, f'found SHA-256 {sha256(ARCHIVE[:9])} (9 byt', 1),
    ([endless], None, f': sends more than the expected {LIMIT} bytes', 1),
    ([endless], TOTAL, f': sends more than the expected {TOTAL} bytes', 1),
    ([], 170052171, f': has {TOTAL} bytes; expected 170052171 (for', 1),
    ([cut_without_length] * 9, TOTAL, f'ended after 5000 of {TOTAL} byt', 5),
])  # yapf: disable
def test_a_fetch_fails(data, serve, capsys, faults, size, message, count):
  server = serve(faults)
  found = error_of(data, server.url, SHA256, size)
  assert server.url in found and message in found
  assert len(server.asked) == count
  printed = capsys.readouterr().out
  assert printed.count('; retrying in ') == (0 if 'loop' in found else count -
                                             1)
  assert '\x1b' not in printed


def test_a_network_that_fails_for_a_moment(data, serve, waits, monkeypatch):
  urlopen = urllib.request.urlopen
  calls = []

  def sometimes(*args, **kwargs):
    calls.append(args)
    if len(calls) in (2, 3):
      raise urllib.error.URLError(ConnectionRefusedError('refused'))
    return urlopen(*args, **kwargs)

  monkeypatch.setattr(urllib.request, 'urlopen', sometimes)
  server = serve([300000])
  fetch(data, server.url)
  assert_complete(data)
  assert waits == [1, 2, 4] and server.sent == TOTAL


def test_what_cannot_be_fetched_is_an_error_at_once(tmp_path, data, waits):
  with socket.socket() as unused:
    unused.bind(('127.0.0.1', 0))
    refused = f'http://127.0.0.1:{unused.getsockname()[1]}/x.tar.gz'
    message = error_of(data, refused)
  assert 'refused' in message and '--dataset=sample' in message
  for url in ('nonsense', 'htp://a/x', 'http:///x', 'http://a:b/x',
              f'file://{tmp_path}/none', f'file://{tmp_path}'):
    assert f'cannot fetch {url}: ' in error_of(data, url)
  assert waits == [] and names(data) == []


def test_a_wrong_checksum_leaves_nothing(data, serve):
  message = error_of(data, serve().url, 'f' * 64)
  assert f'found SHA-256 {SHA256}' in message
  assert 'expected ' + 'f' * 64 in message and '--data_sha256' in message
  assert names(data) == []
  fetch(data, serve().url, SHA256.upper())
  assert_complete(data)


def test_an_archive_from_the_user_is_used_but_never_changed(data):
  archive = data / 'archive.tar.gz'
  archive.write_bytes(ARCHIVE[:-1])
  message = error_of(data, NOWHERE)
  assert message.startswith(f'{archive}: found SHA-256')
  assert archive.read_bytes() == ARCHIVE[:-1]
  archive.write_bytes(ARCHIVE)
  fetch(data, NOWHERE)
  assert_complete(data)


def test_a_full_disk_names_the_file_and_keeps_the_part(data, serve, waits,
                                                       monkeypatch):
  archive = data / 'archive.tar.gz'
  with processes.full_disk(500000):
    message = error_of(data, serve().url)
  assert message == f'{archive}: cannot be written: File too large'
  assert waits == []
  server = serve()
  with monkeypatch.context() as patched:  # As NFS reports it.
    patched.setattr(os, 'fsync', mock.Mock(side_effect=OSError(28, 'full')))
    assert error_of(data, server.url) == f"[Errno 28] full: '{archive}'"
  fetch(data, server.url)
  assert server.asked[0] == 500000
  shutil.rmtree(str(data / 'folder'))
  with processes.full_disk(500000):  # While unpacking.
    message = error_of(data, NOWHERE)
  assert message.endswith(f"File too large: '{data}/folder.unpacking/a.bin'")
  assert names(data) == ['archive.tar.gz']


def put(kind, path, victim):
  """Puts what an attacker could prepare to `path`."""
  if kind == 'link':
    path.symlink_to(victim)
  elif kind == 'hard link':
    os.link(str(victim), str(path))
  elif kind == 'pipe':
    os.mkfifo(str(path))
  else:
    path.mkdir()
    (path / 'x').write_text('')


@pytest.mark.parametrize('kind', ['link', 'hard link', 'pipe', 'folder'])
@pytest.mark.parametrize(
    'name',
    ['.fetch.lock', PART, 'folder.unpacking', 'archive.tar.gz', 'folder'])
def test_nothing_is_written_through_what_others_prepared(
    tmp_path, data, serve, kind, name):
  victim = tmp_path / 'victim'
  victim.write_text('precious')
  put(kind, data / name, victim)
  server = serve()
  left = {name}
  if (name, kind) in (('folder.unpacking', 'folder'), ('.fetch.lock',
                                                       'hard link')):
    # As if a killed process had left it, or in a copy by hard links.
    fetch(data, server.url)
    assert_complete(data)
    left = {'archive.tar.gz', 'folder'}
  elif (name, kind) == ('folder', 'folder'):
    fetch(data, server.url)  # It is there.
  else:
    assert str(data / name) in error_of(data, server.url)
    if name == 'folder.unpacking':
      left.add('archive.tar.gz')
  assert victim.read_text() == 'precious'
  assert set(os.listdir(str(data))) == left
  assert name not in ('archive.tar.gz', 'folder') or server.asked == []


def link(name, target, kind):
  info = tarfile.TarInfo(name)
  info.type = kind
  info.linkname = target
  return info


A, B = 'folder/a.bin', 'folder/b.bin'
MISSING = 'archive.tar.gz: holds no file ' + B
DAMAGED = 'archive.tar.gz: cannot be unpacked: '


@pytest.mark.parametrize('content, problem', [
    ({A: b'a'}, MISSING),
    ({A: b'a', B: link(B, 'a.bin', tarfile.SYMTYPE)}, MISSING),
    ({A: b'a', B: link(B, '/etc/passwd', tarfile.LNKTYPE)}, MISSING),
    ({A: b'a', 'other/b.bin': b'b'}, MISSING),
    (ARCHIVE[:700000], DAMAGED),
    (ARCHIVE[:10] + b'?' * 1000, DAMAGED),
    (b'no archive', DAMAGED),
    (gzip.compress(b'no tar'), DAMAGED),
    (b'', DAMAGED),
], ids=range(9))  # yapf: disable
def test_an_archive_of_no_use_is_named_and_leaves_no_folder(
    data, content, problem):
  if isinstance(content, dict):
    content = make_archive(content)
  (data / 'archive.tar.gz').write_bytes(content)
  assert problem in error_of(data, NOWHERE, sha256(content))
  assert names(data) == ['archive.tar.gz']


def test_members_outside_the_folder_are_not_written(tmp_path, data):
  members = dict(CONTENT)
  members['../evil'] = b'x'
  members['folder/../../evil'] = b'x'
  members[str(tmp_path / 'evil')] = b'x'
  # If followed, this link would lead out of the folder.
  members['folder'] = link('folder', str(tmp_path), tarfile.SYMTYPE)
  members['folder/sub/a.bin'] = b'x'
  members['folder/more.bin'] = b'x'
  content = make_archive(members)
  (data / 'archive.tar.gz').write_bytes(content)
  fetch(data, NOWHERE, sha256(content))
  assert_complete(data)
  assert os.listdir(str(tmp_path)) == ['data']


def test_killed_while_fetching(data, serve):
  flags = [f'--data_dir={data}', f'--data_sha256={SHA256}']
  flags.append(
      f'--data_url={serve(hold=600000).url}')  # 2 chunks of the reader.
  process = processes.start(['-m', 'cifar10.data.fetch_data', *flags],
                            cwd=short_runs.ROOT, stdout=processes.DEVNULL)

  def held():
    return sum(part.stat().st_size for part in data.glob('*.part'))

  processes.wait_until(lambda: held() > 200000)
  process.kill()
  process.wait()
  kept, again = held(), serve()
  settings = Settings(data_dir=str(data), data_url=again.url,
                      data_sha256=SHA256)
  # The archive is whole, though it is not the one of CIFAR-10.
  with pytest.raises(UserError, match='holds no file cifar-10-batches-bin/'):
    short_runs.prepared(settings)
  assert again.asked == [kept] and again.sent == TOTAL - kept


def test_of_two_at_once_one_fetches_and_the_other_waits(data, serve, capsys):
  server, out = serve(hold=100000), []

  def is_waiting():
    out.append(capsys.readouterr().out)
    return 'Another process is fetching the data; waiting' in ''.join(out)

  # Threads, which open the lock for themselves as processes do.
  threads = [
      threading.Thread(target=fetch, args=(data, server.url)) for _ in range(2)
  ]
  threads[0].start()
  processes.wait_until(lambda: server.sent > 0)
  threads[1].start()
  processes.wait_until(is_waiting)
  server.go.set()
  for thread in threads:
    thread.join(60)
  assert server.asked == [0]
  assert_complete(data)
