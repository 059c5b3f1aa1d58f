"""Ensembles: means of probabilities, in one graph and between processes."""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from unittest import mock

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_eval
from cifar10 import cifar10_predict
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import ensemble_processes
from cifar10.infer import precision
from cifar10.infer import predictions
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from tests import processes
from tests import short_runs
from tests import synthetic_records
from tests.infer import random_models

pytestmark = pytest.mark.slow

CIFAR10 = datasets.in_folder('nowhere')
FORMS = ['graph', 'processes']
KINDS = [(1, 'full'), (2, 'full'), (3, 'local')]  # Seeds and top layers.


@pytest.fixture(scope='module')
def folders(tmp_path_factory):
  """Three folders of runs, and the values of the variables of each."""
  found = {}
  for seed, top_layers in KINDS:
    folder = tmp_path_factory.mktemp('network')
    _, values = random_models.save(folder, CIFAR10, top_layers, seed=seed)
    settings = Settings(top_layers=top_layers, dataset='sample')
    config_lib.save(settings, str(folder))
    found[str(folder)] = values
  return found


def config_of(folders, form, **settings):
  """The Config of an ensemble, as the programs make it of their flags."""
  networks = [
      Settings(checkpoint_dir=folder, top_layers=top_layers, **settings)
      for folder, (_, top_layers) in zip(folders, KINDS)
  ]
  return dataclasses.replace(networks[0], networks=tuple(networks),
                             ensemble=form)


def loaded(folders, form, **settings):
  config = config_of(folders, form, **settings)
  return ensemble.loaded(config)


def unlike(folders, form):
  """The Config of an ensemble of networks of settings that differ."""
  config = config_of(folders, form)
  first, second, third = config.networks
  # 21 to 24 pixels become 6 x 6 before the layers on top.
  second = dataclasses.replace(second, image_size=22)
  third = dataclasses.replace(third, use_moving_averages=False)
  return dataclasses.replace(config, networks=(first, second, third))


@pytest.fixture(scope='module')
def expected(folders):
  """Records, and what each network of `unlike` finds for them."""
  records = synthetic_records.make_records(np.arange(9))
  first, _, third = folders.values()
  _, second, _ = unlike(folders, 'graph').networks
  second = predictions.Network(second, checkpoints.find(second.checkpoint_dir))
  with contextlib.closing(predictions.Predictor(CIFAR10, second)) as predictor:
    found = [
        random_models.probabilities(records, CIFAR10, first,
                                    random_models.AVERAGE),
        predictor.probabilities(records),
        random_models.probabilities(records, CIFAR10, third, '', 'local')
    ]
  # The networks differ.
  assert abs(found[0] - found[1]).max() > 0.01
  assert abs(found[0] - found[2]).max() > 0.01
  return records, found


def check_mean(networks, folders, expected):
  """Checks an ensemble of `unlike`; returns its Answers."""
  records, by_network = expected
  assert networks.folders == list(folders)
  assert networks.classes == CIFAR10.classes
  assert networks.layout == CIFAR10.layout
  answers = networks.answers(records)
  for i, probabilities in enumerate(by_network):
    np.testing.assert_allclose(answers.by_network[i], probabilities, rtol=1e-4,
                               atol=1e-6)
  mean = np.mean(by_network, axis=0)
  np.testing.assert_allclose(answers.mean, mean, rtol=1e-4, atol=1e-6)
  first = networks.probabilities(records[:1])
  np.testing.assert_allclose(first, mean[:1], rtol=1e-4, atol=1e-6)
  return answers


def test_the_answer_is_the_mean_of_all_networks(folders, expected):
  with ensemble.loaded(unlike(folders, 'graph')) as networks:
    check_mean(networks, folders, expected)


def processes_of(networks):
  return list(networks._processes.values())


def test_one_process_may_be_lost_and_the_rest_still_answers(
    folders, expected, capfd):
  records, _ = expected
  threads = set(threading.enumerate())
  with ensemble.loaded(unlike(folders, 'processes')) as networks:
    started = processes_of(networks)
    assert all(process.is_alive() for process in started)
    before = check_mean(networks, folders, expected)
    assert capfd.readouterr().err.count('Model: ') == 3
    os.kill(started[1].pid, signal.SIGKILL)
    after = networks.answers(records)
    assert set(after.by_network) == {0, 2}
    np.testing.assert_array_equal(after.by_network[2], before.by_network[2])
    np.testing.assert_allclose(
        after.mean, (before.by_network[0] + before.by_network[2]) / 2,
        rtol=1e-6)
    assert capfd.readouterr().err == (
        'WARNING: %s: this network is lost; 2 of 3 are left.\n' %
        list(folders)[1])
    assert started[0].is_alive() and started[2].is_alive()
  # No process and no thread is left.
  assert not any(process.is_alive() for process in started)
  assert set(threading.enumerate()) == threads
  assert not multiprocessing.active_children()
  assert capfd.readouterr().err == ''


def test_a_process_that_hangs_is_not_waited_for(folders, monkeypatch):
  records = synthetic_records.make_records(np.arange(5))
  with loaded(list(folders)[:2], 'processes') as networks:
    first, second = processes_of(networks)
    networks.answers(records)
    monkeypatch.setattr(ensemble_processes, '_ANSWER_SECS', 3)
    os.kill(first.pid, signal.SIGSTOP)
    assert set(networks.answers(records).by_network) == {1}
    assert set(networks.answers(records).by_network) == {1}
    os.kill(second.pid, signal.SIGKILL)
    with pytest.raises(UserError, match='^all 2 networks are lost$'):
      networks.answers(records)


def test_ctrl_c_ends_it_though_a_process_hangs(folders):
  records = synthetic_records.make_records(np.arange(5))
  with loaded(list(folders)[:2], 'processes') as networks:
    os.kill(processes_of(networks)[0].pid, signal.SIGSTOP)
    ctrl_c = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    ctrl_c.start()
    try:
      with pytest.raises(KeyboardInterrupt):
        networks.answers(records)
    finally:
      ctrl_c.cancel()
    # It has not waited until the first one counts as lost.
    assert len(processes_of(networks)) == 2


class Oracle:
  """An ensemble of two whose second network is lost after a batch of 4."""

  def __init__(self, labels):
    self.layout, self.folders = records_lib.Layout(), ['a', 'b']
    self._right, self._batches = np.eye(10)[labels], 0

  def answers(self, records):
    right = self._right[self._batches:self._batches + len(records)]
    self._batches += len(records)
    by_network = {0: np.roll(right, 1, axis=1) * 0.4, 1: right * 0.6}
    if self._batches > 4:
      del by_network[1]
    mean = np.mean(list(by_network.values()), axis=0)
    return predictions.Answers(mean, by_network)


def test_each_network_counts_for_what_it_has_labeled(tmp_path):
  labels = np.arange(10)
  path = tmp_path / 'records.bin'
  path.write_bytes(synthetic_records.make_records(labels).tobytes())
  counts = ensemble.evaluate(Oracle(labels), [str(path)], 4)
  assert counts == ensemble.Counts(4, 10, ((0, 10), (4, 4)))


def test_the_program_prints_each_network_and_the_ensemble(
    folders, tmp_path, capsys, monkeypatch):
  # A proxy that is gone: networks in processes do not ask it.
  monkeypatch.setenv('http_proxy', 'http://127.0.0.1:1')
  # The third is of another model, which its config.json says.
  config = config_of(folders, 'graph', dataset='sample', run_once=True,
                     json=True, eval_dir=str(tmp_path / 'eval'))
  alone = [config.networks[0], config.networks[2]]
  two = [network.checkpoint_dir for network in alone]
  correct = []
  for network in alone:
    cifar10_eval.evaluate(network)
    correct.append(json.loads(capsys.readouterr().out)['correct'])
  for form in FORMS:
    metrics = tmp_path / form
    flags = ['--checkpoint_dir=' + folder for folder in two]
    flags += ['--ensemble=' + form, '--batch_size=300']
    flags += ['--metrics=%s' % metrics]
    status, out, err = short_runs.run('cifar10_eval', *flags)
    assert (status, processes.without_model(err)) == (0, '')
    assert err.count('Model: ') == 2
    lines = out.splitlines()
    assert len(lines) == 3
    for folder, line in zip(two, lines):
      assert line.startswith(folder + ': precision @ 1 = ')
      assert line.endswith(' / 500)')
    assert ' / 500) on test images, ensemble of 2 networks' in lines[2]
    values = json.loads(metrics.read_text())
    assert [n['checkpoint_dir'] for n in values['networks']] == two
    # The same as evaluated one by one.
    assert [n['correct'] for n in values['networks']] == correct


def test_a_network_that_ends_while_others_start_is_named(folders, monkeypatch):
  two, children = list(folders)[:2], []
  get = ensemble_processes._Queue.get
  collect = ensemble_processes.Processes._collect

  def collect_late(networks, number):
    children.extend(processes_of(networks))
    os.kill(children[1].pid, signal.SIGSTOP)  # Not ready for long.
    return collect(networks, number)

  def lose_the_first(queue):
    message = get(queue)
    if message[0] == ensemble_processes._READY and message[1] == 0:
      os.kill(children[0].pid, signal.SIGKILL)
    if message[0] == ensemble_processes._LOST and message[1] == 0:
      os.kill(children[1].pid, signal.SIGCONT)
    return message

  monkeypatch.setattr(ensemble_processes.Processes, '_collect', collect_late)
  monkeypatch.setattr(ensemble_processes._Queue, 'get', lose_the_first)
  with pytest.raises(UserError, match=two[0] + ': this network ended before'):
    with loaded(two, 'processes'):
      pass


def test_an_error_of_a_network_is_told(monkeypatch, capfd):
  network = mock.Mock()
  network.probabilities.side_effect = tf.errors.ResourceExhaustedError(
      None, None, 'no memory')
  queue = mock.Mock()
  queue.get.return_value = 0, b''
  monkeypatch.setattr(predictions, 'Predictor', lambda *_: network)
  monkeypatch.setattr(ensemble_processes, '_Queue', lambda *_: queue)
  monkeypatch.setattr(signal, 'signal', lambda *_: None)
  monkeypatch.setattr(sys, 'argv', ['eval'])
  with pytest.raises(SystemExit) as info:
    ensemble_processes._compute(os.getppid(), '', CIFAR10,
                                predictions.Network(Settings()), 1)
  assert info.value.code == 1
  assert capfd.readouterr().err == 'network 1: error: no memory\n'


KILLED = """
import sys
if __name__ == '__main__':
  sys.path.insert(0, sys.argv[1])
  from tests.infer import test_ensemble
  with test_ensemble.loaded(sys.argv[2:], 'processes') as networks:
    print([p.pid for p in test_ensemble.processes_of(networks)], flush=True)
    sys.stdin.read()
"""


def test_a_process_ends_when_its_parent_is_killed(folders, tmp_path):
  script = tmp_path / 'killed.py'
  script.write_text(KILLED)
  command = [str(script), short_runs.ROOT, *list(folders)[:1]]
  parent = processes.start(command, stdin=processes.PIPE, stdout=processes.PIPE)
  (pid,) = json.loads(parent.stdout.readline())
  parent.kill()
  parent.wait()
  deadline = time.time() + 30
  while os.path.exists('/proc/%d' % pid):
    assert time.time() < deadline
    time.sleep(0.1)
  parent.communicate()


def test_what_cannot_be_an_ensemble_is_named(folders, tmp_path):
  with pytest.raises(UserError, match='nothing: holds no checkpoint'):
    with loaded([*list(folders)[:1], str(tmp_path / 'nothing')], 'graph'):
      pass
  other = random_models.own_data(tmp_path)
  random_models.save(tmp_path, other)
  config = config_of(folders, 'graph')
  third = Settings(checkpoint_dir=str(tmp_path), data_dir=str(tmp_path))
  networks = config.networks[:2] + (third,)
  with pytest.raises(UserError, match='has other classes or images than'):
    with ensemble.loaded(dataclasses.replace(config, networks=networks)):
      pass


@pytest.mark.parametrize('form', FORMS)
def test_a_network_of_another_model_is_an_error(folders, form, capfd):
  config = config_of(folders, form)
  wrong = dataclasses.replace(config.networks[1], top_layers='local')
  networks = (config.networks[0], wrong) if form == 'graph' else (wrong,)
  with pytest.raises(UserError) as info:
    with ensemble.loaded(dataclasses.replace(config, networks=networks)):
      pass
  text = str(info.value) + capfd.readouterr().err
  assert 'model.ckpt-7' in text and 'Traceback' not in text


def test_pictures_are_labeled_by_the_mean(folders, tmp_path, capsys):
  image = pytest.importorskip('PIL.Image')
  path = tmp_path / 'picture.png'
  image.effect_noise((32, 32), 90).convert('RGB').save(str(path))
  first, _, third = config_of(folders, 'graph', json=True).networks
  alone = []
  for network in (first, third):
    cifar10_predict.predict(network, [str(path)])
    alone.append(json.loads(capsys.readouterr().out)['probabilities'])
  flags = ['--checkpoint_dir=' + n.checkpoint_dir for n in (first, third)]
  flags.append('--ensemble=processes')
  _, out, _ = short_runs.run('cifar10_predict', '--json', str(path), *flags)
  both = json.loads(out)['probabilities']
  assert set(both) == set(CIFAR10.classes)
  for name, probability in both.items():
    mean = (alone[0][name] + alone[1][name]) / 2
    assert abs(probability - mean) < 1e-5


def test_what_an_ensemble_does_not_do_is_refused(folders, tmp_path):
  config = config_of(folders, 'graph', dataset='sample', top_k=3)
  with pytest.raises(UserError, match='--top_k=3: an ensemble is'):
    cifar10_eval.evaluate(config)
  (tmp_path / 'saved_model.pb').write_bytes(b'')
  with pytest.raises(UserError, match='is an export; expected the --train_di'):
    with loaded([str(tmp_path)], 'graph'):
      pass


def test_the_last_line_says_how_many_were_lost(folders, capsys):
  config = config_of(folders, 'processes', tta=True)
  counts = ensemble.Counts(4, 10, ((0, 10), (4, 4)))
  precision.report_ensemble(counts, ['a', 'b'], config, sys.stdout)
  last = capsys.readouterr().out.splitlines()[-1]
  assert last.endswith(
      'precision @ 1 = 0.400 (4 / 10) on test images, ensemble of 2 networks, '
      '1 of them lost on the way, mirrored and shifted copies')


def test_a_missing_network_is_named_before_anything_is_fetched(
    folders, tmp_path, monkeypatch):
  config = config_of(folders, 'graph')
  lost = Settings(checkpoint_dir=str(tmp_path))
  monkeypatch.setattr(datasets, 'prepare', None)
  with pytest.raises(UserError, match='holds no checkpoint'):
    cifar10_eval.evaluate(
        dataclasses.replace(config, networks=config.networks[:1] + (lost,)))


def test_what_is_missing_is_fetched_before_the_networks_are_loaded(
    folders, monkeypatch):

  def fetch(settings):
    raise KeyError('fetched')

  monkeypatch.setattr(datasets, 'prepare', fetch)
  monkeypatch.setattr(ensemble, 'loaded', None)
  with pytest.raises(KeyError, match='fetched'):
    cifar10_eval.evaluate(config_of(folders, 'graph'))
