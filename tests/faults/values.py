"""Random values of flags: right, at the bounds, beyond them, and nonsense."""

import math
from typing import Any, NamedTuple

from cifar10 import settings as settings_lib
from cifar10.store import config as config_lib

# Greater values than any machine can do, where no bound is lower.
_HUGE = (1 << 31, 1 << 63, 10**30)
_BOOLS = {'true': True, 'false': False}
_NOT_NUMBERS = ('', 'x1', '1,5', '0x', '--1', 'nan', 'inf', '1e999')

# The largest values that a small machine does in seconds, where they are less
# than the smallest and 1,000. More are drawn only beyond the bound of the flag,
# or beyond any machine.
_LARGEST = {
    'batch_size': 32,
    'cache_frozen': 2,
    'image_size': 32,
    'inter_op_threads': 4,
    'intra_op_threads': 4,
    'log_frequency': 3,
    'max_steps': 4,
    'num_gpus': 3,
    'labelled_examples': 1500,
    'validation_examples': 1400,
    'validation_steps': 3,
    'save_steps': 3,
    'max_to_keep': 3,
    'top_k': 10
}
_SMALLEST = {'stall_secs': 60}

# Texts that are no choices.
_TEXTS = {
    'augment': ('', 'flip', 'crop,flip', 'alternating_flip,shift', 'flip,flip',
                'nonsense', ','),
    'boundaries': ('', '1', '0.001,0.002', '2,1', '1,x', '1e20', '-1', 'nan'),
    'rates': ('', '0.1', '0.1,0.01', '0.1,0.05,0.01', '-1,0', 'x', '0.1,inf'),
    'group_filters': ('8,8,8', '8', '0,8,8', 'x'),
    'hidden_layers': ('', '8', '384', '64,32,16', '0', 'x', '8,', '999999'),
    'init_from': ('', 'pretrained:tutorial', 'pretrained:fast', 'nowhere', '/'),
    'init_scope': ('', 'conv', 'conv[12]', '[', 'nothing', '*'),
    'init_map': ('', 'conv1:conv1', 'conv1:conv2', 'x', 'a:b:c', ':'),
    'freeze': ('', 'conv', 'conv[12]', '.*', '[', 'nothing'),
    'master': ('', 'nonsense', 'a:1', 'grpc://'),
    'checkpoint': ('', '12', '6', '5', '-1', 'model.ckpt-6', '9' * 30),
    **{name: ('', 'm.' + kind, 'm', 'no/such/m.' + kind, '/')
       for name, kind in (('metrics', 'json'), ('tflite', 'tflite'),
                          ('frozen_graph', 'pb'), ('grid', 'png'),
                          ('html', 'html'))}
}  # yapf: disable


class Value(NamedTuple):
  """A value of a flag: its text, what it means, and if no program may take it.
  """

  text: str
  value: Any = None
  is_wrong: bool = False


def draw(name, random):
  """A random Value of the flag `name`."""
  field = settings_lib.FIELDS[name]
  limits = field.metadata
  kind = next(t for t in config_lib.types(field) if t is not type(None))
  if random.random() < 0.12 and field.default is not None:
    text = str(field.default)
  elif 'choices' in limits or kind is bool:
    right = limits.get('choices', ('true', 'false'))
    wrong = ('', 'nonsense', 'TUTORIAL', '2')
    text = random.choice(right if random.random() < 0.85 else wrong)
  elif kind is str:
    text = random.choice(_TEXTS[name])
  else:
    text = _number(name, kind, limits, random)
  try:
    value = _BOOLS[text.lower()] if kind is bool else kind(text)
  except (KeyError, ValueError):
    return Value(text, None, True)
  is_right = (config_lib.is_finite(value) and
              value in limits.get('choices', [value]) and
              limits.get('least', value) <= value <= limits.get('most', value))
  return Value(text, value, not is_right)


def _number(name, kind, limits, random):
  """The text of a number of the flag `name`."""
  low, high = limits.get('least', -100), limits.get('most', math.inf)
  huge = [n for n in _HUGE if n > high or high == math.inf] or ['1e30']
  odd = ('0', '-0.5' if kind is float else '-7', random.choice(huge),
         low if high == math.inf else high + 1, random.choice(_NOT_NUMBERS))
  if random.random() < len(odd) / 14:
    return str(random.choice(odd))
  low = max(low, _SMALLEST.get(name, low))
  if kind is int:
    high = min(high, _LARGEST.get(name, low + 1000))
    return str(random.randint(low, high))
  if high < math.inf:
    return '%.3g' % random.uniform(low, high)
  return '%.3g' % max(low, 10**random.uniform(-4, 1))
