"""Fetches and unpacks files, and leaves no incomplete ones behind."""

import contextlib
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
from cifar10.errors import first_line
from cifar10.errors import printable
from cifar10.util import console
from cifar10.util import files
from cifar10.util import folder_lock

_ATTEMPTS = 5  # In a row without new bytes.
_TIMEOUT_SECS = 30
_CHUNK_BYTES = 1 << 18

# Errors after which to try again, even before the first byte.
_TEMPORARY = (ConnectionResetError, ConnectionAbortedError, TimeoutError,
              http.client.BadStatusLine, http.client.IncompleteRead,
              socket.timeout, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class Remote(NamedTuple):
  """A file to fetch."""

  url: str  # http, https or file.
  sha256: str  # In hexadecimal.
  size: Optional[int]  # In bytes; None if unknown.
  limit: int = 0  # The most bytes to accept if the size is unknown.
  path: str = ''  # Of the local copy.


def fetch_into(folder, remotes, fill):
  """Fetches files that are missing, and makes a folder from their contents.

  One process works, others wait for it. A failure leaves only files that are
  complete or can be resumed. `fill` is a function (paths of the files, path of
  an empty folder) that writes the contents of `folder`, which appears when it
  is complete. Raises UserError if a file cannot be fetched or has the wrong
  checksum, and OSError if one cannot be written.
  """
  with folder_lock.only_process(os.path.dirname(folder) or os.curdir):
    if os.path.isdir(folder):
      return
    if os.path.lexists(folder):
      raise UserError(f'{folder}: is not a folder; expected none or a folder')
    for remote in remotes:
      if os.path.lexists(remote.path):
        _check(remote.path, remote.path, remote)
      else:
        _fetch_checked(remote)
    with files.new_folder(folder, folder + '.unpacking') as temporary:
      fill([remote.path for remote in remotes], temporary)


def unpack(archive, inside, folder, required, optional=()):
  """Unpacks files of the folder `inside` of a .tar.gz into another folder.

  `required` and `optional` are tuples of their names. Ignores all other
  members, and links, so untrusted archives are safe. Raises UserError if the
  archive is damaged or lacks a required file.
  """
  wanted = {f'{inside}/{name}': name for name in required + optional}
  try:
    with tarfile.open(archive, 'r:gz') as tar:
      for member in tar:
        name = wanted.get(os.path.normpath(member.name))
        if name is None or not member.isreg():
          continue
        path = os.path.join(folder, name)
        with tar.extractfile(member) as source, files.new_file(path) as target:
          shutil.copyfileobj(source, target)
  except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
    raise UserError(f'{archive}: cannot be unpacked: {error}') from error
  for name in required:
    if not os.path.exists(os.path.join(folder, name)):
      raise UserError(f'{archive}: holds no file {inside}/{name}')


def _check(source, path, remote):
  """Raises UserError unless the file `path` has the checksum of the remote."""
  found = files.sha256(path)
  if found != remote.sha256.lower():
    raise UserError(
        f'{source}: found SHA-256 {found} ({os.path.getsize(path)} bytes); '
        f'expected {remote.sha256}. If you trust this file, give its checksum '
        'with --data_sha256')


def _fetch_checked(remote):
  """Fetches a file, which appears when its checksum has been verified."""
  partial = f'{remote.path}.{remote.sha256[:8]}.part'
  with files.open_own(partial) as output:
    try:
      _fetch_whole(remote, partial, output)
      with files.naming(remote.path):
        os.fsync(output.fileno())
    except BaseException:
      if not _size(output):
        with contextlib.suppress(OSError):
          os.remove(partial)
      raise
  os.replace(partial, remote.path)


def _fetch_whole(remote, partial, output):
  """Fetches a file to `output`, open at the path `partial`; verifies it."""
  is_resumed = _size(output) > 0
  _fetch(remote, output)
  try:
    _check(remote.url, partial, remote)
  except UserError:
    output.truncate(0)
    if not is_resumed:
      raise
    _fetch_whole(remote, partial, output)  # The old part was damaged.


def _fetch(remote, output):
  """Fetches a file to `output`, appending to what it holds; retries."""
  failures = 0  # In a row, without new bytes.
  most = resumed_at = _size(output)
  while True:
    try:
      _fetch_rest(remote, output)
      return
    except (OSError, ValueError, http.client.HTTPException) as error:
      failures += 1
      if _size(output) > most:
        failures, most = 1, _size(output)
      # A URLError wraps another exception, or holds a string.
      is_wrapper = type(error) is urllib.error.URLError
      reason = error.reason if is_wrapper else error
      text = first_line(reason).rstrip('.')
      if failures == _ATTEMPTS or _is_permanent(reason, most > resumed_at):
        raise UserError(
            f'cannot fetch {remote.url}: {text}. Without an internet '
            f'connection: put the file at {remote.path}, name a mirror with '
            '--data_url, or use --dataset=sample') from error
      wait = 2**(failures - 1)
      print(printable(f'{remote.url}: {text}; retrying in {wait} s.'))
      time.sleep(wait)


def _size(file):
  """The size of an open file in bytes."""
  return os.fstat(file.fileno()).st_size


def _is_permanent(reason, has_received):
  """True if another attempt would fail for the same reason."""
  if isinstance(reason, urllib.error.HTTPError):
    # 408 and 429: the server is slow or busy.
    return reason.code < 500 and reason.code not in (408, 429)
  # If it worked a moment ago for this process, the failure is temporary.
  return not has_received and not isinstance(reason, _TEMPORARY)


def _fetch_rest(remote, output):
  """Requests the missing bytes in one connection and appends them."""
  have = _size(output)
  headers = {'Range': f'bytes={have}-'} if have else {}
  request = urllib.request.Request(remote.url, headers=headers)
  try:
    response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECS)
  except urllib.error.HTTPError as error:
    # Range not satisfiable: `output` is complete.
    if error.code == 416 and have:
      return
    raise
  with response:
    if not have or getattr(response, 'status', None) != 206:
      have = 0  # It sends the whole file.
    elif not response.headers.get('Content-Range',
                                  '').startswith(f'bytes {have}-'):
      output.truncate(0)  # It sends other bytes than asked for.
      _fetch_rest(remote, output)
      return
    length = response.headers.get('Content-Length')
    total = have + int(length) if length else remote.size
    if remote.size not in (None, total):
      raise UserError(
          f'{remote.url}: has {total} bytes; expected {remote.size} (for '
          'another file, give its checksum with --data_sha256)')
    output.truncate(have)
    output.seek(have)
    _receive(response, remote, output, total)
  if total is not None and _size(output) < total:
    raise ConnectionResetError(
        f'the connection ended after {_size(output)} of {total} bytes')


def _receive(response, remote, output, total):
  """Appends a response to an unbuffered file, and shows the progress."""
  limit = remote.limit if remote.size is None else remote.size
  shown = console.ProgressBar('Fetching ' + os.path.basename(remote.url), total,
                              10**6, '%.1f MB')
  try:
    for chunk in iter(lambda: response.read(_CHUNK_BYTES), b''):
      if _size(output) + len(chunk) > limit:
        output.truncate(0)  # Not worth resuming.
        raise UserError(
            f'{remote.url}: sends more than the expected {limit} bytes')
      rest = chunk
      try:
        while rest:
          rest = rest[output.write(rest):]
      except OSError as error:  # A UserError is not retried.
        raise UserError(f'{remote.path}: cannot be written: '
                        f'{error.strerror}') from error
      shown.show(_size(output))
  finally:
    shown.end()  # Whatever is printed next begins a line.
