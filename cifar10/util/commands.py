"""Commands for errors and hints to name, as they work on this machine."""

import os
import shlex
import sys

from cifar10 import settings as settings_lib

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOT = os.path.dirname(_PACKAGE)


def command(name):
  """The command that runs a program of this project, quoted for a shell.

  A script after `python` if this process runs one and `name` is one at the top
  of the package, else the installed command.
  """
  directory, script = os.path.split(sys.argv[0])
  if not script.endswith('.py'):
    return shlex.quote(os.path.join(directory, name))
  path = os.path.join(_PACKAGE, name + '.py')
  if not os.path.exists(path):  # Not at the top.
    installed = os.path.join(os.path.dirname(sys.executable), name)
    return shlex.quote(installed) if os.path.exists(installed) else name
  if os.path.basename(os.path.abspath(directory)) == 'cifar10':
    path = os.path.join(directory, name + '.py')
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
      if settings.differs(name))
