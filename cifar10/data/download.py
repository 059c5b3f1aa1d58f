"""Fetches and unpacks files; leaves no incomplete ones behind."""

import contextlib
import errno
import http.client
import os
import re
import shutil
import socket
import ssl
import tarfile
import time
from typing import NamedTuple, Optional
import zlib

from six.moves import urllib

from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import console
from cifar10.util import files
from cifar10.util import folder_lock

_ATTEMPTS = 5  # In a row without progress.
_TIMEOUT_SECS = 30
_CHUNK_BYTES = 1 << 18

# Reasons that another attempt would meet again; a str is one of urllib itself.
_PERMANENT = (str, ValueError, FileNotFoundError, NotADirectoryError)
_PERMANENT += (http.client.InvalidURL, ssl.SSLCertVerificationError)


class Remote(NamedTuple):
  """A file to fetch."""

  url: str  # http, https or file.
  sha256: str  # In hexadecimal.
  path: str  # Of the local copy.
  size: Optional[int]  # In bytes; None if unknown.
  limit: int  # The most bytes to accept if the size is unknown.


def fetch_into(folder, remotes, fill):
  """Fetches files and makes a folder from their contents.

  Does not fetch files that exist. Resumes an interrupted fetch, even one of an
  earlier process. If several processes call this, one works and the others wait
  for it. A failure leaves only files that are complete or worth resuming.

  `fill` is a function (paths of the fetched files, path of an empty folder)
  that writes the contents of `folder`, which appears when it is complete.
  Raises UserError if a file cannot be fetched or has the wrong checksum, and
  OSError if one cannot be written.
  """
  with folder_lock.only_process(os.path.dirname(folder) or os.curdir):
    if os.path.isdir(folder):
      return
    if os.path.lexists(folder):
      raise UserError(f'{folder}: is not a folder; expected none or a folder')
    for remote in remotes:
      if not os.path.lexists(remote.path):
        _fetch_checked(remote)
      elif not _is_right(remote.path, remote):
        raise _wrong_checksum(remote.path, remote.path, remote.sha256)
    with files.new_folder(folder, folder + '.unpacking') as temporary:
      fill([remote.path for remote in remotes], temporary)


def unpack(archive, inside, folder, required, optional=()):
  """Unpacks files of the folder `inside` of a .tar.gz into another folder.

  `required` and `optional` are tuples of their names. Safe for untrusted
  archives: writes only regular files with exactly these names, to paths made
  from these names; ignores links and all other members. Raises UserError if the
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


def _fetch_checked(remote):
  """Fetches a file; it appears when its checksum is verified."""
  partial = f'{remote.path}.{remote.sha256[:8]}.part'
  with files.open_own(partial) as output:
    try:
      resumed = _size(output) > 0
      _fetch(remote, output)
      if resumed and not _is_right(partial, remote):
        # The part from an earlier process may be damaged: fetch all of it.
        output.truncate(0)
        _fetch(remote, output)
      if not _is_right(partial, remote):
        error = _wrong_checksum(remote.url, partial, remote.sha256)
        output.truncate(0)
        raise error
      with files.naming(partial):
        os.fsync(output.fileno())
    except BaseException:
      if not _size(output):
        with contextlib.suppress(OSError):
          os.remove(partial)
      raise
  os.replace(partial, remote.path)


def _is_right(path, remote):
  """True if the file has the checksum of the remote one."""
  return files.sha256(path) == remote.sha256.lower()


def _wrong_checksum(source, path, expected):
  """The UserError for the file `path`, fetched from `source`."""
  return UserError(
      f'{source}: found SHA-256 {files.sha256(path)} ({os.path.getsize(path)} '
      f'bytes); expected {expected}. If you trust this file, give its checksum '
      'with --data_sha256')


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
      # The first line: urllib explains a loop of redirections in several.
      text = (str(reason) or repr(reason)).splitlines()[0].rstrip('.')
      has_received = most > resumed_at
      if failures == _ATTEMPTS or _is_permanent(error, reason, has_received):
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


def _is_permanent(error, reason, has_received):
  """True if another attempt would fail for the same reason."""
  if isinstance(error, urllib.error.HTTPError):
    # 408 and 429: the server is slow or busy.
    return error.code < 500 and error.code not in (408, 429)
  number = getattr(reason, 'errno', None)
  if isinstance(reason, _PERMANENT) or number == errno.EACCES:
    return True
  no_network = isinstance(reason, (socket.gaierror, ConnectionRefusedError))
  no_network |= number in (errno.ENETUNREACH, errno.EHOSTUNREACH)
  # If it worked a moment ago for this process, the failure is temporary.
  return no_network and not has_received


def _fetch_rest(remote, output):
  """Requests the missing bytes in one connection and appends them."""
  have = _size(output)
  if have and have == remote.size:
    return
  try:
    response, have = _open(remote.url, have)
  except urllib.error.HTTPError as error:
    # Range not satisfiable: `output` is complete.
    if error.code == 416 and have:
      return
    raise
  with response:
    length = response.headers.get('Content-Length')
    total = have + int(length) if length else remote.size
    if remote.size is None and total is not None and total > remote.limit:
      raise UserError(
          f'{remote.url}: has {total} bytes; expected at most {remote.limit}')
    if remote.size is not None and total != remote.size:
      raise UserError(
          f'{remote.url}: has {total} bytes; expected {remote.size} (for '
          'another file, give its checksum with --data_sha256)')
    output.truncate(have)
    output.seek(have)
    _receive(response, remote, output, total)
  if total is not None and _size(output) < total:
    raise ConnectionError(
        f'the connection ended after {_size(output)} of {total} bytes')


def _open(url, have):
  """Opens a connection and requests all bytes after the first `have`.

  Returns the response, and the number of bytes before those that it holds:
  `have`, or 0 if the server sends the whole file.
  """
  request = urllib.request.Request(url)
  if request.type == 'file':
    # Opening a pipe may wait forever, and a device may never end.
    path = urllib.request.url2pathname(request.selector)
    files.open_regular(path).close()
  if have:
    request.add_header('Range', f'bytes={have}-')
  response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECS)
  if not have or getattr(response, 'status', None) != 206:
    return response, 0
  found = re.match(r'bytes (\d+)-', response.headers.get('Content-Range', ''))
  if found and int(found.group(1)) in (0, have):
    return response, int(found.group(1))
  response.close()  # It holds other bytes than those that were asked for.
  return _open(url, 0)


def _receive(response, remote, output, total):
  """Appends a response to an unbuffered file, and shows the progress."""
  limit = remote.limit if remote.size is None else remote.size
  shown = console.ProgressBar('Fetching ' + os.path.basename(remote.url), total,
                              10**6, '%.1f MB')
  try:
    while True:
      try:
        chunk, error = response.read(_CHUNK_BYTES), None
      except http.client.IncompleteRead as incomplete:
        chunk, error = incomplete.partial, incomplete
      if _size(output) + len(chunk) > limit:
        output.truncate(0)  # Not worth resuming.
        raise UserError(
            f'{remote.url}: sends more than the expected {limit} bytes')
      _write(output, chunk, remote.path)
      if error:
        raise error
      if not chunk:
        break
      shown.show(_size(output))
  finally:
    shown.end()  # Whatever is printed next begins a line.


def _write(output, content, path):
  """Writes all bytes for the file `path` to an unbuffered file."""
  try:
    while content:
      content = content[output.write(content):]
  except OSError as error:
    raise UserError(
        f'{path}: cannot be written: {error.strerror} ({_size(output)} bytes '
        'have arrived; the next call continues from there)') from error
