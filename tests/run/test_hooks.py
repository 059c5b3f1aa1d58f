"""The lines that a trainer prints, with a clock of the test's own."""

import json
import os
from unittest import mock

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import DivergedError
from cifar10.run import hooks
from cifar10.run import progress
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.util import graph_keys
from tests import short_runs


class Clock:
  """Seconds that pass only where the test says so."""

  now = 100.0

  def monotonic(self):
    return self.now


def take_steps(monkeypatch, hook, first_step, seconds, stride=1):
  """Runs steps that take the given seconds, with `hook(step, loss)`.

  Each takes the global step `stride` further, as with other workers.
  """
  clock = Clock()
  seconds = list(seconds)

  def work():
    clock.now += seconds.pop(0)
    return True

  monkeypatch.setattr(hooks, 'time', clock)
  monkeypatch.setattr(progress, 'time', clock)
  step = tf.train.get_or_create_global_step()
  with tf.control_dependencies([tf.py_func(work, [], tf.bool)]):
    count = tf.assign_add(step, stride)
  scaffold = tf.train.Scaffold(init_op=tf.assign(step, first_step))
  creator = tf.train.ChiefSessionCreator(scaffold)
  with tf.train.MonitoredSession(creator,
                                 [hook(count, tf.constant(2.5))]) as session:
    while seconds:
      session.run(count)


def state_for(settings):
  return run_state.RunState((), 50000, ((0, settings.examples_per_machine),))


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
  take_steps(
      monkeypatch, lambda step, loss: hooks.LoggerHook(step, loss, settings,
                                                       state_for(settings)),
      first_step, seconds, stride)
  found = short_runs.STEP_LINE.findall(capsys.readouterr().out)
  assert [tuple(map(float, numbers)) for numbers in found
         ] == [(step, 2.5, rate, batch) for step, rate, batch in expected]


def test_the_time_between_two_sessions_is_not_that_of_steps(
    monkeypatch, capsys):
  clock, step = Clock(), tf.train.get_or_create_global_step()
  monkeypatch.setattr(hooks, 'time', clock)
  settings = Settings(batch_size=100, log_frequency=1)
  hook = hooks.LoggerHook(None, None, settings, state_for(settings))
  with tf.Session() as session:
    for first_step in 5, 3:  # The second session has lost two steps.
      session.run(tf.assign(step, first_step))
      hook.after_create_session(session, None)
      hook.before_run(None)
      clock.now += 2
      results = {'step': first_step + 1, 'loss': 2.5}
      hook.after_run(None, mock.Mock(results=results))
      clock.now += 60
  found = short_runs.STEP_LINE.findall(capsys.readouterr().out)
  assert [tuple(map(float, numbers)) for numbers in found] == [(5, 2.5, 50, 2),
                                                               (3, 2.5, 50, 2)]


def test_the_rate_is_of_the_last_steps_and_the_time_left_of_all(monkeypatch):
  settings = Settings(batch_size=10, num_gpus=2, max_steps=100000,
                      log_frequency=8)
  line = mock.Mock(spec=['show'])
  take_steps(
      monkeypatch, lambda step, loss: progress.ProgressHook(
          step, loss, settings, state_for(settings), line), 1008,
      [3.0] + [1.0] * 9 + [2.0] * 8)
  # 20 images a step; 98,991 steps of 3 seconds, 98,983 of 11 / 9 seconds,
  # 98,975 of 26 / 17 seconds, and 98,974 of 28 / 18 seconds.
  assert [call[0][0] for call in line.show.call_args_list] == [
      f'step {step} of 100000, epoch 0.4, loss = 2.50, {rest} left'
      for step, rest in ((1009, '6.7 examples/sec, 3 days, 10:29:33'),
                         (1017, '20.0 examples/sec, 1 day, 9:36:19'),
                         (1025, '10.7 examples/sec, 1 day, 18:02:54'),
                         (1026, '10.0 examples/sec, 1 day, 18:46:00'))
  ]


def test_a_loss_that_diverges_is_told_with_the_rates():
  settings = Settings(learning_rate=0.2, softmax_rate=5.0)
  hook = hooks.DivergenceHook(None, None, settings)
  with pytest.raises(DivergedError) as info:
    hook.after_run(None, mock.Mock(results=(3, float('nan'))))
  assert str(info.value).startswith(
      'loss is nan at step 2 with --learning_rate=0.2 --softmax_rate=5; ')


def test_a_pipe_that_nobody_reads_is_an_error(tmp_path):
  pipe = str(tmp_path / 'pipe')
  os.mkfifo(pipe)
  settings = Settings(metrics=pipe)
  tf.add_to_collection(graph_keys.LEARNING_RATE, tf.constant(0.1))

  def made():
    return hooks.MetricsHook(None, None, settings, state_for(settings))

  with pytest.raises(OSError) as info:
    made()
  assert info.value.filename == pipe
  reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
  hook = made()
  hook._reported_time, hook._reported_step = 0.0, 0
  hook._report(1, 2.5, 0.1)
  assert json.loads(os.read(reader, 1000).decode())['loss'] == 2.5
  os.close(reader)
  with pytest.raises(OSError) as info:
    hook._report(2, 2.5, 0.1)
  assert info.value.filename == pipe
