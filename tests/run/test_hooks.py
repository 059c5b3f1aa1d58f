"""The lines that a trainer prints, with a clock of the test's own."""

import json
import os
import threading
from unittest import mock

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.run import hooks
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import graph_keys
from tests import short_runs


class Clock:
  """Seconds that pass only where the test says so."""

  now = 0.0

  def monotonic(self):
    return self.now


def lines_of(config, first_step, seconds, monkeypatch, capsys, stride=1):
  """Runs steps that take the given seconds; returns what the lines say.

  Each takes the global step `stride` further, as with other workers.
  """
  clock = Clock()
  seconds = list(seconds)

  def work():
    clock.now += seconds.pop(0)
    return True

  monkeypatch.setattr(hooks, 'time', clock)
  with tf.Graph().as_default():
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([tf.py_func(work, [], tf.bool)]):
      count = tf.assign_add(step, stride)
    state = run_state.RunState((), 50000, ((0, config.examples_per_machine),))
    hook = hooks.LoggerHook(count, tf.constant(2.5), config, state)
    init = tf.assign(step, first_step)
    scaffold = tf.train.Scaffold(init_op=init)
    creator = tf.train.ChiefSessionCreator(scaffold)
    with tf.train.MonitoredSession(creator, [hook]) as session:
      while seconds:
        session.run(count)
  found = short_runs.STEP_LINE.findall(capsys.readouterr().out)
  return [(int(a), float(b), float(c), float(d)) for a, b, c, d in found]


@pytest.mark.parametrize('settings, first_step, stride, seconds, expected', [
    # The first line is about one step, those that follow about four.
    ({'batch_size': 128, 'log_frequency': 4}, 0, 1, [4, 1, 1, 1, 1, 2, 2, 2, 2],
     [(0, 128 / 4, 4), (4, 128, 1), (8, 128 / 2, 2)]),
    # Resumed: from step 7 on, the first line is behind 4 steps, not 10.
    ({}, 7, 1, [1] * 4 + [2] * 10, [(10, 100, 1), (20, 50, 2)]),
    # Of four steps this worker takes one: 4, 8, 12 and so on.
    ({}, 0, 4, [2] * 8,
     [(3, 200, 0.5), (11, 200, 0.5), (23, 200, 0.5), (31, 200, 0.5)]),
    # Towers: 400 images in 2 seconds; a batch of 100 every half second.
    ({'num_gpus': 4, 'log_frequency': 1}, 0, 1, [2], [(0, 200, 0.5)]),
])  # yapf: disable
def test_the_rate_is_that_of_the_steps_since_the_line_before(
    monkeypatch, capsys, settings, first_step, stride, seconds, expected):
  settings = Settings(**dict({'batch_size': 100}, **settings))
  found = lines_of(settings, first_step, seconds, monkeypatch, capsys, stride)
  assert found == [(step, 2.5, rate, batch) for step, rate, batch in expected]


def call(work):
  """What `work()` returns or raises, also an error; fails if it hangs."""
  found = []

  def run():
    try:
      found.append(work())
    except OSError as error:
      found.append(error)

  thread = threading.Thread(target=run, daemon=True)
  thread.start()
  thread.join(30)
  assert found, 'It hangs.'
  return found[0]


def test_a_loss_that_diverges_is_told_with_the_rates():
  settings = Settings(learning_rate=0.2, softmax_rate=5.0)
  hook = hooks.DivergenceHook(None, None, settings)
  with pytest.raises(DivergedError) as info:
    hook.after_run(None, mock.Mock(results=(3, float('nan'))))
  assert str(info.value).startswith(
      'loss is nan at step 2 with --learning_rate=0.2 --softmax_rate=5; ')


def metrics_hook(path):
  """A MetricsHook, or the error of making it."""
  settings = Settings(metrics=str(path))
  state = run_state.RunState((), 50000, ((0, 128),))

  def make():
    with tf.Graph().as_default():
      tf.add_to_collection(graph_keys.LEARNING_RATE, tf.constant(0.1))
      hook = hooks.MetricsHook(tf.constant(1), tf.constant(2.5), settings,
                               state)
    hook._reported_time, hook._reported_step = 0.0, 0
    return hook

  return call(make)


def test_a_pipe_that_nobody_reads_is_an_error(tmp_path):
  pipe = tmp_path / 'pipe'
  os.mkfifo(str(pipe))
  error = metrics_hook(pipe)
  assert isinstance(error, OSError) and error.filename == str(pipe)
  reader = os.open(str(pipe), os.O_RDONLY | os.O_NONBLOCK)
  hook = metrics_hook(pipe)
  assert call(lambda: hook._report(1, 2.5, 0.1)) is None
  assert json.loads(os.read(reader, 1000).decode())['loss'] == 2.5
  os.close(reader)
  error = call(lambda: hook._report(2, 2.5, 0.1))
  assert isinstance(error, OSError) and error.filename == str(pipe)
