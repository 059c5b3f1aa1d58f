"""Fetches files and unpacks archives; leaves no incomplete files behind."""

import contextlib
import errno
import fcntl
import http.client
import os
import shutil
import socket
import ssl
import tarfile
import time
from typing import NamedTuple, Optional
import zlib

from six.moves import urllib

from cifar10.errors import UserError
from cifar10.util import files
from cifar10.util import progress_bar

_ATTEMPTS = 5  # In a row without progress.
_TIMEOUT_SECS = 30
_CHUNK_BYTES = 1 << 18

# Errors that another attempt would hit again.
_PERMANENT = (
  str,
  FileNotFoundError,
  IsADirectoryError,
  ssl.SSLCertVerificationError,
)


class Remote(NamedTuple):
  """A file to fetch.

  Attributes:
    url: address; http, https or file.
    sha256: expected SHA-256, in hexadecimal.
    path: path of the local copy.
    size: expected size in bytes; None if unknown.
  """

  url: str
  sha256: str
  path: str
  size: Optional[int] = None


def fetch_into(folder, remotes, fill):
  """Fetches files and makes a folder from their contents.

  Does not fetch files that exist. Resumes an interrupted fetch, even one of an
  earlier process. If several processes call this, one works and the others wait
  for it.

  Args:
    folder: path of the folder to make; it appears when it is complete.
    remotes: list of Remote.
    fill: function (paths of the fetched files, path of an empty folder) that
      writes the contents of `folder` into the empty folder.

  Raises:
    UserError: a file cannot be fetched or has the wrong checksum.
  """
  directory = os.path.dirname(folder)
  os.makedirs(directory, exist_ok=True)
  with _only_process(os.path.join(directory, '.fetch.lock')):
    if os.path.isdir(folder):
      return
    for remote in remotes:
      if not os.path.exists(remote.path):
        _fetch_checked(remote)
      elif files.sha256(remote.path) != remote.sha256.lower():
        raise _wrong_checksum(remote.path, remote.path, remote.sha256)
    with files.new_folder(folder, folder + '.unpacking') as temporary:
      fill([remote.path for remote in remotes], temporary)


@contextlib.contextmanager
def _only_process(lock_path):
  """Holds a file lock; the system releases it if the process is killed."""
  with open(lock_path, 'w', encoding='utf-8') as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      print('Another process is fetching the data; waiting for it.')
      fcntl.flock(lock, fcntl.LOCK_EX)
    yield


def _fetch_checked(remote):
  """Fetches a file; it appears when its checksum is verified.

  Raises:
    UserError: the file cannot be fetched or has the wrong checksum.
  """
  url, sha256, path, size = remote
  partial = '%s.%s.part' % (path, sha256[:8])
  resumed = os.path.exists(partial)
  _fetch(url, size, partial)
  if resumed and files.sha256(partial) != sha256.lower():
    # The part from an earlier process may be damaged: fetch all of it.
    os.remove(partial)
    _fetch(url, size, partial)
  if files.sha256(partial) != sha256.lower():
    error = _wrong_checksum(url, partial, sha256)
    os.remove(partial)
    raise error
  os.replace(partial, path)


def _fetch(url, size, partial):
  """Fetches `url` to `partial`, appending to what it holds; retries.

  Raises:
    UserError: the file cannot be fetched.
  """
  failures = 0  # In a row, without new bytes.
  has_received = False
  while True:
    before = _size(partial)
    try:
      _fetch_rest(url, size, partial)
      return
    except (OSError, ValueError, http.client.HTTPException) as error:
      failures += 1
      if _size(partial) > before:
        failures, has_received = 1, True
      reason = getattr(error, 'reason', None) or error
      if failures == _ATTEMPTS or _is_permanent(error, reason, has_received):
        raise UserError(
          'cannot fetch %s: %s. Without a network: put the file at %s, '
          'name a mirror with --data_url, or use --dataset=sample'
          % (url, reason, partial.rsplit('.', 2)[0])
        ) from error
      wait = 2 ** (failures - 1)
      print('%s: %s; retrying in %d s.' % (url, reason, wait))
      time.sleep(wait)


def _size(path):
  return os.path.getsize(path) if os.path.exists(path) else 0


def _is_permanent(error, reason, has_received):
  """Whether another attempt would fail for the same reason.

  Args:
    error: exception.
    reason: the exception or string behind it.
    has_received: whether an earlier attempt of this process got any bytes.
  """
  if isinstance(error, urllib.error.HTTPError):
    # 408 and 429: the server is slow or busy.
    return error.code < 500 and error.code not in (408, 429)
  number = getattr(reason, 'errno', None)
  if (
    isinstance(error, (ValueError, http.client.InvalidURL))
    or isinstance(reason, _PERMANENT)
    or number in (errno.EACCES, errno.ENOSPC, errno.EROFS)
  ):
    return True
  no_network = isinstance(
    reason, (socket.gaierror, ConnectionRefusedError)
  ) or number in (
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
  )
  # If the network worked a moment ago, the failure is temporary.
  return no_network and not has_received


def _fetch_rest(url, size, partial):
  """Opens one connection, requests the missing bytes and appends them.

  Args:
    url: address.
    size: expected size in bytes; None if unknown.
    partial: path of the file to append to.

  Raises:
    UserError: the file has another size.
    OSError, ValueError, http.client.HTTPException: the connection fails.
  """
  have = _size(partial)
  request = urllib.request.Request(url)
  if have:
    request.add_header('Range', 'bytes=%d-' % have)
  try:
    response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECS)
  except urllib.error.HTTPError as error:
    if error.code == 416:  # Range not satisfiable: `partial` is complete.
      return
    raise
  with response:
    if getattr(response, 'status', None) != 206:
      have = 0  # The server ignores the range and sends the whole file.
    length = response.headers.get('Content-Length')
    total = have + int(length) if length else None
    if size is not None and total not in (None, size):
      raise UserError(
        '%s: has %d bytes; expected %d (for another file, give its '
        'checksum with --data_sha256)' % (url, total, size)
      )
    with open(partial, 'ab' if have else 'wb') as output:
      shown = progress_bar.Bar(
        'Fetching ' + os.path.basename(url), total, 10**6, '%.1f MB'
      )
      while True:
        chunk = response.read(_CHUNK_BYTES)
        if not chunk:
          break
        output.write(chunk)
        have += len(chunk)
        shown.show(have)
      shown.end()
    if total is not None and have < total:
      raise ConnectionError(
        'the connection ended after %d of %d bytes' % (have, total)
      )


def _wrong_checksum(source, path, expected):
  """The UserError for the file `path`, fetched from `source`."""
  return UserError(
    '%s: found SHA-256 %s (%d bytes); expected %s. If you trust this file, '
    'give its checksum with --data_sha256'
    % (source, files.sha256(path), os.path.getsize(path), expected)
  )


def unpack(archive, inside, folder, required, optional=()):
  """Unpacks the named files of a .tar.gz.

  Safe for untrusted archives: writes only regular files with exactly these
  names, to paths made from these names. Ignores links and all other members.

  Args:
    archive: path of the archive.
    inside: folder in the archive that holds the files.
    folder: path of the folder to write the files to.
    required: tuple of names of files that the archive must hold.
    optional: tuple of names of files that the archive may hold.

  Raises:
    UserError: the archive is damaged or lacks a required file.
  """
  wanted = {'%s/%s' % (inside, name): name for name in required + optional}
  try:
    with tarfile.open(archive, 'r:gz') as tar:
      for member in tar:
        name = wanted.get(os.path.normpath(member.name))
        if name is None or not member.isreg():
          continue
        path = os.path.join(folder, name)
        with tar.extractfile(member) as source, open(path, 'wb') as target:
          shutil.copyfileobj(source, target)
          target.flush()
          os.fsync(target.fileno())
  except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
    raise UserError('%s: cannot be unpacked: %s' % (archive, error)) from error
  for name in required:
    if not os.path.exists(os.path.join(folder, name)):
      raise UserError('%s: holds no file %s/%s' % (archive, inside, name))
