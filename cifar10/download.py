"""Fetches an archive and unpacks it, safely and whole or not at all."""

import contextlib
import errno
import fcntl
import hashlib
import http.client
import os
import shutil
import socket
import ssl
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zlib

from cifar10.errors import UserError

# Facts of the official archive, https://www.cs.toronto.edu/~kriz/cifar.html.
OFFICIAL_SHA256 = (
  'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd'
)
OFFICIAL_BYTES = 170052171

_ATTEMPTS = 5
_TIMEOUT_SECS = 30
_CHUNK_BYTES = 1 << 18

# Reasons that stay: no address, no such file, a folder, no trust.
_NEVER = (
  str,
  FileNotFoundError,
  IsADirectoryError,
  ssl.SSLCertVerificationError,
)


def fetch_and_unpack(url, sha256, archive, folder, required, optional=()):
  """Fetches `url` to `archive` and unpacks its files into `folder`.

  An archive that is there already is not fetched. A fetch that breaks off is
  taken up again where it stopped, also by a later call. Of several processes
  that call this, one works and the others wait for it.

  Args:
    url: http, https or file address of a .tar.gz.
    sha256: what the archive must hash to.
    archive: path of the archive on this machine.
    folder: path of the folder that comes into being. The last part of its
      name is the folder in the archive that the files are taken from.
    required: names of the files that must be in the archive.
    optional: names of files that are unpacked too if they are there.

  Raises:
    UserError: the archive cannot be fetched or is not the one expected.
  """
  directory = os.path.dirname(archive)
  os.makedirs(directory, exist_ok=True)
  with _only_process(os.path.join(directory, '.fetch.lock')):
    if os.path.isdir(folder):
      return
    if not os.path.exists(archive):
      _fetch_checked(url, sha256, archive)
    elif _sha256(archive) != sha256.lower():
      raise _wrong_checksum(archive, archive, sha256)
    _unpack(archive, folder, required, optional)


@contextlib.contextmanager
def _only_process(lock_path):
  """Holds a lock that ends with the process, however that ends."""
  with open(lock_path, 'w', encoding='utf-8') as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      print('Another process is fetching the data; waiting for it.')
      fcntl.flock(lock, fcntl.LOCK_EX)
    yield


def _fetch_checked(url, sha256, archive):
  """Fetches `url`; `archive` appears when it is whole and the one expected."""
  partial = '%s.%s.part' % (archive, sha256[:8])
  resumed = os.path.exists(partial)
  _fetch(url, sha256, partial)
  if resumed and _sha256(partial) != sha256.lower():
    # The part that an earlier process left may be what is wrong.
    os.remove(partial)
    _fetch(url, sha256, partial)
  if _sha256(partial) != sha256.lower():
    error = _wrong_checksum(url, partial, sha256)
    os.remove(partial)
    raise error
  os.replace(partial, archive)


def _fetch(url, sha256, partial):
  """Fetches `url` to `partial`, going on from what is there already."""
  failures = 0  # Since something came.
  has_received = False
  while True:
    before = _size(partial)
    try:
      _fetch_rest(url, sha256, partial)
      return
    except (OSError, ValueError, http.client.HTTPException) as error:
      failures += 1
      if _size(partial) > before:
        failures, has_received = 1, True
      reason = getattr(error, 'reason', None) or error
      if failures == _ATTEMPTS or _is_hopeless(error, reason, has_received):
        raise UserError(
          'cannot fetch %s: %s. Without a network: put the archive at %s, '
          'name a mirror with --data_url, or use --dataset=sample'
          % (url, reason, partial.rsplit('.', 2)[0])
        ) from error
      wait = 2 ** (failures - 1)
      print('%s: %s; trying again in %d s.' % (url, reason, wait))
      time.sleep(wait)


def _size(path):
  return os.path.getsize(path) if os.path.exists(path) else 0


def _is_hopeless(error, reason, has_received):
  """Whether another attempt at fetching would end as this one did."""
  if isinstance(error, urllib.error.HTTPError):
    # 408 and 429: a server that is slow or busy.
    return error.code < 500 and error.code not in (408, 429)
  number = getattr(reason, 'errno', None)
  if (
    isinstance(error, (ValueError, http.client.InvalidURL))
    or isinstance(reason, _NEVER)
    or number in (errno.EACCES, errno.ENOSPC, errno.EROFS)
  ):
    return True
  no_network = isinstance(
    reason, (socket.gaierror, ConnectionRefusedError)
  ) or number in (
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
  )  # Unless a moment ago there was one.
  return no_network and not has_received


def _fetch_rest(url, sha256, partial):
  """One connection: asks for what `partial` lacks and appends it."""
  have = _size(partial)
  request = urllib.request.Request(url)
  if have:
    request.add_header('Range', 'bytes=%d-' % have)
  try:
    response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECS)
  except urllib.error.HTTPError as error:
    if error.code == 416:  # Nothing lies behind what is there: it is whole.
      return
    raise
  with response:
    if getattr(response, 'status', None) != 206:
      have = 0  # The server sends all of it, whatever was asked.
    length = response.headers.get('Content-Length')
    total = have + int(length) if length else None
    if sha256 == OFFICIAL_SHA256 and total not in (None, OFFICIAL_BYTES):
      raise UserError(
        '%s: has %d bytes; expected %d (for another archive, give its '
        'checksum with --data_sha256)' % (url, total, OFFICIAL_BYTES)
      )
    with open(partial, 'ab' if have else 'wb') as output:
      progress = _Progress(os.path.basename(url), total)
      while True:
        chunk = response.read(_CHUNK_BYTES)
        if not chunk:
          break
        output.write(chunk)
        have += len(chunk)
        progress.show(have)
      progress.end()
    if total is not None and have < total:
      raise ConnectionError(
        'the connection ended after %d of %d bytes' % (have, total)
      )


class _Progress:
  """A bar on a terminal; a line every tenth into a file or pipe."""

  def __init__(self, name, total):
    self._name = name
    self._total = total
    self._shown = -1
    self._live = sys.stdout.isatty()

  def show(self, have):
    """Shows that `have` bytes are there, if that changes what is seen."""
    if self._total:
      percent = 100 * have // self._total
      percent -= 0 if self._live else percent % 10
      filled = '#' * (percent // 4)
      text = '%3d %% [%-25s]' % (percent, filled)
      now = percent
    else:
      now = have >> (20 if self._live else 24)
      text = ''
    if now == self._shown:
      return
    self._shown = now
    line = 'Fetching %s %s %.1f MB' % (self._name, text, have / 1e6)
    print(
      '\r' + line if self._live else line,
      end='' if self._live else '\n',
      flush=True,
    )

  def end(self):
    """Leaves the bar's line."""
    if self._live:
      print()


def _sha256(path):
  """The SHA-256 of a file, in hexadecimal."""
  digest = hashlib.sha256()
  with open(path, 'rb') as source:
    for chunk in iter(lambda: source.read(_CHUNK_BYTES), b''):
      digest.update(chunk)
  return digest.hexdigest()


def _wrong_checksum(source, path, expected):
  """The UserError for the file `path` that came from `source`."""
  return UserError(
    '%s: found SHA-256 %s (%d bytes); expected %s. If you trust this archive, '
    'give its checksum with --data_sha256'
    % (source, _sha256(path), os.path.getsize(path), expected)
  )


def _unpack(archive, folder, required, optional):
  """Unpacks the named files; `folder` appears when all are whole.

  Members are looked up by their exact names and only the bytes of regular
  files are written, to paths made here: what else the archive may hold, with
  whatever names or links, is never touched.
  """
  temporary = folder + '.unpacking'
  shutil.rmtree(temporary, ignore_errors=True)  # Left by a killed process.
  os.mkdir(temporary)
  inside = os.path.basename(folder)
  wanted = {'%s/%s' % (inside, name): name for name in required + optional}
  try:
    with tarfile.open(archive, 'r:gz') as tar:
      for member in tar:
        name = wanted.get(os.path.normpath(member.name))
        if name is None or not member.isreg():
          continue
        path = os.path.join(temporary, name)
        with tar.extractfile(member) as source, open(path, 'wb') as target:
          shutil.copyfileobj(source, target)
          target.flush()
          os.fsync(target.fileno())
    for name in required:
      if not os.path.exists(os.path.join(temporary, name)):
        raise UserError(
          '%s: holds no file %s/%s, which was expected'
          % (archive, inside, name)
        )
    os.rename(temporary, folder)
  except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
    raise UserError('%s: cannot be unpacked: %s' % (archive, error)) from error
  finally:
    shutil.rmtree(temporary, ignore_errors=True)
