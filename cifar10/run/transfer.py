"""Transfer: a run that begins with what another one has learnt.

Yosinski et al., "How transferable are features in deep neural networks?", arXiv
1411.1792.
"""

import os
import re

import tensorflow.compat.v1 as tf

from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.store import checkpoints


def check_source(settings):
  """Checks that what a new run is to begin with is there, and stays there.

  Raises:
    UserError: it is not, or --overwrite would delete it.
  """
  path, train_dir = settings.init_from, settings.train_dir
  is_resumed = checkpoints.latest(train_dir) and not settings.overwrite
  if not path or is_resumed:
    return
  source = _source(settings)
  inside = os.path.realpath(train_dir) + os.sep
  if settings.overwrite and os.path.realpath(source).startswith(inside):
    raise UserError(
      '--init_from=%s is in --train_dir=%s, which --overwrite would delete; '
      'give another --train_dir' % (path, train_dir)
    )


def initial_values(settings):
  """The values of another run for the variables of the default graph.

  Prints which layers get them, and which do not.

  Returns:
    A function of a session that loads them; None without --init_from.

  Raises:
    UserError: there is no such checkpoint, or no variable there fits, or one
      that --init_scope names does not.
  """
  if not settings.init_from:
    return None
  source = _source(settings)
  shapes = checkpoints.shapes(source)
  expected = checkpoints.expected_shapes(_model_variables())
  names = _names_there(expected, settings)
  misfits = {
    name: _misfit(there, expected[name], shapes)
    for name, there in names.items()
  }
  _report(source, settings, misfits)
  values = {
    name: tf.train.load_variable(source, checkpoints.averaged(there, shapes))
    for name, there in names.items()
    if not misfits[name]
  }
  variables = tf.global_variables()

  def load(session):
    for variable in variables:
      name = checkpoints.name_of(variable)
      if name.endswith(checkpoints.AVERAGE):
        name = name[: -len(checkpoints.AVERAGE)]
      if name in values:
        checkpoints.load(variable, values[name], session)

  return load


def _source(settings):
  """The checkpoint that --init_from names."""
  flag = '--init_from'
  return checkpoints.meant_by(zoo.directory(settings.init_from, flag), flag)


def _model_variables():
  """The variables that make up the model, trained or not."""
  return tf.trainable_variables() + tf.model_variables()


def _names_there(expected, settings):
  """What variables are called in a checkpoint, a dict by their names here.

  Only those that --init_scope names.

  Raises:
    UserError: it names none; or --init_map is something else.
  """
  pairs = []
  for pair in filter(None, settings.init_map.split(',')):
    here, _, there = pair.partition(':')
    if not (here and there):
      raise UserError(
        '--init_map=%s: found %r; expected names here and names there, '
        'such as conv1:layer1,conv2:layer2' % (settings.init_map, pair)
      )
    pairs.append((here, there))

  def there(name):
    for prefix, other in pairs:
      if name == prefix or name.startswith(prefix + '/'):
        return other + name[len(prefix) :]
    return name

  names = {
    name: there(name)
    for name in expected
    if re.match(settings.init_scope, name)
  }
  if not names:
    raise UserError(
      '--init_scope=%s: names no variable; expected the beginning of some of '
      '%s' % (settings.init_scope, ', '.join(sorted(expected)))
    )
  return names


def _misfit(there, expected, shapes):
  """Why a variable does not fit, a str; empty if it does."""
  found = shapes.get(checkpoints.averaged(there, shapes))
  if found is None:
    return 'no %s there' % there
  return '' if found == expected else '%s there, %s here' % (found, expected)


def _report(source, settings, misfits):
  """Prints which layers are initialized.

  Raises:
    UserError: one does not fit that --init_scope names, or none does.
  """
  for name, misfit in sorted(misfits.items()):
    if misfit and settings.init_scope:
      raise UserError('--init_from=%s: %s: %s' % (source, name, misfit))
  if all(misfits.values()):
    raise UserError(
      '--init_from=%s: none of its variables fits; expected a run with the '
      'same --network' % source
    )
  layers = {
    name.split('/')[0] for name, misfit in misfits.items() if not misfit
  }
  print('Initialized %s from %s.' % (', '.join(sorted(layers)), source))
  for name, misfit in sorted(misfits.items()):
    if misfit:
      print('Not taken over: %s (%s).' % (name, misfit))
