"""Trained models that come with the package, such as `pretrained:fast`.

Each is a directory like that of a run, whose checkpoint holds only what
predictions need. Whatever reads a checkpoint or the directory of a run takes
its name; --train_dir, which is written to, does not.
"""

import os

from cifar10.errors import UserError

PREFIX = 'pretrained:'

# The model of programs that are given none.
DEFAULT = PREFIX + 'fast'

FOLDER = os.path.dirname(os.path.abspath(__file__))


def names():
  """The names of the models, a sorted list."""
  return sorted(
    name
    for name in os.listdir(FOLDER)
    if os.path.exists(os.path.join(FOLDER, name, 'checkpoint'))
  )


def directory(text, flag):
  """The directory of a run, for a path or for the name of a model.

  Args:
    text: path, or PREFIX and a name.
    flag: name of the flag, for the error.

  Returns:
    `text` itself, or the path of the directory of the model.

  Raises:
    UserError: there is no model of that name.
  """
  if not text.startswith(PREFIX):
    return text
  name = text[len(PREFIX) :]
  if name not in names():
    raise UserError(
      '%s=%s: there is no such model; the package has %s'
      % (flag, text, ', '.join(PREFIX + known for known in names()))
    )
  return os.path.join(FOLDER, name)
