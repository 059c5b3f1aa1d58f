"""The recipes of --recipe: named sets of settings that work well together."""

from cifar10 import settings as settings_lib
from cifar10.run import combinations
from cifar10.util import session_settings

# Settings that suit only the optimizer and the network of their recipe.
_RATES = ('learning_rate', 'bias_rate', 'softmax_rate')

# The tutorial's layers with batch normalization, on whole images.
# docs/recipes.md says how the numbers were found.
_BETTER = {
    'normalization': 'batch',
    'image_size': 32,
    'input': 'preloaded',
    'augment': 'alternating_flip,shift,cutout',
    'batch_size': 512,
    'epochs': 100,
    'optimizer': 'muon',
    'learning_rate': 0.05,
    'bias_rate': 20.0,
    'schedule': 'one_cycle',
    'moving_average_decay': 0.99,  # The rate falls to 0 in any case.
    'label_smoothing': 0.1,
    'dropout': 0.2,
    'regularizer': 'none'  # Muon keeps the norm of the weights.
}

# A network that learns fast, arXiv 2404.00498, trained with Muon, as in
# https://github.com/KellerJordan/cifar10-airbench.
_AIRBENCH = {
    'network': 'airbench',
    'activation': 'gelu',
    'normalization': 'batch',
    'image_size': 32,
    'input': 'preloaded',
    'augment': 'alternating_flip,shift',
    'standardization': 'fixed',
    'optimizer': 'muon',
    'schedule': 'one_cycle',
    'warmup': 0.001,
    'moving_average_decay': 0.0,  # They are the variables.
    'regularizer': 'none'
}

# 94 % in minutes with --tta: the numbers of
# https://github.com/hiverge/cifar10-speedrun, converted from batches of 1,536
# to 512, and from a sum over the batch to a mean. docs/recipes.md says how.
_FAST = {
    **_AIRBENCH,
    'batch_norm_decay': 0.82,
    'max_shift': 0.0625,  # 2 pixels.
    'batch_size': 512,
    'epochs': 7.6,
    'learning_rate': 0.12,
    'muon_momentum': 0.655,
    'momentum': 0.825,
    'bias_rate': 245.0,
    'softmax_rate': 2300.0,
    'muon_decay': 0.0044,
    'label_smoothing': 0.09
}

# 95 % with --tta: the filters of airbench95, by the author of the network, and
# the numbers of his record with Muon.
_BEST = {
    **_AIRBENCH,
    'group_filters': '128,384,384',
    'batch_norm_decay': 0.6,
    'batch_size': 2000,
    'epochs': 13,  # His are 8, with shifts of 2 pixels, not 4.
    'learning_rate': 0.24,
    'momentum': 0.85,
    'bias_rate': 440.0,
    'softmax_rate': 5600.0,
    'muon_decay': 0.0167,
    'label_smoothing': 0.2
}


def applied(values, given):
  """Settings, a dict by names, with those of their recipe.

  Settings `given` as flags, a collection of names, take precedence. Leaves out
  what has no effect with them, and the rates if another optimizer or network is
  given.
  """
  recipe = settings(values['recipe'])
  wanted = {name: recipe[name] for name in recipe if name not in given}
  merged = dict(values, **wanted)
  is_other = any(
      merged[name] != recipe.get(name, settings_lib.FIELDS[name].default)
      for name in ('optimizer', 'network'))
  for name in wanted:
    needs = settings_lib.FIELDS[name].metadata['needs']
    is_useless = not combinations.has_effect(needs, merged)
    is_useless |= name == 'dropout' and not merged['hidden_layers']
    if is_useless or (is_other and name in _RATES):
      merged[name] = values[name]
  return merged


def settings(name):
  """The settings of a recipe that are not the defaults, a dict by their names.

  `name` is 'tutorial', 'better', 'fast' or 'best'. They compute in bfloat16 if
  the processor has instructions for it.
  """
  if name == 'tutorial':
    return {}
  has_bfloat16 = session_settings.cpu_has_bfloat16()
  recipe = {'better': _BETTER, 'fast': _FAST, 'best': _BEST}[name]
  return dict(recipe, precision='bfloat16' if has_bfloat16 else 'float32')
