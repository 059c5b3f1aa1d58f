"""Kernels of GPUs for all operations that the programs put on GPUs.

The wheels of TensorFlow 2 for Linux register their GPU kernels on machines
without a GPU, too. So the graphs are built here as on a machine with two GPUs,
and the registry tells which of their operations could run there.
"""

import contextlib
import functools

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import kernels

from cifar10 import cifar10_distributed_train
from cifar10 import cifar10_eval
from cifar10 import cifar10_multi_gpu_train
from cifar10 import cifar10_pretrain
from cifar10 import cifar10_train
from cifar10 import guard
from cifar10.cluster import cluster_spec
from cifar10.cluster import membership
from cifar10.cluster import placement
from cifar10.cluster import shared_state
from cifar10.data import datasets
from cifar10.infer import export
from cifar10.infer import predictions
from cifar10.nets import pretraining
from cifar10.run import recipes
from cifar10.run import trainer
from cifar10.store import run_state
from cifar10.util import session_settings
from tests import short_runs

# Operations that write files or events; TensorFlow has them on CPUs only.
_OUTPUT = {
    'HistogramSummary', 'ImageSummary', 'MergeSummary', 'SaveV2',
    'ScalarSummary'
}


@functools.lru_cache(maxsize=None)
def kernels_on_gpu(kind):
  """The KernelDefs of a type of operation that a GPU can choose from."""
  found = kernels.get_registered_kernels_for_op(kind).kernel
  # Those for any device take tensors in the memory of the CPU.
  return [k for k in found if k.device_type in ('GPU', 'DEFAULT')]


def has_kernel(op):
  """True if a GPU kernel takes the types of an operation."""
  found = kernels_on_gpu(op.type)
  names = {c.name for kernel in found for c in kernel.constraint}
  used = {name: types(op.get_attr(name)) for name in names}
  # A kernel with a label is used only by who asks for it.
  return any(
      not kernel.label and all(used[c.name] <= set(c.allowed_values.list.type)
                               for c in kernel.constraint)
      for kernel in found)


def types(value):
  """The numbers of the types in an attribute, a type or a list."""
  listed = value if isinstance(value, list) else [value]
  return {dtype.as_datatype_enum for dtype in listed}


def is_output(op):
  """True for summaries, checkpoints, and the constants that name them."""
  is_name = op.type == 'Const' and op.outputs[0].dtype == tf.string
  return is_name or op.type in _OUTPUT


def device_of(op):
  """'CPU', 'GPU', or None if TensorFlow is to choose, which prefers GPUs."""
  return tf.DeviceSpec.from_string(op.device).device_type


def check(operations, num_gpus=None):
  """Requires a GPU kernel of all operations that belong on GPUs.

  They are those in GPU scopes, and those outside of all scopes. `num_gpus` is
  the number of GPUs that have a scope in the graph.
  """
  on_gpus = [op for op in operations if device_of(op) != 'CPU']
  assert sum(op.type in ('Conv2D', 'MatMul') for op in on_gpus) >= 2
  missing = [(op.type, op.name, op.device)
             for op in on_gpus
             if not (is_output(op) or has_kernel(op))]
  assert missing == []
  if num_gpus:
    scopes = {op.device for op in on_gpus if device_of(op)}
    assert len(scopes) == num_gpus, scopes


class Built(Exception):  # noqa: N818  It is not an error.
  """A graph is complete; its session would be made next."""


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch):
  """A machine with two GPUs, on which a trainer stops before its session."""

  @contextlib.contextmanager
  def protect(run, role, creator, hooks, *args):
    for hook in hooks:
      hook.begin()
    raise Built(tf.get_default_graph().get_operations())
    yield  # For contextmanager.

  monkeypatch.setattr(session_settings, 'has_gpu', lambda: True)
  monkeypatch.setattr(guard, 'protect', protect)


def built_by(train, *args):
  """The operations of a trainer."""
  with pytest.raises(Built) as info:
    train(*args)
  return info.value.args[0]


def worker_operations(settings):
  """The operations of worker 1 of a cluster."""
  settings, data = trainer.prepare_data(settings)
  state = run_state.begin(data, 4)
  task = cluster_spec.Task('worker', 1, ('p:1', 'q:1'), ('b:1', 'c:1'))
  place = placement.device_function(task, settings)
  with tf.Graph().as_default() as graph, tf.device(place):
    cifar10_distributed_train.build_step(
        trainer.Run(settings, data, state), task,
        membership.Agreement(settings, state, 1, 0),
        shared_state.progress(task, 10))
  return graph.get_operations()


pytestmark = pytest.mark.skipif(
    all(kernel.device_type != 'GPU' for kernel in kernels_on_gpu('Conv2D')),
    reason='this TensorFlow registers no GPU kernels')
in_each_precision = pytest.mark.parametrize(
    'precision',
    ['float32', 'bfloat16',
     pytest.param('float16', marks=pytest.mark.slow)])
# The recipe best has the operations of fast.
by_each_recipe = pytest.mark.parametrize('recipe',
                                         ['tutorial', 'better', 'fast'])


@pytest.fixture(name='make')
def _make(tmp_path):
  """Makes the settings of a small run in a recipe."""

  def make(recipe, precision, **changes):
    values = dict(recipes.settings(recipe), recipe=recipe, precision=precision,
                  batch_size=2, **changes)
    return short_runs.small_config(tmp_path, **values)

  return make


@in_each_precision
@by_each_recipe
def test_trainers_with_one_gpu_two_towers_and_a_cluster(make, recipe,
                                                        precision):
  check(built_by(cifar10_train.train, make(recipe, precision)))
  check(worker_operations(make(recipe, precision)), num_gpus=1)
  settings = make(recipe, precision, num_gpus=2)
  check(built_by(cifar10_multi_gpu_train.train, settings), num_gpus=2)


@in_each_precision
@pytest.mark.parametrize('kind', ['layers', 'filters'])
def test_the_parts_of_one_model(make, kind, precision):
  settings = make('tutorial', precision, num_gpus=2, model_parallelism=kind)
  check(built_by(cifar10_multi_gpu_train.train, settings), num_gpus=2)


@in_each_precision
@pytest.mark.parametrize('task, layer', [
    *((task, None) for task in pretraining.AUXILIARY), ('autoencoder', 'conv2'),
    ('autoencoder', 'local3'), ('rbm', 'conv2'), ('rbm', 'local3')
])
def test_pretraining(make, task, layer, precision):
  settings, data = trainer.prepare_data(make('tutorial', precision, task=task))
  take_steps = functools.partial(cifar10_pretrain._take_steps, layer=layer)
  check(built_by(trainer.start_or_resume, settings, data, take_steps))


@in_each_precision
@by_each_recipe
def test_evaluation(make, recipe, precision):
  settings = make(recipe, precision, tta=True)
  data = datasets.describe(settings)
  with tf.Graph().as_default() as graph:
    cifar10_eval.build(data, settings)
  check(graph.get_operations())


@in_each_precision
def test_an_ensemble(make, precision):
  networks = [
      predictions.Network(make(recipe, precision))
      for recipe in ('better', 'fast')
  ]
  data = datasets.describe(networks[0].settings)
  model = predictions.Predictor(data, *networks)
  model.close()
  check(model._mean.graph.get_operations(), num_gpus=2)


@by_each_recipe
def test_an_export(make, recipe):
  settings = make(recipe, 'bfloat16')
  with tf.Graph().as_default() as graph:
    export._build(datasets.describe(settings), settings)
  # From the pixels on: pictures are decoded by the CPU.
  pending, found = [graph.get_operation_by_name('probabilities')], set()
  while pending:
    op = pending.pop()
    if op not in found and op.name != 'pixels':
      found.add(op)
      pending += [tensor.op for tensor in op.inputs]
  check(found)


def test_an_operation_without_a_kernel_is_found(make, monkeypatch):
  loss = cifar10_multi_gpu_train.tower_loss

  def with_change(scope, images, labels, settings):
    normalized = tf.nn.lrn(tf.cast(images, tf.float16))
    return loss(scope, tf.cast(normalized, tf.float32), labels, settings)

  monkeypatch.setattr(cifar10_multi_gpu_train, 'tower_loss', with_change)
  settings = make('tutorial', 'float32', num_gpus=2)
  operations = built_by(cifar10_multi_gpu_train.train, settings)
  with pytest.raises(AssertionError, match='LRN'):
    check(operations, num_gpus=2)
