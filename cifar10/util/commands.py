"""The commands that errors and hints name, as they work where this runs."""

import os
import shlex
import sys

from cifar10 import settings as settings_lib

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOT = os.path.dirname(_PACKAGE)


def command(name):
  """The command that runs a program of this project, quoted for a shell.

  A script after `python` if this process runs one, else the installed command
  `name`, such as 'cifar10_train'.
  """
  directory, script = os.path.split(sys.argv[0])
  if not script.endswith('.py'):
    return shlex.quote(os.path.join(directory, name))
  folder, file = 'cifar10', name + '.py'
  if not os.path.exists(os.path.join(_PACKAGE, file)):
    folder, file = 'scripts', file[len('cifar10_'):]  # Not at the top.
  here = os.path.basename(os.path.abspath(directory))
  if here == folder:
    path = os.path.join(directory, file)
  elif here in ('cifar10', 'scripts'):
    path = os.path.normpath(os.path.join(directory, '..', folder, file))
  else:
    path = os.path.join(_ROOT, folder, file)
  return 'python ' + shlex.quote(path)


def install(extra):
  """The command that installs an extra of this project."""
  package = 'cifar10-tutorial'
  if os.path.isfile(os.path.join(_ROOT, 'setup.py')):  # In a clone.
    package = '.' if os.path.samefile('.', _ROOT) else _ROOT
  return 'pip install ' + shlex.quote(f'{package}[{extra}]')


def changed_flags(settings, *groups):
  """The flags of some groups that are not the defaults, a space before each."""
  values = settings.values(settings_lib.flag_names(*groups))
  return ''.join(
      f' --{name}={shlex.quote(str(value))}' for name, value in values.items()
      if value != settings_lib.FIELDS[name].default)
