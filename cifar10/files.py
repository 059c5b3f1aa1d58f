"""Files that are whole or absent, whatever happens on the way."""

import json
import os

from cifar10.errors import UserError


def write_atomically(path, content):
  """Writes the bytes `content` to `path`: a reader sees all or nothing."""
  temporary = '%s.tmp%d' % (path, os.getpid())
  try:
    with open(temporary, 'wb') as output:
      output.write(content)
      output.flush()
      os.fsync(output.fileno())
    os.replace(temporary, path)
  except BaseException:
    if os.path.exists(temporary):
      os.remove(temporary)
    raise


def read_json(path):
  """The JSON object in the file `path`; None where there is no such file.

  Raises:
    UserError: the file holds something else.
  """
  try:
    with open(path, encoding='utf-8') as source:
      value = json.load(source)
  except FileNotFoundError:
    return None
  except ValueError as error:
    raise UserError('%s: not JSON: %s' % (path, error)) from error
  if not isinstance(value, dict):
    raise UserError('%s: expected a JSON object' % path)
  return value
