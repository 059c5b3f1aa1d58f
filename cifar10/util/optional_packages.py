"""Packages that only some programs need."""

import importlib

from cifar10.errors import UserError


def need(package, extra, reason):
  """Imports a package that may not be installed.

  Args:
    package: its name in Python.
    extra: the extra of this project that brings it.
    reason: what it is needed for, as the error says it.

  Returns:
    The module.

  Raises:
    UserError: it is not there; tells how to get it.
  """
  try:
    return importlib.import_module(package)
  except ImportError as error:
    raise UserError("%s: pip install '.[%s]'" % (reason, extra)) from error
