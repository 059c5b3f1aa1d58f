"""Settings of training: how long, how fast, from where, checked by what."""

from typing import Optional

from cifar10.settings.field import MOST_STEPS
from cifar10.settings.field import amount
from cifar10.settings.field import choice
from cifar10.settings.field import count
from cifar10.settings.field import flag
from cifar10.settings.field import group
from cifar10.settings.field import share


@group(agreed=False)
class Recipe:
  """A set of settings that work well together."""

  recipe: str = choice(
    'tutorial',
    ('tutorial', 'better', 'fast'),
    "Settings to begin with: tutorial, the defaults; better, the tutorial's "
    'network trained to a higher precision in the time of its 100,000 steps; '
    'or fast, 94 % of CIFAR-10 in minutes on a processor. Flags given as '
    'well take precedence.',
  )


@group()
class Optimization:
  """How long variables are trained, and how fast."""

  max_steps: int = count(
    1000000,
    'Global step at which training ends.',
    least=1,
    most=MOST_STEPS,
    agreed=False,
  )
  epochs: int = count(
    0,
    'Epochs, passes over the training images, after which training ends; 0: '
    'only --max_steps counts.',
    agreed=False,
  )
  early_stopping: int = count(
    0,
    'Validations without a better precision after which training ends, with '
    'the best checkpoint; 0: none.',
    agreed=False,
  )
  learning_rate: Optional[float] = amount(
    None,
    'Initial learning rate; the highest one of one_cycle. Default: '
    '%(INITIAL_LEARNING_RATE)g for sgd, and what suits each of the other '
    'optimizers.',
    needs=(
      'schedule',
      ('exponential', 'constant', 'power', 'performance', 'one_cycle'),
    ),
  )
  moving_average_decay: Optional[float] = share(
    None,
    'Decay of the moving averages of the variables; less at first: (1 + '
    'step) / (10 + step).',
    constant='MOVING_AVERAGE_DECAY',
  )
  seed: Optional[int] = count(
    None,
    'Makes a run repeatable: same seed, same numbers.',
    least=-MOST_STEPS,
    most=MOST_STEPS,
    agreed=False,
  )


@group()
class Optimizer:
  """What becomes of gradients."""

  optimizer: str = choice(
    'sgd',
    (
      'sgd',
      'momentum',
      'nesterov',
      'adagrad',
      'rmsprop',
      'adam',
      'ftrl',
      'muon',
    ),
    'The optimizer.',
  )
  bias_rate: float = amount(
    1.0,
    'Learning rate of biases, and of all that is not weights, as a multiple '
    'of that of weights.',
  )
  softmax_rate: float = amount(
    1.0,
    'Learning rate of the weights of the last layer, as a multiple of that '
    'of the others.',
  )
  momentum: float = share(
    0.9,
    'Momentum of momentum and nesterov, and of what muon does not train.',
    needs=('optimizer', ('momentum', 'nesterov', 'muon')),
  )
  muon_momentum: float = share(
    0.6, 'Momentum of muon.', needs=('optimizer', ('muon',))
  )
  rmsprop_decay: float = share(
    0.9,
    'Decay of the mean square of gradients of rmsprop.',
    needs=('optimizer', ('rmsprop',)),
  )
  adam_beta1: float = share(
    0.9,
    'Decay of the mean of gradients of adam.',
    needs=('optimizer', ('adam',)),
  )
  adam_beta2: float = share(
    0.999,
    'Decay of the mean square of gradients of adam.',
    needs=('optimizer', ('adam',)),
  )
  epsilon: float = amount(
    1e-08,
    'What rmsprop adds to the mean square of gradients, and adam to its root.',
    needs=('optimizer', ('rmsprop', 'adam')),
  )
  ftrl_l1: float = amount(
    0.0,
    'L1 penalty of ftrl, which sets weights to zero.',
    needs=('optimizer', ('ftrl',)),
  )
  ftrl_l2: float = amount(
    0.0, 'L2 penalty of ftrl.', needs=('optimizer', ('ftrl',))
  )
  clip_norm: float = amount(
    0.0, 'Largest global norm of the gradients; 0: no limit.'
  )
  clip_norm_each: float = amount(
    0.0, 'Largest norm of the gradient of each variable; 0: no limit.'
  )
  clip_value: float = amount(
    0.0, 'Largest absolute value in the gradients; 0: no limit.'
  )


@group()
class Schedule:
  """How the learning rate falls, by the examples seen."""

  schedule: str = choice(
    'exponential',
    (
      'exponential',
      'constant',
      'piecewise',
      'power',
      'performance',
      'one_cycle',
    ),
    'How the learning rate changes: exponential, by '
    '--learning_rate_decay_factor every --num_epochs_per_decay; constant; '
    'piecewise, --rates between --boundaries; power, like 1 / (1 + epochs / '
    'num_epochs_per_decay) ** power; performance, by the factor after '
    '--patience validations without a better precision; or one_cycle, up to '
    '--learning_rate during --warmup of the run and down to 0 at its end.',
  )
  num_epochs_per_decay: Optional[float] = amount(
    None,
    'Epochs after which the learning rate falls.',
    least=0.001,
    most=1e30,
    needs=('schedule', ('exponential', 'power')),
    constant='NUM_EPOCHS_PER_DECAY',
  )
  learning_rate_decay_factor: Optional[float] = share(
    None,
    'The factor by which it falls.',
    needs=('schedule', ('exponential', 'performance')),
    constant='LEARNING_RATE_DECAY_FACTOR',
  )
  staircase: bool = flag(
    True,
    'exponential falls in steps; --nostaircase: a little at each step.',
    needs=('schedule', ('exponential',)),
  )
  boundaries: str = flag(
    '',
    'Epochs at which a piecewise rate changes: 100,150.',
    needs=('schedule', ('piecewise',)),
  )
  rates: str = flag(
    '',
    'The rates before, between and after them: 0.1,0.01,0.001.',
    needs=('schedule', ('piecewise',)),
  )
  power: float = amount(
    1.0, 'The power of --schedule=power.', needs=('schedule', ('power',))
  )
  patience: int = count(
    3,
    'Validations without a better precision after which the rate of '
    '--schedule=performance falls.',
    least=1,
    needs=('schedule', ('performance',)),
  )
  warmup: float = share(
    0.3,
    'The share of the run during which one_cycle rises.',
    least=0.001,
    most=0.999,
    needs=('schedule', ('one_cycle',)),
  )


@group(searched=False)
class Validation:
  """Which training images are trained on, and which show how that goes."""

  validation_examples: int = count(
    0,
    'How many training images, the last ones, to hold out from training for '
    'validation.',
    fixed=True,
  )
  labelled_examples: int = count(
    0,
    'How many training images, the first ones, to train on, as if no others '
    'had labels; 0: all that are not held out.',
    fixed=True,
  )
  validation_steps: int = count(
    1000,
    'Steps between validations.',
    least=1,
    most=MOST_STEPS,
    agreed=False,
    needs=('validation_examples', None),
  )


@group()
class Transfer:
  """What a run takes over from another one, and what stays as it is."""

  init_from: str = flag(
    '',
    'A checkpoint, the --train_dir of a run, or a model that comes with the '
    'package, pretrained:tutorial or pretrained:fast, whose variables a new '
    'run begins with: their moving averages, if it has them.',
    agreed=False,
    holds_checkpoints=True,
  )
  init_scope: str = flag(
    '',
    'Regular expression for the beginning of the names of these variables, '
    'such as conv[12]; empty: all that fit.',
    agreed=False,
    needs=('init_from', None),
  )
  init_map: str = flag(
    '',
    'Names there that differ from those here: conv1:layer1,conv2:layer2 '
    'takes conv1 from layer1.',
    agreed=False,
    needs=('init_from', None),
  )
  freeze: str = flag(
    '',
    'Regular expression for the beginning of the names of variables that are '
    'not trained, such as conv[12].',
  )
  cache_frozen: int = count(
    0,
    'Compute the frozen convolutional layers once, before training, for as '
    'many distorted versions of each training image; 0: in each step.',
    most=10000,
    agreed=False,
  )
  hold_zeros: bool = flag(
    False, 'Weights that are zero stay zero, as in a sparse checkpoint.'
  )


@group(saved=False)
class Pretraining:
  """What is learnt from images without labels."""

  task: str = choice(
    'autoencoder',
    ('autoencoder', 'rbm', 'corrupted', 'max_margin'),
    'autoencoder, or rbm, a restricted Boltzmann machine: layer by layer, to '
    'reconstruct the inputs of each layer; corrupted or max_margin: to tell '
    'images from corrupted ones, by cross entropy or by a margin between '
    'their scores.',
  )
