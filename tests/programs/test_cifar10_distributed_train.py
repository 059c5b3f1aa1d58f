"""Clusters: their arithmetic, and their faults, as real processes."""

from concurrent import futures
import dataclasses
import json
import os
from pathlib import Path
import shutil
import signal

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_distributed_train
from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10 import pipelines
from cifar10.errors import UserError
from cifar10.run import initial_values
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from tests import clusters
from tests import short_runs
from tests import synthetic_records

pytestmark = pytest.mark.slow


def saved(train_dir):
  """All variables of the newest checkpoint, by name."""
  return short_runs.values(checkpoints.latest(train_dir))


def check_computes_as_one_trainer(monkeypatch, tmp_path, single, **of_workers):
  """Compares steps 2 and 3 of one trainer with those of two workers.

  `single` are the Settings of the trainer; `of_workers` those that workers have
  in place of its. All train on the same images, worker 1 on those that follow
  worker 0's. Returns the folder of the cluster's run.
  """
  # Winograd's convolution rounds halves of a batch otherwise.
  single = dataclasses.replace(single, max_steps=3, save_steps=1, seed=1,
                               hidden_layers='8', conv='direct')
  images = np.random.RandomState(0).randn(32, 24, 24, 3).astype(np.float32)
  labels = np.arange(32, dtype=np.int32) % 10

  def part(config, data):
    del data
    begin = config.task_index * config.batch_size
    rows = slice(begin, begin + config.examples_per_machine)
    return tf.constant(images[rows]), tf.constant(labels[rows])

  monkeypatch.setattr(pipelines, 'distorted_inputs', part)
  cifar10_train.train(single)
  # The cluster begins at step 1.
  train_dir = str(tmp_path / 'cluster')
  os.mkdir(train_dir)
  for name in ('config.json', 'run_state.json', 'model.ckpt-1.*'):
    for path in (tmp_path / 'train').glob(name):
      shutil.copy(str(path), train_dir)
  checkpoint_files.set_newest(checkpoints.at_step(train_dir, 1))
  ps, *workers = clusters.free_addresses(3)
  tasks = [
      dataclasses.replace(single, train_dir=train_dir, ps_hosts=ps,
                          worker_hosts=','.join(workers), job_name=job,
                          task_index=index, summary_steps=1, **of_workers)
      for job, index in (('ps', 0), ('worker', 0), ('worker', 1))
  ]
  with futures.ThreadPoolExecutor() as pool:
    list(pool.map(cifar10_distributed_train.train, tasks))
  expected, found = saved(single.train_dir), saved(train_dir)
  assert found.keys() == expected.keys()
  assert found['global_step'] == expected['global_step'] == 3
  for name, value in expected.items():
    # The averaged losses of a cluster are those of the chief's own batches.
    if not name.endswith('/avg'):
      np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6,
                                 err_msg=name)
  return train_dir


def test_two_workers_compute_what_one_trainer_computes(tmp_path, monkeypatch):
  single = short_runs.small_config(tmp_path, batch_size=16,
                                   optimizer='nesterov', regularizer='l1_l2',
                                   max_norm=0.5, clip_norm_each=0.5,
                                   activation='prelu', schedule='power',
                                   normalization='none')
  train_dir = check_computes_as_one_trainer(monkeypatch, tmp_path, single,
                                            batch_size=8)
  staleness = short_runs.scalars(train_dir)['staleness']
  assert list(staleness.values()) == [0, 0]


def test_two_workers_with_half_a_model_each_compute_what_one_computes(
    tmp_path, monkeypatch):
  single = short_runs.small_config(tmp_path, batch_size=8)
  check_computes_as_one_trainer(monkeypatch, tmp_path, single,
                                model_parallelism='filters')


def test_half_a_model_is_on_each_worker_until_a_signal_or_a_kill(tmp_path):
  flags = ('--model_parallelism=filters', '--columns=2', '--save_steps=5',
           '--connect_timeout_secs=5', *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    servers, workers = cluster.start_all(6)
    workers[1].send_signal(signal.SIGTERM)
    assert clusters.wait(workers + servers) == [0, 0, 0]
    assert clusters.output(
        workers[1]) == ('Computing a part of the model of the chief, %s.\n'
                        'Stopped by SIGTERM.\n' % cluster.workers[0])
    assert 'from worker to worker' in clusters.output(workers[0])
    clusters.check_clean(servers + workers)
    at = int(saved(cluster.train_dir)['global_step'])
    # The last step may be one that the signal has kept from being taken.
    assert at in (clusters.steps(workers[0])[-1] + n for n in (0, 1))
    assert saved(cluster.train_dir)['conv2/weights'].shape == (5, 5, 32, 64)
    servers, workers = cluster.start_all(at + 1)
    workers[1].kill()
    assert clusters.wait(workers[:1]) == [1]
    assert ('worker %s has been out of reach' %
            cluster.workers[1]) in clusters.output(workers[0])


VALIDATION = ('--schedule=performance', '--validation_examples=20',
              '--validation_steps=3')


def check_end(cluster, metrics):
  """Lets a cluster of two workers take 6 steps, and checks what it leaves.

  Its flags are those of VALIDATION, and --metrics with the path `metrics`.
  Returns the workers and the variables of the last checkpoint.
  """
  servers, workers = cluster.start_all()
  assert clusters.wait(workers) == [0, 0]
  assert clusters.wait(servers) == [0] * len(servers)
  clusters.check_clean(cluster.processes)
  lines = [json.loads(line) for line in metrics.read_text().splitlines()]
  # The chief's alone.
  assert [line['step'] for line in lines] == clusters.steps(workers[0])
  assert 'validation precision @ 1 = ' in clusters.output(workers[0])
  assert 'validation precision' not in clusters.output(workers[1])
  return workers, saved(cluster.train_dir)


def test_a_cluster_in_step_trains_whitens_saves_and_ends(tmp_path):
  metrics = tmp_path / 'metrics'
  # The recipe's input is preloaded, its optimizer is Muon.
  flags = ('--max_steps=6', '--recipe=fast', '--batch_size=8',
           '--group_filters=4,8,8', '--metrics=%s' % metrics)
  with clusters.Cluster(tmp_path, 2, 2, *flags, *VALIDATION) as cluster:
    workers, values = check_end(cluster, metrics)
    # From the first to the last.
    assert clusters.steps(workers[0]) == list(range(6))
    assert clusters.steps(workers[1]) == list(range(6))
  assert values['global_step'] == 6
  # The filters of the images of the whole run.
  config = short_runs.small_config(tmp_path, validation_examples=20,
                                   image_size=32, standardization='fixed')
  images = initial_values._images(short_runs.prepared(config), config)
  expected = initial_values.whitening_filters(images, size=2)
  np.testing.assert_allclose(values['whitening/weights'], expected, rtol=1e-4,
                             atol=1e-5)


def test_an_async_cluster_trains_saves_and_ends(tmp_path, capsys):
  metrics = tmp_path / 'metrics'
  flags = ('--max_steps=6', '--nosync', '--input=tf_data',
           '--normalization=batch', '--normalize_logits', '--optimizer=adam',
           '--dropout=0.5', '--activation=rrelu', '--hidden_layers=8',
           '--conv=direct', '--metrics=%s' % metrics)
  with clusters.Cluster(tmp_path, 1, 2, *flags, *VALIDATION) as cluster:
    _, values = check_end(cluster, metrics)
  last = int(values['global_step'])
  assert 6 <= last <= 7
  for layer in ('conv1', 'softmax_linear'):
    mean = layer + '/batch_normalization/moving_mean'
    for name in (mean, mean + '/ExponentialMovingAverage'):
      assert (values[name] != 0).all()
  # One machine evaluates it, and goes on.
  config = short_runs.small_config(tmp_path, normalization='batch',
                                   normalize_logits=True, activation='rrelu',
                                   hidden_layers='8')
  cifar10_eval.evaluate(config)
  ((_, _, total,
    step),) = short_runs.PRECISION_LINE.findall(capsys.readouterr().out)
  assert (int(total), int(step)) == (500, last)
  cifar10_train.train(
      dataclasses.replace(config, max_steps=last + 2, validation_examples=20))
  assert short_runs.steps(capsys.readouterr().out) == [last, last + 1]


@pytest.mark.parametrize('name, value', [('early_stopping', 2),
                                         ('cache_frozen', True),
                                         ('master', 'grpc://a:1')])
def test_what_is_for_one_machine_is_refused(tmp_path, name, value):
  config = short_runs.small_config(tmp_path, ps_hosts='localhost:1',
                                   worker_hosts='localhost:2',
                                   job_name='worker', **{name: value})
  problem = '^--%s=%s: works outside of clusters only; leave it' % (name, value)
  with pytest.raises(UserError, match=problem):
    cifar10_distributed_train.train(config)


def test_a_frozen_server_is_named_and_the_cluster_resumes_until_a_signal(
    tmp_path,):
  flags = ('--connect_timeout_secs=5', '--save_steps=5',
           *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    servers, workers = cluster.start_all(12)
    servers[0].send_signal(signal.SIGSTOP)
    assert clusters.wait(workers, timeout=300) == [1, 1]
    servers[0].kill()
    servers[0].wait()
    for worker in workers:
      assert 'parameter server %s has been out of reach for 5 s' % (
          cluster.ps[0]) in clusters.output(worker)
    at = int(saved(cluster.train_dir)['global_step'])
    assert at >= 10
    servers, workers = cluster.start_all()
    clusters.wait_for_step(workers[1], at + 2)
    servers[0].send_signal(signal.SIGINT)
    # All end in step, and save.
    assert clusters.wait(servers + workers) == [0, 0, 0]
    assert clusters.steps(workers[0])[0] == at
    assert clusters.steps(workers[0]) == clusters.steps(workers[1])
    last = clusters.steps(workers[0])[-1] + 1
    assert int(saved(cluster.train_dir)['global_step']) == last
    assert 'Stopped by SIGINT' in clusters.output(servers[0])
    clusters.check_clean(servers + workers)


def test_a_parameter_server_that_comes_back_empty_is_an_error(tmp_path):
  flags = ('--nosync', '--save_steps=1000', '--connect_timeout_secs=10',
           *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 1, *flags) as cluster:
    servers, workers = cluster.start_all(5)
    servers[0].kill()
    servers[0].wait()
    again = cluster.start('ps', 0)
    assert clusters.wait([again] + workers) == [1, 1]
    out = clusters.output(workers[0])
    assert 'parameter server %s was restarted' % cluster.ps[0] in out
    assert 'The last steps are not saved' in out
    last = clusters.steps(workers[0])
    assert last == sorted(last)  # It has not gone on from step 0.


def test_without_a_worker_sync_names_it_and_saves(tmp_path):
  with clusters.Cluster(tmp_path, 1, 2, '--stall_secs=4',
                        *short_runs.SMALL_FLAGS) as cluster:
    servers, workers = cluster.start_all(3)
    workers[1].kill()
    assert clusters.wait([workers[0]], timeout=300) == [1]
    out = clusters.output(workers[0])
    assert 'waiting for worker 1 (%s)' % cluster.workers[1] in out
    step = int(saved(cluster.train_dir)['global_step'])
    assert step >= 4 and 'Step %d is saved' % step in out


def end_server(server):
  """Ends a parameter server whose workers have left or are dead."""
  server.send_signal(signal.SIGTERM)
  assert clusters.wait([server]) == [0]


def test_a_step_over_its_time_limit_is_named_and_the_last_saved(tmp_path):
  flags = ('--operation_timeout_ms=6000', '--connect_timeout_secs=8',
           *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    servers, workers = cluster.start_all(5)
    workers[1].send_signal(signal.SIGSTOP)
    assert clusters.wait(workers[:1]) == [1]
    workers[1].kill()
    assert clusters.wait(servers) == [1]
    last = clusters.steps(workers[0])[-1]
    assert clusters.output(workers[0]).count('error: ') == 1
    assert ('error: a step has taken longer than --operation_timeout_ms. '
            'Step %d is saved in ' % (last + 1)) in clusters.output(workers[0])
    assert int(saved(cluster.train_dir)['global_step']) == last + 1
    assert 'Traceback' not in clusters.output(workers[0])
    assert 'Traceback' not in clusters.output(servers[0])


def run_files(train_dir):
  """The bytes of the files of a run, but for the lock, by name."""
  files = Path(train_dir).iterdir()
  return {f.name: f.read_bytes() for f in files if f.name != '.lock'}


def kill(worker):
  """Kills a worker; returns the last step that it has printed."""
  assert worker.poll() is None
  worker.kill()
  worker.wait()  # Else it may still hold the lock of --train_dir.
  return clusters.steps(worker)[-1]


def test_tasks_started_again_join_and_go_on_and_overwrite_nothing(tmp_path):
  # A loss stands for a batch: the variables stay as they are.
  flags = ('--max_steps=80', '--save_steps=10', '--seed=1')
  flags += ('--learning_rate=0', '--regularizer=none', *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    server = cluster.start('ps', 0)
    chiefs = [cluster.start('worker', 0, '--overwrite')]
    workers = [cluster.start('worker', 1)]
    clusters.wait_for_step(workers[0], 8)
    seen = kill(workers[0])
    workers.append(cluster.start('worker', 1))
    clusters.wait_for_step(chiefs[0], max(12, seen + 5))
    assert clusters.steps(workers[1])[0] >= seen
    # The chief was not disturbed; then it is killed, and later again.
    seen = kill(chiefs[0])
    assert clusters.steps(chiefs[0]) == list(range(seen + 1))
    before = run_files(cluster.train_dir)
    assert 'model.ckpt-10.index' in before
    refused = cluster.start('worker', 0, '--overwrite')
    assert clusters.wait([refused]) == [1]
    assert 'error: --overwrite: the parameter servers (' in (
        clusters.output(refused))
    assert run_files(cluster.train_dir) == before
    chiefs.append(cluster.start('worker', 0))
    clusters.wait_for_step(chiefs[1], seen + 9)
    # Not from the checkpoint: the servers hold what was learned since.
    assert clusters.steps(chiefs[1])[0] >= seen
    seen = kill(chiefs[1])
    chiefs.append(cluster.start('worker', 0))
    last = [server, chiefs[2], workers[1]]
    assert clusters.wait(last) == [0, 0, 0]
    # Not a step is lost, even without the chief.
    begun = clusters.steps(workers[1])[0]
    assert clusters.steps(workers[1]) == list(range(begun, 80))
    assert clusters.steps(chiefs[2])[0] >= seen
    assert clusters.steps(chiefs[2])[-1] == 79
    # And no task has seen its first images again.
    first = [tuple(clusters.losses(task)[:8]) for task in chiefs + workers]
    assert len(set(first)) == len(first) == 5
    assert int(saved(cluster.train_dir)['global_step']) == 80
    clusters.check_clean(last)


def test_backup_workers_are_not_waited_for(tmp_path):
  flags = ('--backup_workers=1', '--max_steps=60', '--stall_secs=20',
           *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    servers, workers = cluster.start_all(3)
    workers[1].kill()
    assert clusters.wait(workers[:1]) == [0]
    assert int(saved(cluster.train_dir)['global_step']) >= 60
    end_server(servers[0])


def test_async_goes_on_without_a_worker_and_the_chief_comes_back(tmp_path):
  # Without a last step: no worker ends before the chief is back.
  flags = ('--nosync', '--save_steps=1000000', *short_runs.SMALL_FLAGS)
  with clusters.Cluster(tmp_path, 1, 3, *flags) as cluster:
    servers, workers = cluster.start_all()
    for worker in workers:
      clusters.wait_for_step(worker, 5)
    workers[2].kill()
    workers[0].kill()
    workers[0].wait()
    seen = clusters.steps(workers[1])[-1]
    chief = cluster.start('worker', 0)
    clusters.wait_for_step(chief, seen)
    # What was learned meanwhile is not lost: it resumes from there.
    assert clusters.steps(chief)[0] > seen
    chief.send_signal(signal.SIGTERM)
    assert clusters.wait([workers[1], chief]) == [0, 0]
    end_server(servers[0])
    last = clusters.steps(chief)[-1]
    found = checkpoints.by_step(cluster.train_dir)
    assert max(found) > last
    # The others step on while it saves.
    assert all(checkpoints.step(path) == step for step, path in found.items())


def test_workers_that_differ_are_named_and_hear_of_the_error_of_the_chief(
    tmp_path,):
  for name, size in (('a', 32), ('b', 40)):
    synthetic_records.make_images_of_size(tmp_path / name, size)
  flags = ['--dataset=cifar10', '--connect_timeout_secs=30', '--save_steps=5']
  flags += short_runs.SMALL_FLAGS
  with clusters.Cluster(tmp_path, 1, 2, *flags) as cluster:
    data, other_data = ('--data_dir=%s' % (tmp_path / name) for name in 'ab')
    server = cluster.start('ps', 0)
    chief = cluster.start('worker', 0, data)
    hosts = '--worker_hosts=' + ','.join(cluster.workers + ['127.0.0.1:9'])
    for problem, *flags in (
        ('--batch_size is 7 here, but 4 in the chief', data, '--batch_size=7'),
        ('the cluster is --ps_hosts=', data, hosts, '--nosync'),
        ('found images of 40 x 40 x 3; the model was trained on 32 x 32',
         other_data)):  # yapf: disable
      different = cluster.start('worker', 1, *flags)
      assert clusters.wait([different]) == [1]
      assert problem in clusters.output(different)
    worker = cluster.start('worker', 1, data)
    clusters.wait_for_step(chief, 2)
    # Nothing can be saved: the directory is a file.
    os.rename(cluster.train_dir, cluster.train_dir + '.away')
    with open(cluster.train_dir, 'w'):
      pass
    assert clusters.wait([chief, worker, server]) == [1, 1, 1]
    problem = '%s: a checkpoint cannot be written' % cluster.train_dir
    assert problem in clusters.output(chief)
    told = 'the chief (%s) has ended with an error: ' % cluster.workers[0]
    assert told in clusters.output(worker)
    assert told[:-2] in clusters.output(server)
    for task in (chief, worker, server):
      assert 'Traceback' not in clusters.output(task)
