"""Ensembles: means of probabilities, in one graph and between processes."""

import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from cifar10 import cifar10_eval
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import ensemble_processes
from cifar10.infer import precision
from cifar10.infer import predictions
from cifar10.settings import Settings
from cifar10.store import config as config_lib
from tests import short_runs
from tests import synthetic_records
from tests.infer import random_models

pytestmark = pytest.mark.slow

CIFAR10 = datasets.in_folder('nowhere')
FORMS = ['graph', 'processes']
KINDS = [(1, 'full'), (2, 'full'), (3, 'local')]  # Seeds and top layers.


@pytest.fixture(scope='module')
def folders(tmp_path_factory):
  """Three folders with a checkpoint each, and the values of its variables."""
  found = {}
  for seed, top_layers in KINDS:
    folder = tmp_path_factory.mktemp('network')
    _, values = random_models.save(folder, CIFAR10, top_layers, seed=seed)
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


@pytest.mark.parametrize('averages', [True, False])
@pytest.mark.parametrize('form', FORMS)
def test_the_answer_is_the_mean_of_all_networks(folders, form, averages):
  records = synthetic_records.make_records(np.arange(9))
  suffix = random_models.AVERAGE if averages else ''
  expected = [
      random_models.probabilities(records, CIFAR10, values, suffix, top_layers)
      for values, (_, top_layers) in zip(folders.values(), KINDS)
  ]
  # The networks differ.
  assert abs(expected[0] - expected[1]).max() > 0.01
  with loaded(folders, form, use_moving_averages=averages) as networks:
    assert networks.folders == list(folders)
    assert networks.classes == CIFAR10.classes
    answers = networks.answers(records)
    first = networks.probabilities(records[:1])
  for i, probabilities in enumerate(expected):
    np.testing.assert_allclose(answers.by_network[i], probabilities, rtol=1e-4,
                               atol=1e-6)
  mean = np.mean(expected, axis=0)
  np.testing.assert_allclose(answers.mean, mean, rtol=1e-4, atol=1e-6)
  np.testing.assert_allclose(first, mean[:1], rtol=1e-4, atol=1e-6)


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


@pytest.mark.parametrize('form', FORMS)
def test_the_program_prints_each_network_and_the_ensemble(
    folders, tmp_path, form):
  two = list(folders)[:2]
  flags = ['--checkpoint_dir=' + folder for folder in two]
  flags += ['--ensemble=' + form, '--batch_size=300']
  flags += ['--metrics=%s' % (tmp_path / 'metrics')]
  status, out, err = short_runs.run('cifar10_eval', *flags)
  assert (status, err) == (0, '')
  lines = out.splitlines()
  assert len(lines) == 3
  for folder, line in zip(two, lines):
    assert line.startswith(folder + ': precision @ 1 = ')
    assert line.endswith(' / 500)')
  assert ' / 500) on test images, ensemble of 2 networks' in lines[2]
  values = json.loads((tmp_path / 'metrics').read_text())
  assert [n['checkpoint_dir'] for n in values['networks']] == two
  # The same as evaluated one by one.
  for network in values['networks']:
    folder = network['checkpoint_dir']
    _, alone, _ = short_runs.run('cifar10_eval', '--checkpoint_dir=' + folder,
                                 '--run_once', '--json',
                                 '--eval_dir=%s' % (tmp_path / 'eval'))
    assert json.loads(alone)['correct'] == network['correct']


def processes_of(networks):
  return list(networks._processes.values())


def test_one_network_may_be_lost_and_the_rest_still_answers(folders, capfd):
  records = synthetic_records.make_records(np.arange(5))
  with loaded(folders, 'processes') as networks:
    before = networks.answers(records)
    first, second, third = processes_of(networks)
    os.kill(second.pid, signal.SIGKILL)
    after = networks.answers(records)
    assert set(after.by_network) == {0, 2}
    np.testing.assert_array_equal(after.by_network[2], before.by_network[2])
    np.testing.assert_allclose(
        after.mean, (before.by_network[0] + before.by_network[2]) / 2,
        rtol=1e-6)
    assert capfd.readouterr().err == (
        'WARNING: %s: this network is lost; 2 of 3 are left.\n' %
        list(folders)[1])
    for process in (first, third):
      os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(UserError, match='^all 3 networks are lost$'):
      networks.answers(records)


def test_a_network_that_ends_while_others_start_is_named(folders, monkeypatch):
  two, children = list(folders)[:2], []
  get = ensemble_processes._Queue.get

  def lose_the_first(queue, timeout_secs):
    if not children:
      children.extend(
          sorted(multiprocessing.active_children(),
                 key=lambda child: child.pid))
      os.kill(children[1].pid, signal.SIGSTOP)  # Not ready for long.
    message = get(queue, timeout_secs)
    if message[0] == ensemble_processes._READY and message[1] == 0:
      os.kill(children[0].pid, signal.SIGKILL)
    if message[0] == ensemble_processes._LOST:
      os.kill(children[1].pid, signal.SIGCONT)
    return message

  monkeypatch.setattr(ensemble_processes._Queue, 'get', lose_the_first)
  with pytest.raises(UserError, match=two[0] + ': this network ended before'):
    with loaded(two, 'processes'):
      pass


def test_a_network_that_hangs_is_not_waited_for(folders, monkeypatch):
  records = synthetic_records.make_records(np.arange(5))
  with loaded(folders, 'processes') as networks:
    networks.answers(records)
    monkeypatch.setattr(ensemble_processes, '_ANSWER_SECS', 3)
    os.kill(processes_of(networks)[0].pid, signal.SIGSTOP)
    assert set(networks.answers(records).by_network) == {1, 2}
    assert set(networks.answers(records).by_network) == {1, 2}


def test_no_process_and_no_thread_is_left(folders, capfd):
  threads = set(threading.enumerate())
  with loaded(folders, 'processes') as networks:
    processes = processes_of(networks)
    assert all(process.is_alive() for process in processes)
  assert not any(process.is_alive() for process in processes)
  assert set(threading.enumerate()) == threads
  assert not multiprocessing.active_children()
  assert capfd.readouterr().err == ''


KILLED = """
import sys
from tests.infer import test_ensemble
if __name__ == '__main__':
  with test_ensemble.loaded(sys.argv[1:], 'processes') as networks:
    print([p.pid for p in test_ensemble.processes_of(networks)], flush=True)
    sys.stdin.read()
"""


def test_networks_end_when_their_parent_is_killed(folders, tmp_path):
  script = tmp_path / 'killed.py'
  script.write_text(KILLED)
  parent = subprocess.Popen(
      [sys.executable, str(script), *folders], stdin=subprocess.PIPE,
      stdout=subprocess.PIPE, cwd=str(short_runs.ROOT),
      env=dict(os.environ, PYTHONPATH=str(short_runs.ROOT)))
  pids = json.loads(parent.stdout.readline())
  parent.kill()
  parent.wait()
  deadline = time.time() + 30
  while any(os.path.exists('/proc/%d' % pid) for pid in pids):
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
  networks = (config.networks[0], wrong)
  with pytest.raises(UserError) as info:
    with ensemble.loaded(dataclasses.replace(config, networks=networks)):
      pass
  text = str(info.value) + capfd.readouterr().err
  assert 'model.ckpt-7' in text and 'Traceback' not in text


@pytest.mark.parametrize('form', FORMS)
def test_pictures_are_labeled_by_the_mean(folders, tmp_path, form):
  image = pytest.importorskip('PIL.Image')
  path = tmp_path / 'picture.png'
  image.effect_noise((32, 32), 90).convert('RGB').save(str(path))

  def answer(*some):
    flags = ['--checkpoint_dir=' + folder for folder in some]
    flags += ['--ensemble=' + form, '--json', str(path)]
    _, out, _ = short_runs.run('cifar10_predict', *flags)
    return json.loads(out)['probabilities']

  first, second, _ = folders
  both, alone = answer(first, second), (answer(first), answer(second))
  for name, probability in both.items():
    mean = (alone[0][name] + alone[1][name]) / 2
    assert abs(probability - mean) < 1e-5


def test_networks_take_the_settings_of_their_own_runs(tmp_path):
  # The second run is of another model, which its config.json says.
  for name, model in (('a', 'full'), ('b', 'local')):
    folder = tmp_path / name
    folder.mkdir()
    random_models.save(folder, CIFAR10, model)
    config_lib.save(Settings(top_layers=model, dataset='sample'), str(folder))
  status, out, err = short_runs.run('cifar10_eval',
                                    '--checkpoint_dir=%s' % (tmp_path / 'a'),
                                    '--checkpoint_dir=%s' % (tmp_path / 'b'))
  assert (status, err) == (0, '')
  assert out.endswith('ensemble of 2 networks\n')


@pytest.mark.parametrize('form', FORMS)
def test_networks_may_see_images_of_other_sizes(folders, form):
  # 21 to 24 pixels become 6 x 6 before the layers on top.
  records = synthetic_records.make_records(np.arange(5))
  first, second = list(folders)[:2]
  networks = [
      Settings(checkpoint_dir=first),
      Settings(checkpoint_dir=second, image_size=22)
  ]
  alone = []
  for network in networks:
    config = dataclasses.replace(network, networks=(network,), ensemble='graph')
    with ensemble.loaded(config) as one:
      alone.append(one.probabilities(records))
  config = dataclasses.replace(networks[0], networks=tuple(networks),
                               ensemble=form)
  with ensemble.loaded(config) as both:
    found = both.probabilities(records)
  np.testing.assert_allclose(found, sum(alone) / 2, atol=1e-5)


def test_what_an_ensemble_does_not_do_is_refused(folders, tmp_path):
  config = config_of(folders, 'graph', dataset='sample', top_k=3)
  with pytest.raises(UserError, match='--top_k=3: of an ensemble'):
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
