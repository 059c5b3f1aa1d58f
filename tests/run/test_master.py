"""Trainers whose graph runs on a server of TensorFlow's runtime."""

import dataclasses
import http.server
import signal
import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_train
from cifar10.errors import UserError
from cifar10.run import master
from cifar10.settings import Settings
from cifar10.store import checkpoints
from tests import clusters
from tests import processes
from tests import short_runs


@pytest.fixture(scope='module')
def targets():
  """The servers of a cluster of two tasks."""
  hosts = clusters.free_addresses(2)
  servers = [tf.train.Server({'worker': hosts}, task_index=i) for i in range(2)]
  yield [server.target for server in servers]


def count_in(settings, starts=False):
  """A client of a server: adds 1 to a counter, which it initializes or not."""
  with tf.Graph().as_default(), master.placed(settings):
    return counted(settings.master, starts)


def counted(target, starts):
  with tf.variable_scope('', reuse=tf.AUTO_REUSE):
    counter = tf.get_variable('counter', [], initializer=tf.zeros_initializer())
  with tf.Session(target) as session:
    if starts:
      session.run(counter.initializer)
    options = tf.RunOptions(output_partition_graphs=True)
    about = tf.RunMetadata()
    count = session.run(counter.assign_add(1), options=options,
                        run_metadata=about)
  nodes = [node for graph in about.partition_graphs for node in graph.node]
  return count, {node.device for node in nodes}


def test_a_graph_runs_on_the_task_that_is_named(targets):
  for i, target in enumerate(targets):
    settings = Settings(master=target, train_dir='/tmp/a')
    assert count_in(settings, True) == (1, {
        '/job:worker/replica:0/task:%d/device:CPU:0' % i
    })


def test_runs_on_one_server_share_nothing_and_leave_nothing(targets):
  runs = [Settings(master=targets[1], train_dir=d) for d in ('/tmp/a', '/b*')]
  with tf.Graph().as_default(), master.placed(runs[0]):
    assert counted(targets[1], True)[0] == 1
    assert count_in(runs[1], True)[0] == 1
    assert counted(targets[1], False)[0] == 2
  # Also what a run has left that did not end.
  with pytest.raises(KeyboardInterrupt):
    with tf.Graph().as_default(), master.placed(runs[1]):
      assert counted(targets[1], True)[0] == 1
      raise KeyboardInterrupt
  for run in runs:
    with pytest.raises(tf.errors.FailedPreconditionError):
      count_in(run)


@pytest.mark.slow
def test_a_run_on_a_server_is_that_of_a_lone_trainer(targets, tmp_path):
  # A network of another size trains on the server before, in another type.
  before = short_runs.small_config(tmp_path, master=targets[1], max_steps=1,
                                   batch_size=8,
                                   train_dir=str(tmp_path / 'before'),
                                   precision='bfloat16', hidden_layers='9')
  lone = short_runs.small_config(tmp_path, seed=1, validation_examples=20,
                                 validation_steps=2, optimizer='momentum',
                                 batch_size=8, hidden_layers='8')
  folder = str(tmp_path / 'on server')
  served = dataclasses.replace(lone, master=targets[1], train_dir=folder)
  for settings in (before, lone, served):
    cifar10_train.train(settings)
  expected, found = (short_runs.values(checkpoints.latest(s.train_dir))
                     for s in (lone, served))
  assert set(found) == set(expected)
  for name, value in found.items():
    np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-5)
  # It is resumed, as any other.
  cifar10_train.train(dataclasses.replace(served, max_steps=5))
  assert checkpoints.step(checkpoints.latest(folder)) == 5


def test_all_that_is_saved_is_in_the_container_of_the_run(targets):
  settings = cifar10.with_constants(
      Settings(master=targets[1], train_dir='/tmp/a', optimizer='momentum'))
  with tf.Graph().as_default(), master.placed(settings):
    global_step = tf.train.get_or_create_global_step()
    weights = tf.get_variable('weights', [2], initializer=tf.ones_initializer())
    cifar10.train(tf.reduce_sum(weights), global_step, settings)
    variables = tf.global_variables()
    assert {'weights/Momentum', 'weights/ExponentialMovingAverage'
           } < {v.op.name for v in variables}
    assert b'' not in {v.op.get_attr('container') for v in variables}


def test_a_server_that_does_not_answer_is_named(monkeypatch):
  monkeypatch.setattr(master, '_ANSWER_SECS', 1)
  target = 'grpc://%s' % clusters.free_addresses(1)[0]
  with pytest.raises(UserError, match='^--master=%s: ' % target):
    count_in(Settings(master=target))


def test_a_web_server_is_not_a_server_of_tensorflow(monkeypatch):
  monkeypatch.setattr(master, '_ANSWER_SECS', 1)
  handler = http.server.BaseHTTPRequestHandler
  with http.server.HTTPServer(('127.0.0.1', 0), handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    target = 'grpc://127.0.0.1:%d' % server.server_port
    with pytest.raises(UserError, match=f'={target}: another program than a T'):
      count_in(Settings(master=target))
    server.shutdown()


@pytest.mark.parametrize('target, problem',
                         [('a:2222', 'expected grpc://host:port'),
                          ('grpc://', 'Could not interpret .*')])
def test_an_address_of_another_form_is_an_error(target, problem):
  with pytest.raises(UserError, match='^--master=%s: %s$' % (target, problem)):
    count_in(Settings(master=target))


@pytest.mark.slow
@pytest.mark.parametrize(
    'after, signal_number, problem',
    [('step 1,', signal.SIGKILL, '(--stall_secs), waiting for {target}. '),
     ('Model: ', signal.SIGSTOP, '--master={target}: no session within 5 s')])
def test_a_server_that_dies_ends_the_trainer(tmp_path, after, signal_number,
                                             problem):
  (address,) = clusters.free_addresses(1)
  script = processes.script(
      tmp_path, 'import tensorflow.compat.v1 as tf\n'
      f'server = tf.train.Server({{"worker": ["{address}"]}})\n'
      'print("It serves.", flush=True)\n'
      'server.join()\n')
  server = processes.start([script], stdout=processes.PIPE)
  trainer = None
  try:
    # A trainer that comes before it may wait too long for its first answer.
    assert server.stdout.readline() == 'It serves.\n'
    trainer = short_runs.start('cifar10_train', '--max_steps=100000',
                               '--batch_size=8', '--hidden_layers=8',
                               '--stall_secs=5', '--log_frequency=1',
                               '--master=grpc://%s' % address,
                               '--train_dir=%s' % (tmp_path / 'run'))
    assert any(after in line for line in trainer.stdout)
    server.send_signal(signal_number)
    _, err = trainer.communicate(timeout=120)
    assert (trainer.returncode, err.count('\n')) == (1, 1), err
    assert problem.format(target='grpc://%s' % address) in err
  finally:
    server.kill()
    server.wait()
    if trainer:
      trainer.kill()
