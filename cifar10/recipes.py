"""Recipes: named sets of settings that work well together.

`--recipe` takes one; flags given as well take precedence.
"""

from cifar10.training import combinations
from cifar10.util import session_settings


def applied(values, given):
  """Settings with those of their recipe.

  Those of the recipe that have no effect beside the given ones are left out.

  Args:
    values: dict by flat names, 'recipe' among them.
    given: names of those that take precedence over the recipe.

  Returns:
    A dict like `values`.
  """
  recipe = settings(values['recipe'])
  wanted = {name: recipe[name] for name in recipe if name not in given}
  merged = dict(values, **wanted)
  for name in wanted:
    if not combinations.has_effect(name, merged):
      merged[name] = values[name]
  return merged


def settings(name):
  """The settings of a recipe that are not the defaults.

  Args:
    name: 'tutorial' or 'fast'.

  Returns:
    dict by flat names, as config.Config.of takes them.
  """
  return {'tutorial': dict, 'fast': _fast}[name]()


def _fast():
  """94 % in minutes, on a processor: arXiv 2404.00498, with Muon.

  The numbers are those of its author's later record with Muon
  (https://github.com/KellerJordan/cifar10-airbench), whose loss is a sum over
  the batch: rates here are for its mean.
  """
  precision = 'float32'
  if session_settings.cpu_has_bfloat16():
    precision = 'bfloat16'
  return {
    'network': 'airbench',
    'normalization': 'batch',
    'batch_norm_decay': 0.6,
    'image_size': 32,
    'input': 'preloaded',
    'augment': 'alternating_flip,shift',
    'max_shift': 0.0625,  # 2 pixels.
    'batch_size': 2000,
    'epochs': 18,
    'optimizer': 'muon',
    'learning_rate': 0.24,
    'momentum': 0.85,
    'bias_rate': 440.0,
    'softmax_rate': 5600.0,
    'schedule': 'one_cycle',
    'warmup': 0.001,
    'label_smoothing': 0.2,
    'regularizer': 'none',
    'precision': precision,
  }
