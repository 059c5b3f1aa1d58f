"""The lines that a trainer prints, with a clock of the test's own."""

import re

import tensorflow.compat.v1 as tf

from cifar10.run import hooks
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import console
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


def test_the_rate_is_that_of_the_steps_since_the_line_before(
    monkeypatch, capsys):
  config = Settings(batch_size=128, log_frequency=4)
  seconds = [4, 1, 1, 1, 1, 2, 2, 2, 2]
  found = lines_of(config, 0, seconds, monkeypatch, capsys)
  # The first line is about one step, those that follow about four.
  assert found == [(0, 2.5, 32.0, 4.0), (4, 2.5, 128.0, 1.0),
                   (8, 2.5, 64.0, 2.0)]


def test_a_resumed_run_counts_only_its_own_steps(monkeypatch, capsys):
  config = Settings(batch_size=100, log_frequency=10)
  # From step 7 on: the first line is behind 4 steps, not 10.
  seconds = [1, 1, 1, 1] + [2] * 10
  found = lines_of(config, 7, seconds, monkeypatch, capsys)
  assert found == [(10, 2.5, 100.0, 1.0), (20, 2.5, 50.0, 2.0)]


def test_steps_of_other_workers_count(monkeypatch, capsys):
  config = Settings(batch_size=100, log_frequency=10)
  # Of four steps this worker takes one: 4, 8, 12 and so on.
  found = lines_of(config, 0, [2] * 8, monkeypatch, capsys, stride=4)
  assert found == [(3, 2.5, 200.0, 0.5), (11, 2.5, 200.0, 0.5),
                   (23, 2.5, 200.0, 0.5), (31, 2.5, 200.0, 0.5)]


def test_towers_share_the_seconds_of_a_step(monkeypatch, capsys):
  config = Settings(batch_size=100, num_gpus=4, log_frequency=1)
  found = lines_of(config, 0, [2], monkeypatch, capsys)
  # 400 images in 2 seconds; a batch of 100 every half second.
  assert found == [(0, 2.5, 200.0, 0.5)]


def test_the_time_is_the_tutorials():
  assert re.fullmatch(short_runs.TIME, console.timestamp())
