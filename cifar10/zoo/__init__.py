"""Trained models that come with the package, such as `pretrained:fast`.

Each is the directory of a run, whose checkpoint holds only what predictions
need. Flags that read a checkpoint or a run take the name of a model; so
--train_dir, which is written to, does not.
"""

import os

from cifar10.errors import UserError

PREFIX = 'pretrained:'
DEFAULT = PREFIX + 'fast'  # The model of programs that are given none.
FOLDER = os.path.dirname(os.path.abspath(__file__))


def names():
  """The names of the models, a sorted list."""
  found = os.listdir(FOLDER)
  return sorted(
      n for n in found if os.path.exists(os.path.join(FOLDER, n, 'checkpoint')))


def is_model(path):
  """True if a path is the directory of a model."""
  return os.path.dirname(os.path.abspath(path)) == FOLDER


def directory(text, flag):
  """The directory of a model by its name; any other `text` as it is.

  Raises UserError, which names `flag`, if there is no model of that name.
  """
  if not text.startswith(PREFIX):
    return text
  name = text[len(PREFIX):]
  if name not in names():
    known = ', '.join(PREFIX + name for name in names())
    raise UserError(
        f'{flag}={text}: there is no such model; the package has {known}')
  return os.path.join(FOLDER, name)
