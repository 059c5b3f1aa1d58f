"""Fetching and unpacking, from a real server that injects faults."""

import contextlib
import hashlib
import http.server
import io
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from six.moves import urllib

from cifar10.data import download
from cifar10.data.download import unpack
from cifar10.errors import UserError
from tests import processes
from tests import short_runs
from tests.data.archives import ARCHIVE
from tests.data.archives import CONTENT
from tests.data.archives import REQUIRED

LIMIT = 2 * len(ARCHIVE)


def sha256(content):
  return hashlib.sha256(content).hexdigest()


class Server(http.server.HTTPServer):
  """Serves ARCHIVE.

  Attributes:
    faults: one fault for each of the first requests: a status to answer with,
      or the number of bytes after which to close the connection.
    ranges: whether it supports ranges.
    answer: function of the handler that answers, or None for the usual answer.
    hold: number of bytes after which an answer waits for `go`, or None.
    go: threading.Event.
    asked: the Range header of each request, or None.
    sent: total number of bytes sent.
    url: its address.
  """

  daemon_threads = True

  def __init__(self, faults=(), ranges=True, hold=None, answer=None):
    super().__init__(('127.0.0.1', 0), Handler)
    self.answer = answer
    self.faults = list(faults)
    self.ranges = ranges
    self.hold = hold
    self.go = threading.Event()
    self.asked = []
    self.sent = 0
    self.url = 'http://127.0.0.1:%d/archive.tar.gz' % self.server_port
    # Polls every 0.01 s whether to shut down.
    threading.Thread(target=self.serve_forever, args=(0.01,),
                     daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):

  def do_GET(self):  # noqa: N802 The library's name.
    server = self.server
    server.asked.append(self.headers.get('Range'))
    if server.answer:
      server.answer(self)
      return
    fault = server.faults.pop(0) if server.faults else None
    if fault in (404, 503):
      self.send_error(fault)
      return
    start = 0
    if server.ranges and self.headers.get('Range'):
      start = int(self.headers['Range'][len('bytes='):-1])
    if start >= len(ARCHIVE):
      self.send_error(416)
      return
    self.send_response(206 if start else 200)
    self.send_header('Content-Length', str(len(ARCHIVE) - start))
    if start:
      end = len(ARCHIVE)
      self.send_header('Content-Range',
                       'bytes %d-%d/%d' % (start, end - 1, end))
    self.end_headers()
    body = ARCHIVE[start:]
    for i in range(0, len(body), 1 << 15):
      part = body[i:i + (1 << 15)]
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
      lambda paths, folder: unpack(paths[0], 'folder', folder, REQUIRED,
                                   optional=('c.txt',)))


def error_of(*args):
  with pytest.raises(UserError) as info:
    fetch(*args)
  assert '\n' not in str(info.value)
  return str(info.value)


def names(tmp_path):
  if not (tmp_path / 'data').exists():
    return []
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
    'size', [1000, len(ARCHIVE), len(ARCHIVE) + 1000],
    ids=['short', 'whole', 'long'])
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
    tmp_path, serve, waits):
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
  assert waits == []
  assert names(tmp_path) == []


def respond(handler, status, body, **headers):
  """Sends an answer; `Content_Range` stands for the header Content-Range."""
  handler.send_response(status)
  for name, value in headers.items():
    handler.send_header(name.replace('_', '-'), value)
  handler.end_headers()
  handler.wfile.write(body)


def part_of(tmp_path, content):
  """Puts a part of an earlier fetch there; returns its path."""
  (tmp_path / 'data').mkdir(exist_ok=True)
  part = tmp_path / 'data' / ('archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8])
  part.write_bytes(content)
  return part


@pytest.mark.parametrize(
    'content_range, requests',
    [('bytes 0-%d/%d' % (len(ARCHIVE) - 1, len(ARCHIVE)), 1),
     ('bytes 7-%d/%d' % (len(ARCHIVE) + 6, len(ARCHIVE) + 7), 2),
     ('nonsense', 2),
     (None, 2)], ids=['from 0', 'from 7', 'nonsense', 'missing'])
def test_a_whole_file_is_not_appended_to_a_part(tmp_path, serve, content_range,
                                                requests):

  def answer(handler):
    headers = {'Content-Length': str(len(ARCHIVE))}
    if content_range:
      headers['Content-Range'] = content_range
    status = 206 if handler.headers.get('Range') else 200
    respond(handler, status, ARCHIVE, **headers)

  part_of(tmp_path, ARCHIVE[:1000])
  server = serve(answer=answer)
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked == ['bytes=1000-', None][:requests]


@pytest.mark.parametrize('size', [len(ARCHIVE), None], ids=['known', 'unknown'])
def test_an_answer_without_an_end_is_cut_off(tmp_path, serve, size):
  sent = []

  def answer(handler):
    respond(handler, 200, b'')
    with contextlib.suppress(OSError):
      while True:
        handler.wfile.write(b'?' * (1 << 16))
        sent.append(1 << 16)

  server = serve(answer=answer)
  limit = size or LIMIT
  assert error_of(tmp_path, server.url, None,
                  size) == ('%s: sends more than the expected %d bytes' %
                            (server.url, limit))
  assert not (tmp_path / 'data').exists()
  assert sum(sent) < limit + (1 << 24)  # What the buffers of sockets hold.


def test_a_file_of_unknown_size_may_not_be_much_larger(tmp_path, serve):

  def answer(handler):
    respond(handler, 200, b'', Content_Length=str(LIMIT + 1))

  url = serve(answer=answer).url
  assert error_of(tmp_path, url) == ('%s: has %d bytes; expected at most %d' %
                                     (url, LIMIT + 1, LIMIT))


def test_a_complete_part_of_known_size_needs_no_request(tmp_path, serve):
  part_of(tmp_path, ARCHIVE)
  server = serve()
  fetch(tmp_path, server.url, None, len(ARCHIVE))
  assert_complete(tmp_path)
  assert server.asked == []


def test_without_a_length_the_known_size_tells_of_an_early_end(
    tmp_path, serve, waits):
  server = serve(answer=lambda handler: respond(handler, 200, ARCHIVE[:5000]))
  message = error_of(tmp_path, server.url, None, len(ARCHIVE))
  assert 'ended after 5000 of %d bytes. Without' % len(ARCHIVE) in message
  # The same bytes again are no progress.
  assert len(server.asked) == 5 and waits == [1, 2, 4, 8]


def test_the_bytes_of_a_broken_chunk_count(tmp_path, serve, waits):

  def answer(handler):
    handler.protocol_version = 'HTTP/1.1'
    start = int((handler.headers.get('Range') or 'bytes=0-')[6:-1])
    handler.send_response(206 if start else 200)
    handler.send_header('Transfer-Encoding', 'chunked')
    if start:
      handler.send_header('Content-Range', 'bytes %d-' % start)
    handler.end_headers()
    body = ARCHIVE[start:start + 100000]
    handler.wfile.write(b'%x\r\n' % len(body) + body + b'\r\n')
    if start + len(body) == len(ARCHIVE):
      handler.wfile.write(b'0\r\n\r\n')
    handler.close_connection = True

  server = serve(answer=answer)
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked[1] == 'bytes=100000-'
  assert waits == [1] * (len(ARCHIVE) // 100000)


def test_a_loop_of_redirections_is_an_error_of_one_line(tmp_path, serve):

  def answer(handler):
    respond(handler, 302, b'', Location=handler.path)

  message = error_of(tmp_path, serve(answer=answer).url)
  assert 'infinite loop. Without an internet connection: ' in message
  assert '\\n' not in message


def test_a_text_of_the_server_is_safe_to_print(tmp_path, serve, capsys):

  def answer(handler):
    handler.send_response_only(503, 'busy \x1b[2J\x07')
    handler.end_headers()

  message = error_of(tmp_path, serve(answer=answer).url)
  assert 'HTTP Error 503: busy \\x1b[2J\\x07. Without' in message
  printed = capsys.readouterr().out
  assert printed.count('503: busy \\x1b[2J\\x07; retrying in ') == 4
  assert '\x1b' not in printed and '\x07' not in printed


def test_the_bar_and_the_next_line_are_apart(tmp_path, serve, monkeypatch):

  class Terminal(io.StringIO):

    def isatty(self):
      return True

  terminal = Terminal()
  monkeypatch.setattr(sys, 'stdout', terminal)
  server = serve(faults=[600000, 0])
  fetch(tmp_path, server.url)
  lines = terminal.getvalue().split('\n')
  assert lines[0].endswith(' 0.6 MB') or lines[0].endswith(' 0.5 MB')
  assert lines[1].startswith('%s: the connection ended after ' % server.url)
  # The second answer was empty: no bar.
  assert lines[2].startswith('%s: the connection ended after ' % server.url)
  assert lines[3].endswith('] 1.2 MB') and lines[4:] == ['']


@pytest.fixture
def tls(tmp_path):
  """Paths of a key and of a certificate for this machine."""
  openssl = shutil.which('openssl')
  if not openssl:
    pytest.skip('needs openssl')
  key, certificate = (str(tmp_path / name) for name in ('key', 'certificate'))
  command = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost'
  command += ' -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s'
  subprocess.run([openssl, *(command % (key, certificate)).split()], check=True,
                 stderr=subprocess.DEVNULL)
  return key, certificate


def test_a_broken_tls_record_is_retried_but_not_an_unknown_certificate(
    tmp_path, serve, waits, tls, monkeypatch):
  plain_texts = [True]

  def answer(handler):
    start = int((handler.headers.get('Range') or 'bytes=0-')[6:-1])
    body = ARCHIVE[start:]
    if plain_texts:
      respond(handler, 200, body[:600000], Content_Length=str(len(body)))
      # Not encrypted, so the client cannot read it.
      os.write(handler.connection.fileno(), b'?' * 100)
      plain_texts.pop()
    else:
      content_range = 'bytes %d-' % start
      respond(handler, 206, body, Content_Range=content_range,
              Content_Length=str(len(body)))

  key, certificate = tls
  server = serve(answer=answer)
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain(certificate, key)
  server.socket = context.wrap_socket(server.socket, server_side=True)
  url = server.url.replace('http:', 'https:')
  message = error_of(tmp_path, url)
  assert 'CERTIFICATE_VERIFY_FAILED' in message and waits == []
  monkeypatch.setenv('SSL_CERT_FILE', certificate)
  urllib.request.install_opener(None)  # It may remember the certificates.
  fetch(tmp_path, url)
  assert_complete(tmp_path)
  assert waits == [1] and server.asked[0] is None
  assert int(server.asked[1][len('bytes='):-1]) > 500000


@contextlib.contextmanager
def full_disk(size):
  """No file can grow beyond `size` bytes."""
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_names_the_file_and_keeps_the_part(tmp_path, serve, waits):
  with full_disk(500000):
    message = error_of(tmp_path, serve().url)
  archive = tmp_path / 'data' / 'archive.tar.gz'
  assert message.startswith('%s: cannot be written: File too large (' % archive)
  assert '500000 bytes have arrived' in message and waits == []
  server = serve()
  fetch(tmp_path, server.url)
  assert_complete(tmp_path)
  assert server.asked == ['bytes=500000-']


def test_a_full_disk_while_unpacking_names_the_file(tmp_path):
  part_of(tmp_path, b'').rename(tmp_path / 'data' / 'archive.tar.gz')
  (tmp_path / 'data' / 'archive.tar.gz').write_bytes(ARCHIVE)
  with full_disk(500000):
    message = error_of(tmp_path, 'http://127.0.0.1:9/')
  file = tmp_path / 'data' / 'folder.unpacking' / 'a.bin'
  assert message.endswith("File too large: '%s'" % file)
  assert os.listdir(str(tmp_path / 'data')) == ['archive.tar.gz']


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


EXPECTED_FILE = 'expected a file of your own, which is written to'


@pytest.mark.parametrize('kind', ['link', 'hard link', 'pipe', 'folder'])
@pytest.mark.parametrize('place', ['lock', 'part', 'unpacking'])
def test_nothing_is_written_through_what_others_prepared(
    tmp_path, serve, kind, place):
  data = tmp_path / 'data'
  data.mkdir()
  victim = tmp_path / 'victim'
  victim.write_text('precious')
  part = 'archive.tar.gz.%s.part' % sha256(ARCHIVE)[:8]
  name = {'lock': '.fetch.lock', 'part': part, 'unpacking': 'folder.unpacking'}
  path = data / name[place]
  put(kind, path, victim)
  server = serve()
  if (place, kind) in (('unpacking', 'folder'), ('lock', 'hard link')):
    # As if a killed process had left it, or in a copy by hard links.
    fetch(tmp_path, server.url)
    assert_complete(tmp_path)
    assert victim.read_text() == 'precious'
    return
  if kind == 'folder':
    with pytest.raises(IsADirectoryError, match=str(path)):
      fetch(tmp_path, server.url)
  else:
    message = error_of(tmp_path, server.url)
    problem = {
        'link': 'is a link; expected a file, which is written to',
        'hard link': 'has another name besides this one; ' + EXPECTED_FILE,
        'pipe': 'is not a regular file; ' + EXPECTED_FILE
    }[kind]
    if place == 'unpacking':
      problem = 'is in the way of a temporary folder; remove it'
    assert message == '%s: %s' % (path, problem)
  assert victim.read_text() == 'precious'
  left = {path.name} | ({'archive.tar.gz'} if place == 'unpacking' else set())
  assert set(os.listdir(str(data))) == left


@pytest.mark.parametrize('kind', ['dangling link', 'pipe', 'folder'])
@pytest.mark.parametrize('name', ['archive.tar.gz', 'folder'])
def test_something_else_in_a_final_place_is_named_before_fetching(
    tmp_path, serve, kind, name):
  data = tmp_path / 'data'
  data.mkdir()
  server = serve()
  if (name, kind) == ('folder', 'folder'):
    (data / name).mkdir()
    fetch(tmp_path, server.url)  # It is there.
  else:
    victim = tmp_path / 'none'
    put(kind.replace('dangling ', ''), data / name, victim)
    with pytest.raises((UserError, FileNotFoundError)) as info:
      fetch(tmp_path, server.url)
    assert str(data / name) in str(info.value)
    assert not victim.exists()
  assert server.asked == []
  assert os.listdir(str(data)) == [name]


def test_a_failure_leaves_no_folder_that_was_not_there(tmp_path):
  url = 'file://%s' % (tmp_path / 'none.tar.gz')
  archive = str(tmp_path / 'mis' / 'typed' / 'archive.tar.gz')
  remote = download.Remote(url, sha256(ARCHIVE), archive, None, LIMIT)
  for there in ([], ['mis']):
    for name in there:
      (tmp_path / name).mkdir()
    with pytest.raises(UserError, match='No such file'):
      download.fetch_into(str(tmp_path / 'mis' / 'typed' / 'x'), [remote], None)
    assert os.listdir(str(tmp_path)) == there
  assert os.listdir(str(tmp_path / 'mis')) == []
  (tmp_path / 'mis' / 'typed').write_text('file')
  with pytest.raises(UserError) as info:
    download.fetch_into(str(tmp_path / 'mis' / 'typed' / 'x'), [remote], None)
  assert str(
      info.value) == ('%s: is not a folder; expected a folder for the data' %
                      (tmp_path / 'mis' / 'typed'))


@pytest.mark.parametrize('kind', ['pipe', 'folder', 'device'])
def test_only_a_regular_file_is_an_address(tmp_path, waits, kind):
  path = tmp_path / 'source'
  if kind == 'device':
    path.symlink_to('/dev/zero')
  else:
    put(kind, path, None)
  assert error_of(tmp_path, 'file://%s' %
                  path) == ('%s: is not a regular file; expected one' % path)
  assert not (tmp_path / 'data').exists() and waits == []


def test_a_damaged_archive_leaves_no_folder(tmp_path):
  source = tmp_path / 'mirror.tar.gz'
  source.write_bytes(ARCHIVE[:700000])
  message = error_of(tmp_path, 'file://%s' % source, sha256(ARCHIVE[:700000]))
  assert 'archive.tar.gz: cannot be unpacked' in message
  assert names(tmp_path) == ['archive.tar.gz']


# Fetches an archive to sys.argv[1] from the address sys.argv[2].
PROGRAM = """
import os
import sys

from cifar10.data import download
from cifar10.data.download import unpack

sys.stdout.reconfigure(line_buffering=True)
{setup}
archive = os.path.join(sys.argv[1], 'archive.tar.gz')
download.fetch_into(
  os.path.join(sys.argv[1], 'folder'),
  [download.Remote(sys.argv[2], '{sha256}', archive, None, 10**9)],
  lambda paths, to: unpack(archive, 'folder', to, {required}),
)
"""


@pytest.fixture
def start(tmp_path):
  """Starts processes that fetch ARCHIVE from an address."""
  started = []

  def begin(url, setup=''):
    script = tmp_path / ('fetch_%d.py' % len(started))
    script.write_text(
        PROGRAM.format(setup=setup, sha256=sha256(ARCHIVE), required=REQUIRED))
    process = processes.start(
        [str(script), str(tmp_path / 'data'), url], cwd=short_runs.ROOT,
        stdout=processes.PIPE, stderr=processes.PIPE)
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
  setup = ('import time, shutil\n'
           'copy = shutil.copyfileobj\n'
           'def slow(source, target):\n'
           "  if 'b.bin' in target.name: time.sleep(600)\n"
           '  copy(source, target)\n'
           'shutil.copyfileobj = slow')
  process = start(serve().url, setup)
  folder = tmp_path / 'data' / 'folder.unpacking'
  wait_for(lambda: list(folder.glob('b.bin*')), process)
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
