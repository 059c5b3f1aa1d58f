"""Short runs on the bundled sample: what several test modules need."""

import atexit
import contextlib
import dataclasses
import functools
import glob
import importlib.util
import os
from pathlib import Path
import re
import shutil
import sys
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.nets import layers
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.util import graph_keys
from tests import processes
from tests import synthetic_records

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A model, and distortions, that are built in half of the time.
SMALL = {'hidden_layers': '', 'conv': 'direct', 'augment': 'flip'}
SMALL_FLAGS = [f'--{name}={value}' for name, value in SMALL.items()]

# The DataSet of a Config, fetched and checked as by a program; all variables of
# a checkpoint, arrays by their names.
prepared, values = datasets.prepare, checkpoints.read

# The tutorial's line, as printed by the trainers and by the evaluator.
TIME = r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}'
STEP_LINE = re.compile(
    '^' + TIME + r': step (\d+), loss = (\d+\.\d\d) '
    r'\((\d+\.\d) examples/sec; (\d+\.\d{3}) sec/batch\)$', re.MULTILINE)
PRECISION_LINE = re.compile(
    '^' + TIME + r': precision @ 1 = (\d\.\d{3}) \((\d+) / (\d+), step (\d+)\)'
    '.* on (?:test|training) images, (?:moving averages|.* without averages)'
    '(?:, .*)?$', re.MULTILINE)


def module_at(path):
  """The module of a file outside the package, a program in scripts/."""
  name = os.path.splitext(os.path.basename(path))[0]
  spec = importlib.util.spec_from_file_location(name, path)
  module = importlib.util.module_from_spec(spec)
  before = list(sys.path)
  sys.path.insert(0, os.path.dirname(path))  # As if it was run.
  spec.loader.exec_module(module)
  sys.path[:] = before
  return module


def module_of(folder, program):
  """The module of a program in a folder of scripts/."""
  return module_at(os.path.join(ROOT, 'scripts', folder, program + '.py'))


def small_config(tmp_path, **changes):
  """A Config for a few quick steps on the sample."""
  config = Settings(dataset='sample', batch_size=16, max_steps=4,
                    log_frequency=1, run_once=True,
                    train_dir=str(tmp_path / 'train'),
                    checkpoint_dir=str(tmp_path / 'train'),
                    eval_dir=str(tmp_path / 'eval'))
  return dataclasses.replace(config, **changes)


@functools.lru_cache(maxsize=None)
def _shared_run():
  """The folder of a run of the default model, made once for all tests."""
  folder = tempfile.mkdtemp()
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  with open(os.devnull, 'w') as nowhere, contextlib.redirect_stdout(nowhere):
    cifar10_train.train(small_config(Path(folder)))
  return os.path.join(folder, 'train')


def trained(tmp_path, **changes):
  """A Config as `small_config` makes it, whose run is at step 4.

  The run, of batches of 16 images and of the default settings, is a copy of
  one that all tests of a process share.
  """
  config = small_config(tmp_path, **changes)
  shutil.copytree(_shared_run(), config.train_dir)
  return config


def noted_algorithms(monkeypatch):
  """A list of the algorithms of convolutions that are built from now on."""
  algorithms, conv2d = [], layers.conv2d

  def noted(*args, **optional):
    algorithms.append(layers.current_options().conv)
    return conv2d(*args, **optional)

  monkeypatch.setattr(layers, 'conv2d', noted)
  return algorithms


def result_of_variant(name, seed, shares, flags, steps):
  """What compare.py notes of a run; its precision is at pairs (step, share)."""
  points = [{
      'step': step,
      'averaged': 1000 * share,
      'plain': 900 * share
  } for step, share in shares]
  return {
      'name': name,
      'seed': seed,
      'flags': flags,
      'steps': steps,
      'points': points,
      'total': 1000,
      'loss': 2.0
  }


def learning_rate(global_step, config, state):
  """The learning rate of the trainers, a tensor."""
  loss = tf.square(tf.get_variable('learnt', []), 'loss')
  cifar10.train(loss, global_step, config, state.pace(config))
  return tf.get_collection(graph_keys.LEARNING_RATE)[-1]


def evaluated(config, step=None):
  """What the evaluator finds for its first batch: right or not, and softmax.

  `step` says which checkpoint it evaluates; None: the newest.
  """
  wanted = '' if step is None else str(step)
  checkpoint = checkpoints.find(config.checkpoint_dir, wanted)
  with tf.Graph().as_default() as default_graph:
    graph = cifar10_eval.build(prepared(config), config)
    logits = default_graph.get_tensor_by_name('softmax_linear/softmax_linear:0')
    kind = 'averaged' if config.use_moving_averages else 'plain'
    creator = tf.train.ChiefSessionCreator(
        tf.train.Scaffold(saver=getattr(graph.savers, kind)),
        checkpoint_filename_with_path=checkpoint)
    with tf.train.MonitoredSession(creator) as session:
      correct, logits = session.run([graph.top_1_op, logits])
  odds = np.exp(logits - logits.max(axis=1, keepdims=True))
  return correct, odds / odds.sum(axis=1, keepdims=True)


def sample_records(count):
  """The first test records of the sample, uint8 [count, 3073]."""
  return prepared(Settings(dataset='sample')).test_records()[:count]


def sample_images(count):
  """The first test images of the sample, uint8 [count, 32, 32, 3]."""
  return synthetic_records.images_of(sample_records(count))


def scalars(directory):
  """All scalar summaries in a directory, as {tag: {step: value}}."""
  found = {}
  for path in glob.glob(os.path.join(directory, 'events.*')):
    for event in tf.train.summary_iterator(path):
      for value in event.summary.value:
        if value.HasField('simple_value'):
          steps = found.setdefault(value.tag, {})
          steps[event.step] = value.simple_value
  return found


def copy_without_averages(source, target):
  """Copies the newest checkpoint of a directory, the plain variables only."""
  plain = {
      name: value
      for name, value in values(checkpoints.latest(str(source))).items()
      if not name.endswith(checkpoints.AVERAGE)
  }
  target.mkdir(parents=True)
  checkpoints.write(str(target), plain)


def script(program):
  """The path of a program's script, in cifar10/ or one of its folders."""
  (path,) = glob.glob(os.path.join(ROOT, 'cifar10', '**', program + '.py'),
                      recursive=True)
  return path


def start(program, *flags):
  """Starts a program as its own process, on the sample."""
  return processes.start([script(program), '--dataset=sample', *flags],
                         stdout=processes.PIPE, stderr=processes.PIPE)


def output(program, *flags, **options):
  """Runs a program that succeeds; returns its output: see processes.output."""
  return processes.output([script(program), '--dataset=sample', *flags],
                          **options)


def steps(out):
  """The numbers of the steps that a trainer has printed."""
  return [int(step) for step, _, _, _ in STEP_LINE.findall(out)]


def wait_for_step(process, step=0):
  """Waits until a trainer prints a step from `step` on; returns its line."""
  for line in process.stdout:
    if max(steps(line), default=-1) >= step:
      return line
  raise AssertionError(process.communicate())
