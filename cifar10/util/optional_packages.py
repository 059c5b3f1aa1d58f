"""Packages that only some programs need, and that may not be installed."""

import importlib

from cifar10.errors import UserError
from cifar10.util import commands


def need(package, extra, reason):
  """Imports a package that may not be installed.

  Args:
    package: name of the package or module, as in an import statement.
    extra: the extra of this project that installs it.
    reason: what needs it; the beginning of the error message.

  Returns:
    The module.

  Raises:
    UserError: it is not installed; the message names the command to install it.
  """
  try:
    return importlib.import_module(package)
  except ImportError as error:
    raise UserError('%s: %s' % (reason, commands.install(extra))) from error
