"""Packages that only some programs need, and that may not be installed."""

import importlib

from cifar10.errors import UserError
from cifar10.util import commands


def need(package, extra, reason):
  """Returns a module, or raises UserError with how to install the extra."""
  try:
    return importlib.import_module(package)
  except ImportError as error:
    raise UserError(f'{reason}: {commands.install(extra)}') from error
