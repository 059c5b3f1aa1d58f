"""Networks that are dead or broken: their precision is not above chance."""

import os
import re
import shutil

import numpy as np

from cifar10.data import datasets
from cifar10.errors import DivergedError
from cifar10.settings import Settings
from cifar10.store import checkpoints
from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect

_RUN_SECS = 120
_RECORD_BYTES = 3073
_NUM_CLASSES = 10
# More than a network of 10 classes can learn in some dozen steps.
_TOO_GOOD = 0.7

_PRECISION = re.compile(r'precision @ (\d+) = (\d\.\d{3})')


def of_equal_logits(sandbox, random):
  """The same logits for all images, some of them equal: ties go by index."""
  biases = [random.choice((0.0, 0.0, 1.0, -1.0)) for _ in range(_NUM_CLASSES)]
  sandbox.note('logits: %s', biases)
  folder = _changed_run(
      sandbox, {
          'softmax_linear/weights': 0.0,
          'softmax_linear/biases': np.array(biases, np.float32)
      })
  top_k = random.randrange(1, _NUM_CLASSES + 1)
  flags = random.choice(
      (['--tta'], ['--precision=bfloat16'], ['--nouse_moving_averages'], []))
  flags = flags + ['--top_k=%d' % top_k]
  if random.random() < 0.3:  # The mean of a network and itself.
    flags[-1], top_k = '--checkpoint_dir=' + folder, 1
  run = _evaluate(sandbox, folder, *flags)
  invariants.ended_clean(run, _RUN_SECS)
  ranked = sorted(range(_NUM_CLASSES), key=lambda c: (-biases[c], c))
  expected = {
      (k, float(np.isin(_labels(), ranked[:k]).mean())) for k in {1, top_k}
  }
  found = {(int(k), float(p)) for k, p in _PRECISION.findall(run.out)}
  expect(found == expected, '%s: precisions @ k are %s; expected %s', run.name,
         sorted(found), sorted(expected))


def of_values_not_finite(sandbox, random):
  """NaN or infinity in a variable: no class is right by it, none is saved."""
  value = random.choice((np.nan, np.inf, -np.inf))
  name = random.choice(
      ('conv1/weights', 'local4/weights', 'softmax_linear/biases'))
  sandbox.note('%s is %s', name, value)
  folder = _changed_run(sandbox, {name: value})
  before = invariants.Unchanged(folder)
  run = _evaluate(sandbox, folder)
  if invariants.ended_either_way(run, _RUN_SECS) == 0:
    ((_, found),) = _PRECISION.findall(run.out)
    share = np.bincount(_labels()).max() / len(_labels())
    expect(
        float(found) <= share, '%s: %s, more than any class', run.name, found)
  before.check()
  run = sandbox.start('cifar10_train', '--dataset=sample', '--batch_size=8',
                      '--save_steps=1', '--max_steps=15',
                      '--train_dir=' + folder)
  invariants.ended_with_error(run, _RUN_SECS,
                              names=[DivergedError.MARK, folder])
  expect(
      max(invariants.whole(folder)) == trained.MAX_STEPS,
      '%s saves what is not finite', run.name)


def of_high_rates(sandbox, random):
  """A rate that kills a network: an error, or a precision that is true."""
  directory, rate = sandbox.path('train'), random.choice(('5', '100', '1e30'))
  flags = random.choice(([
      '--recipe=fast', '--precision=float32', '--epochs=4', '--batch_size=64'
  ], ['--normalization=batch',
      '--optimizer=adam'], ['--clip_norm=1', '--optimizer=momentum'], []))
  run = sandbox.start('cifar10_train', '--dataset=sample', '--batch_size=8',
                      '--learning_rate=' + rate, '--max_steps=40',
                      '--save_steps=10', '--validation_examples=100',
                      '--validation_steps=8', '--train_dir=' + directory,
                      *flags)
  invariants.ended_either_way(run, _RUN_SECS, names=[DivergedError.MARK])
  invariants.checkpoints_load(directory)
  invariants.checkpoints_load(os.path.join(directory, 'best'))
  out = run.out
  if run.status == 0:
    run = _evaluate(sandbox, directory)
    invariants.ended_either_way(run, _RUN_SECS)
    out += run.out
  for _, precision in _PRECISION.findall(out):
    expect(
        float(precision) < _TOO_GOOD, 'a precision of %s with a rate of %s',
        precision, rate)


def _changed_run(sandbox, changes):
  """The folder of a trained run whose newest checkpoint is changed.

  `changes` are arrays, or numbers for all elements, by the names of variables;
  their averages change too.
  """
  trained.copy(sandbox, 'train')
  source, folder = sandbox.path('train'), sandbox.path('dead')
  values = checkpoints.read(checkpoints.latest(source))
  for name, value in changes.items():
    for key in (name, checkpoints.averaged(name, values)):
      values[key] = np.full_like(values[key], 0) + np.float32(value)
  os.mkdir(folder)
  for name in ('config.json', 'run_state.json'):
    shutil.copy(os.path.join(source, name), folder)
  checkpoints.write(folder, values)
  return folder


def _labels():
  """The labels of the test images of the sample."""
  (path,) = datasets.prepare(Settings(dataset='sample')).test_files
  return np.fromfile(path, np.uint8).reshape(-1, _RECORD_BYTES)[:, 0]


def _evaluate(sandbox, folder, *flags):
  return sandbox.start('cifar10_eval', '--dataset=sample', '--run_once',
                       '--batch_size=50', '--checkpoint_dir=' + folder,
                       '--eval_dir=' + sandbox.path('eval'), *flags)


KINDS = {of_equal_logits: 4, of_values_not_finite: 2, of_high_rates: 3}
