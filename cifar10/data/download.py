"""Fetches files; leaves no incomplete ones behind."""

import contextlib
import errno
import http.client
import os
import re
import socket
import ssl
import time
from typing import NamedTuple, Optional

from six.moves import urllib

from cifar10.errors import UserError
from cifar10.errors import printable
from cifar10.util import files
from cifar10.util import folder_lock
from cifar10.util import progress_bar

_ATTEMPTS = 5  # In a row without progress.
_TIMEOUT_SECS = 30
_CHUNK_BYTES = 1 << 18

# Errors that another attempt would hit again.
_PERMANENT = (
  str,
  FileNotFoundError,
  NotADirectoryError,
  ssl.SSLCertVerificationError,
)


class Remote(NamedTuple):
  """A file to fetch.

  Attributes:
    url: address; http, https or file.
    sha256: expected SHA-256, in hexadecimal.
    path: path of the local copy.
    size: expected size in bytes; None if unknown.
    limit: most bytes to accept if the size is unknown.
  """

  url: str
  sha256: str
  path: str
  size: Optional[int]
  limit: int


def fetch_into(folder, remotes, fill):
  """Fetches files and makes a folder from their contents.

  Does not fetch files that exist. Resumes an interrupted fetch, even one of an
  earlier process. If several processes call this, one works and the others wait
  for it. A failure leaves only files that are complete or worth resuming.

  Args:
    folder: path of the folder to make; it appears when it is complete.
    remotes: list of Remote.
    fill: function (paths of the fetched files, path of an empty folder) that
      writes the contents of `folder` into the empty folder.

  Raises:
    UserError: a file cannot be fetched or has the wrong checksum.
    OSError: a file cannot be written.
  """
  with folder_lock.only_process(os.path.dirname(folder) or os.curdir):
    if os.path.isdir(folder):
      return
    if os.path.lexists(folder):
      raise UserError('%s: is not a folder; expected none or a folder' % folder)
    for remote in remotes:
      if not os.path.lexists(remote.path):
        _fetch_checked(remote)
      elif files.sha256(remote.path) != remote.sha256.lower():
        raise _wrong_checksum(remote.path, remote.path, remote.sha256)
    with files.new_folder(folder, folder + '.unpacking') as temporary:
      fill([remote.path for remote in remotes], temporary)


def _fetch_checked(remote):
  """Fetches a file; it appears when its checksum is verified.

  Raises:
    UserError: the file cannot be fetched or has the wrong checksum.
  """
  partial = '%s.%s.part' % (remote.path, remote.sha256[:8])
  with files.open_own(partial) as output:
    try:
      resumed = _size(output) > 0
      _fetch(remote, output)
      if resumed and files.sha256(partial) != remote.sha256.lower():
        # The part from an earlier process may be damaged: fetch all of it.
        output.truncate(0)
        _fetch(remote, output)
      if files.sha256(partial) != remote.sha256.lower():
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


def _fetch(remote, output):
  """Fetches a file to `output`, appending to what it holds; retries.

  Raises:
    UserError: the file cannot be fetched.
  """
  failures = 0  # In a row, without new bytes.
  has_received = False
  most = _size(output)
  while True:
    try:
      _fetch_rest(remote, output)
      return
    except (OSError, ValueError, http.client.HTTPException) as error:
      failures += 1
      if _size(output) > most:
        failures, has_received, most = 1, True, _size(output)
      reason = _reason(error)
      # The first line: urllib explains a loop of redirections in several.
      text = (str(reason) or repr(reason)).splitlines()[0].rstrip('.')
      if failures == _ATTEMPTS or _is_permanent(error, reason, has_received):
        raise UserError(
          'cannot fetch %s: %s. Without a network: put the file at %s, '
          'name a mirror with --data_url, or use --dataset=sample'
          % (remote.url, text, remote.path)
        ) from error
      wait = 2 ** (failures - 1)
      line = '%s: %s; retrying in %d s.' % (remote.url, text, wait)
      print(printable(line))
      time.sleep(wait)


def _reason(error):
  """The exception or string behind an exception of urllib, else `error`.

  Other exceptions have a `reason` too: that of an SSLError is a string.
  """
  is_wrapped = isinstance(error, urllib.error.URLError)
  is_answer = isinstance(error, urllib.error.HTTPError)
  return error.reason if is_wrapped and not is_answer else error


def _size(file):
  """The size of an open file in bytes."""
  return os.fstat(file.fileno()).st_size


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
    or number == errno.EACCES
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


def _fetch_rest(remote, output):
  """Opens one connection, requests the missing bytes and appends them.

  Args:
    remote: Remote.
    output: the file to append to.

  Raises:
    UserError: the remote file has another size, or `output` cannot be written.
    OSError, ValueError, http.client.HTTPException: the connection fails.
  """
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
        '%s: has %d bytes; expected at most %d'
        % (remote.url, total, remote.limit)
      )
    if remote.size is not None and total != remote.size:
      raise UserError(
        '%s: has %d bytes; expected %d (for another file, give its '
        'checksum with --data_sha256)' % (remote.url, total, remote.size)
      )
    output.truncate(have)
    output.seek(have)
    _receive(response, remote, output, total)
  if total is not None and _size(output) < total:
    raise ConnectionError(
      'the connection ended after %d of %d bytes' % (_size(output), total)
    )


def _open(url, have):
  """Opens a connection and requests all bytes from the first missing one.

  Args:
    url: address.
    have: number of bytes that are not needed.

  Returns:
    The response, and the number of bytes before those that it holds: `have`,
    or 0 if the server sends the whole file.
  """
  request = urllib.request.Request(url)
  if request.type == 'file':
    # Opening a pipe may wait forever, and a device may never end.
    path = urllib.request.url2pathname(request.selector)
    files.open_regular(path).close()
  if have:
    request.add_header('Range', 'bytes=%d-' % have)
  response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECS)
  if not have or getattr(response, 'status', None) != 206:
    return response, 0
  found = re.match(r'bytes (\d+)-', response.headers.get('Content-Range', ''))
  if found and int(found.group(1)) in (0, have):
    return response, int(found.group(1))
  response.close()  # It holds other bytes than those that were asked for.
  return _open(url, 0)


def _receive(response, remote, output, total):
  """Appends what a server sends to `output`, and shows the progress.

  Args:
    response: the open connection.
    remote: Remote.
    output: file, positioned at its end.
    total: size of the whole file in bytes; None if unknown.

  Raises:
    UserError: the server sends too much, or `output` cannot be written.
    OSError, ValueError, http.client.HTTPException: the connection fails.
  """
  limit = remote.limit if remote.size is None else remote.size
  shown = progress_bar.Bar(
    'Fetching ' + os.path.basename(remote.url), total, 10**6, '%.1f MB'
  )
  try:
    while True:
      try:
        chunk, error = response.read(_CHUNK_BYTES), None
      except http.client.IncompleteRead as incomplete:
        chunk, error = incomplete.partial, incomplete
      if _size(output) + len(chunk) > limit:
        output.truncate(0)  # Not worth resuming.
        raise UserError(
          '%s: sends more than the expected %d bytes' % (remote.url, limit)
        )
      _write(output, chunk, remote.path)
      if error:
        raise error
      if not chunk:
        break
      shown.show(_size(output))
  finally:
    shown.end()  # Whatever is printed next begins a line.


def _write(output, content, path):
  """Writes all bytes to an unbuffered file.

  Args:
    output: file.
    content: bytes.
    path: path of the file that is fetched, for the message.

  Raises:
    UserError: the file cannot be written.
  """
  try:
    while content:
      content = content[output.write(content) :]
  except OSError as error:
    raise UserError(
      '%s: cannot be written: %s (%d bytes have arrived; the next call goes on '
      'from there)' % (path, error.strerror, _size(output))
    ) from error


def _wrong_checksum(source, path, expected):
  """The UserError for the file `path`, fetched from `source`."""
  return UserError(
    '%s: found SHA-256 %s (%d bytes); expected %s. If you trust this file, '
    'give its checksum with --data_sha256'
    % (source, files.sha256(path), os.path.getsize(path), expected)
  )
