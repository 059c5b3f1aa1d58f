"""Settings of training: data, model, optimization, validation, transfer."""

from typing import Optional, Tuple

from cifar10.settings.field import MOST_STEPS
from cifar10.settings.field import Group
from cifar10.settings.field import amount
from cifar10.settings.field import choice
from cifar10.settings.field import count
from cifar10.settings.field import decay
from cifar10.settings.field import setting
from cifar10.settings.field import share


class Data(Group, exported=True, searched=False):
  """The data set and its folder.

  dataset: The data set. cifar10 means the data set that --data_dir/dataset.json
    describes, if there is one.
  cifar100_labels: The labels of CIFAR-100: fine, its 100 classes; or coarse,
    its 20 groups of classes.
  data_dir: The folder of the data set; downloads go there.
  """

  dataset: str = choice('cifar10', 'cifar100', 'svhn', 'sample', fixed=True)
  cifar100_labels: str = choice('fine', 'coarse', fixed=True,
                                needs='dataset=cifar100')
  data_dir: str = setting('/tmp/cifar10_data', agreed=False, is_path=True)
  # Classes and image shape of a trained run, see run_state.trained_on; empty:
  # unknown.
  classes: Tuple[str, ...] = ()
  image_shape: Tuple[int, ...] = ()


class Download(Group, saved=False):
  """The source of a data set.

  data_url: Where to download the data set from: a mirror or a file:// address;
    for svhn, the folder of its two files. Default: the official address.
  data_sha256: SHA-256 of the downloaded file; for svhn, of both files,
    separated by a comma. Default: that of the official file.
  """

  data_url: str = setting('', needs='dataset=cifar10,cifar100,svhn')
  data_sha256: str = setting('', needs='dataset=cifar10,cifar100,svhn')


class Input(Group):
  """Batches of images.

  batch_size: Images in a batch; each GPU takes one batch.
  """

  batch_size: int = count(128, 1, 1 << 16)


class Pipeline(Group, agreed=False):
  """The input pipeline of training images.

  input: How to read training images: queues, as in the tutorial; preloaded, one
    variable that holds all records; or tf_data, a tf.data.Dataset.
  """

  input: str = choice('queues', 'preloaded', 'tf_data')


class Augmentation(Group):
  """Random distortions, drawn anew for each training image.

  augment: The distortions of training images, separated by commas: crop, flip,
    brightness, contrast, shift, rotate, resize, saturation, hue, cutout,
    alternating_flip; empty: none.
  max_shift: The farthest that shift moves an image, as a share of its side.
  """

  augment: str = 'crop,flip,brightness,contrast'
  max_shift: float = share(0.125, most=0.5, needs='augment=shift')


class Model(Group, exported=True, fixed=True):
  """The layers of the model.

  network: The layers: tutorial, the tutorial's; or airbench, six convolutions
    on whitened images, with batch normalization, which learn fast.
  image_size: Height and width, in pixels, that images are cropped to; 0: three
    quarters, the tutorial's 24 of 32.
  standardization: The mean subtracted from pixels, and the deviation that
    divides them: image, those of each image, as in the tutorial; or fixed,
    those of each color in CIFAR-10, so that images keep their contrast.
  top_layers: What local3 and local4 are: full, fully connected; or local,
    locally connected as in cuda-convnet.
  hidden_layers: The sizes of the fully connected layers local3, local4, local5
    and so on, separated by commas: 384 has local3 only; empty: none.
  group_filters: Filters of the convolutions in each of the three groups of
    airbench, separated by commas.
  columns: Number of columns that the convolutions are split into. Columns meet
    in local3, as in Krizhevsky's network for two GPUs; 1: no split.
  activation: The activation function of all layers but the last.
  leaky_relu_slope: The slope of leaky_relu below 0.
  normalization: lrn, local response normalization after the convolutions;
    batch, batch normalization before each activation; or none.
  normalize_logits: Batch normalization of the last layer, too.
  """

  network: str = choice('tutorial', 'airbench')
  image_size: int = count(0)
  standardization: str = choice('image', 'fixed')
  top_layers: str = choice('full', 'local', needs='network=tutorial')
  hidden_layers: str = setting('384,192', needs='network=tutorial')
  group_filters: str = setting('64,256,256', needs='network=airbench')
  columns: int = count(1, 1, 16, needs='network=tutorial')
  activation: str = choice(
      *'relu leaky_relu rrelu prelu elu selu gelu tanh sigmoid'.split())
  leaky_relu_slope: float = share(0.2, needs='activation=leaky_relu')
  normalization: str = choice('lrn', 'batch', 'none')
  normalize_logits: bool = setting(False, needs='normalization=batch')


class Initialization(Group, agreed=False):
  """Initial weights.

  initializer: How to draw the initial weights: tutorial, with the tutorial's
    standard deviation for each layer; or xavier, he or lecun, with a variance
    that depends on the number of inputs and outputs of a unit.
  initializer_distribution: The distribution of xavier, he and lecun; normal is
    truncated.
  initializer_fan: The divisor of the variance of xavier, he and lecun: the
    inputs of a unit (in), its outputs (out) or their mean (mean). Default: mean
    for xavier, in for the others.
  """

  initializer: str = choice('tutorial', 'xavier', 'he', 'lecun')
  initializer_distribution: str = choice('normal', 'uniform',
                                         needs='initializer=xavier,he,lecun')
  initializer_fan: str = choice('default', 'in', 'out', 'mean',
                                needs='initializer=xavier,he,lecun')


class Regularization(Group):
  """Measures against overfitting.

  regularizer: tutorial, the tutorial's weight decay of local3, local4 and so
    on; or a penalty on the weights of all layers: l1, l2 or both, l1_l2; or
    none.
  l1_scale: Factor of the sum of absolute weights.
  l2_scale: Factor of half the sum of squared weights.
  input_dropout: Fraction of each image's values to drop in a training step.
  conv_dropout: Fraction of the convolutional layers' outputs, after pooling, to
    drop in a training step.
  dropout: Fraction of the outputs of local3, local4 and so on to drop in a
    training step.
  max_norm: Largest norm of a unit's weights, enforced after each step; 0: no
    limit.
  label_smoothing: Share of each label's probability that is spread over all
    classes.
  batch_norm_decay: Decay of the moving mean and variance of
    --normalization=batch.
  """

  regularizer: str = choice('tutorial', 'l1', 'l2', 'l1_l2', 'none')
  l1_scale: float = amount(0.0001, needs='regularizer=l1,l1_l2')
  l2_scale: float = amount(0.001, needs='regularizer=l2,l1_l2')
  input_dropout: float = share(0.0, most=0.99)
  conv_dropout: float = share(0.0, most=0.99)
  dropout: float = share(0.0, most=0.99, needs='network=tutorial')
  max_norm: float = amount(0.0)
  label_smoothing: float = share(0.0, most=0.99)
  batch_norm_decay: float = decay(0.99, needs='normalization=batch')


class Recipe(Group, agreed=False):
  """A set of settings that work well together.

  recipe: Settings to start from: tutorial, the defaults; better, the tutorial's
    layers with batch normalization, on whole images, for a higher precision;
    fast, another network, which reaches 94 % on CIFAR-10 with --tta in minutes
    without a GPU; or best, the same network with more filters, for 95 %. Other
    flags take precedence over the recipe.
  """

  recipe: str = choice('tutorial', 'better', 'fast', 'best')


class Optimization(Group):
  """The length and the pace of training.

  max_steps: Global step at which training ends.
  epochs: Epochs, passes over the training images, after which training ends,
    such as 7.6; 0: only --max_steps counts.
  early_stopping: End training, with the best checkpoint, after this many
    validations in a row without a better precision; 0: never.
  learning_rate: Initial learning rate; with one_cycle, the highest one. Each
    optimizer has its own default: %(INITIAL_LEARNING_RATE)g for sgd.
  moving_average_decay: Decay of the moving averages of the variables; at first
    it is smaller, (1 + step) / (10 + step).
  seed: Makes a run repeatable: same seed, same numbers.
  """

  max_steps: int = count(1000000, 1, MOST_STEPS, agreed=False)
  epochs: float = amount(0.0, agreed=False)
  early_stopping: int = count(0, agreed=False)
  learning_rate: Optional[float] = amount(
      None, needs='schedule=exponential,constant,power,performance,one_cycle')
  moving_average_decay: Optional[float] = share(None, constant=True)
  seed: Optional[int] = count(None, -MOST_STEPS, MOST_STEPS, agreed=False)


class Optimizer(Group):
  """The optimizer, and limits on the gradients.

  optimizer: The optimizer.
  bias_rate: Learning rate of biases and all other variables but weights, as a
    multiple of that of weights.
  softmax_rate: Learning rate of the weights of the last layer, as a multiple of
    that of the other weights.
  momentum: Momentum of momentum, nesterov and rmsprop; with muon, momentum of
    the biases and the last layer. Default: 0 for rmsprop, 0.9 for the others.
  muon_momentum: Momentum of muon.
  muon_decay: With muon, weight decay of the biases and the last layer: before
    momentum, a step subtracts this share of them, times the learning rate of
    the other weights.
  rmsprop_decay: Decay of the mean square of gradients of rmsprop.
  adam_beta1: Decay of the mean of gradients of adam.
  adam_beta2: Decay of the mean square of gradients of adam.
  epsilon: Constant added to the mean square of gradients by rmsprop, and to its
    root by adam.
  ftrl_l1: L1 penalty of ftrl: a weight that reaches 0 stays there until the sum
    of its gradients exceeds the penalty.
  ftrl_l2: L2 penalty of ftrl.
  clip_norm: Largest global norm of the gradients; 0: no limit.
  clip_norm_each: Largest norm of the gradient of each variable; 0: no limit.
  clip_value: Largest absolute value in the gradients; 0: no limit.
  """

  optimizer: str = choice('sgd', 'momentum', 'nesterov', 'adagrad', 'rmsprop',
                          'adam', 'ftrl', 'muon')
  bias_rate: float = amount(1.0)
  softmax_rate: float = amount(1.0)
  momentum: Optional[float] = share(
      None, needs='optimizer=momentum,nesterov,rmsprop,muon')
  muon_momentum: float = decay(0.6, needs='optimizer=muon')
  muon_decay: float = amount(0.0, needs='optimizer=muon')
  rmsprop_decay: float = decay(0.9, needs='optimizer=rmsprop')
  adam_beta1: float = decay(0.9, needs='optimizer=adam')
  adam_beta2: float = decay(0.999, needs='optimizer=adam')
  # In float32, squares of gradients below 1e-19 are 0, and so are their roots.
  epsilon: float = amount(1e-08, 1e-16, needs='optimizer=rmsprop,adam')
  ftrl_l1: float = amount(0.0, needs='optimizer=ftrl')
  ftrl_l2: float = amount(0.0, needs='optimizer=ftrl')
  clip_norm: float = amount(0.0)
  clip_norm_each: float = amount(0.0)
  clip_value: float = amount(0.0)


class Schedule(Group):
  """The learning rate as a function of the examples seen.

  schedule: How the learning rate changes: exponential, by
    --learning_rate_decay_factor every --num_epochs_per_decay; constant;
    piecewise, --rates between --boundaries; power, like 1 / (1 + epochs /
    num_epochs_per_decay) ** power; performance, by the factor after --patience
    validations without a better precision; or one_cycle, up to --learning_rate
    during --warmup of the run and down to 0 at its end.
  num_epochs_per_decay: Epochs between falls of an exponential rate, and the
    time scale of power.
  learning_rate_decay_factor: The factor by which exponential and performance
    fall.
  staircase: An exponential rate falls every --num_epochs_per_decay;
    --nostaircase: a little at each training step.
  boundaries: Epochs at which a piecewise rate changes: 100,150.
  rates: The rates before, between and after the --boundaries: 0.1,0.01,0.001.
  power: The power of --schedule=power.
  patience: Validations in a row without a better precision after which the
    rate of --schedule=performance falls.
  warmup: The share of the run during which one_cycle rises.
  """

  schedule: str = choice('exponential', 'constant', 'piecewise', 'power',
                         'performance', 'one_cycle')
  num_epochs_per_decay: Optional[float] = amount(
      None, 0.001, 1e30, needs='schedule=exponential,power', constant=True)
  learning_rate_decay_factor: Optional[float] = share(
      None, needs='schedule=exponential,performance', constant=True)
  staircase: bool = setting(True, needs='schedule=exponential')
  boundaries: str = setting('', needs='schedule=piecewise')
  rates: str = setting('', needs='schedule=piecewise')
  power: float = amount(1.0, needs='schedule=power')
  patience: int = count(3, 1, needs='schedule=performance')
  warmup: float = share(0.3, 0.001, 0.999, needs='schedule=one_cycle')


class Validation(Group, searched=False):
  """The split of the training images, and validation on the held-out part.

  validation_examples: Number of training images, the last ones, to hold out for
    validation.
  labelled_examples: Number of training images, the first ones, to train on, as
    if the others had no labels; 0: all that are not held out.
  validation_steps: Steps between validations.
  """

  validation_examples: int = count(0, fixed=True)
  labelled_examples: int = count(0, fixed=True)
  validation_steps: int = count(1000, 1, MOST_STEPS, agreed=False,
                                needs='validation_examples')


class Transfer(Group):
  """Variables from another run, and variables that are not trained.

  init_from: Start a new run from the variables of another one, or from their
    moving averages if it has them: a checkpoint, the --train_dir of a run, or a
    model that comes with the package, pretrained:tutorial or pretrained:fast.
  init_scope: Regular expression for the beginning of the names of the variables
    to take over, such as conv[12]; empty: all that fit.
  init_map: Names that differ in the other run: conv1:layer1,conv2:layer2 takes
    conv1 from its layer1.
  freeze: Regular expression for the beginning of the names of variables to
    leave untrained, such as conv[12].
  cache_frozen: Number of distorted versions of each training image. The frozen
    layers, from the first one up, are computed once for each version, before
    training; 0: compute them in each step.
  hold_zeros: Keep weights that are 0 at 0, to train a sparse checkpoint
    further.
  """

  init_from: str = setting('', agreed=False, holds_checkpoints=True)
  init_scope: str = setting('', agreed=False, needs='init_from')
  init_map: str = setting('', agreed=False, needs='init_from')
  freeze: str = ''
  cache_frozen: int = count(0, most=10000, agreed=False, needs='freeze')
  hold_zeros: bool = False


class Pretraining(Group, saved=False):
  """Learning from images without labels, or from other labels.

  task: autoencoder, or rbm, a restricted Boltzmann machine: layer by layer, to
    reconstruct the inputs of each layer; corrupted or max_margin: to tell
    images from corrupted ones, by cross entropy or by a margin between their
    scores; pairs or distorted_pairs: to tell whether two images show the same
    class, or are distortions of the same image.
  """

  task: str = choice('autoencoder', 'rbm', 'corrupted', 'max_margin', 'pairs',
                     'distorted_pairs')
