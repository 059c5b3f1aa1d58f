"""Recipes: named sets of settings that work well together.

`--recipe` takes one; flags given as well take precedence.
"""

from cifar10 import settings as settings_lib
from cifar10.run import combinations
from cifar10.util import session_settings

# Settings that suit one optimizer.
_RATES = ('learning_rate', 'bias_rate', 'softmax_rate')


def applied(values, given):
  """Settings with those of their recipe.

  Those of the recipe that have no effect together with the given ones are left
  out, and its rates if they are for another optimizer.

  Args:
    values: dict by flat names, 'recipe' among them.
    given: names of those that take precedence over the recipe.

  Returns:
    A dict like `values`.
  """
  recipe = settings(values['recipe'])
  wanted = {name: recipe[name] for name in recipe if name not in given}
  merged = dict(values, **wanted)
  is_other = merged['optimizer'] != recipe.get('optimizer')
  for name in wanted:
    needs = settings_lib.FIELDS[name].metadata['needs']
    if (is_other and name in _RATES) or not combinations.has_effect(
      needs, merged
    ):
      merged[name] = values[name]
  return merged


def settings(name):
  """The settings of a recipe that are not the defaults.

  Args:
    name: 'tutorial', 'better' or 'fast'.

  Returns:
    dict by names, as settings.Settings takes them.
  """
  return {'tutorial': dict, 'better': _better, 'fast': _fast}[name]()


def _better():
  """The tutorial's network at its best, in the time of its 100,000 steps.

  docs/recipes.md says how the numbers were found.
  """
  return {
    'normalization': 'batch',
    'image_size': 32,
    'input': 'preloaded',
    'augment': 'flip,shift',
    'batch_size': 512,
    'epochs': 210,
    'optimizer': 'nesterov',
    'learning_rate': 0.3,
    'schedule': 'one_cycle',
    'moving_average_decay': 0.99,  # docs/recipes.md says what 0.9999 cost.
    'label_smoothing': 0.1,
    'dropout': 0.4,
    'regularizer': 'l2',
    'precision': _precision(),
  }


def _fast():
  """94 % in minutes, on a processor: arXiv 2404.00498, with Muon.

  The numbers are those of its author's later record with Muon
  (https://github.com/KellerJordan/cifar10-airbench), whose loss is a sum over
  the batch: rates here are for its mean.
  """
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
    'precision': _precision(),
  }


def _precision():
  """bfloat16 where the processor has instructions for it, else float32."""
  return 'bfloat16' if session_settings.cpu_has_bfloat16() else 'float32'
