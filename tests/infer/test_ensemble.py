"""Ensembles: means of probabilities, in one graph and between processes."""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import signal
import socket
import sys
import threading

import numpy as np
import pytest

from cifar10 import cifar10_eval
from cifar10.data import datasets
from cifar10.data import records as records_lib
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import precision
from cifar10.infer import predictions
from cifar10.settings import Settings
from cifar10.store import checkpoints
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
  # More than a pipe holds that nobody reads.
  records = synthetic_records.make_records(np.arange(70) % 10)
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
  assert found[1].dtype == np.float32
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
  with contextlib.closing(ensemble.load(unlike(folders, 'graph'))) as networks:
    check_mean(networks, folders, expected)


def processes_of(networks):
  return list(networks._processes.values())


def test_processes_may_be_lost_and_the_rest_still_answers(
    folders, expected, capfd, monkeypatch):
  records, _ = expected
  threads = set(threading.enumerate())
  with contextlib.closing(ensemble.load(unlike(folders,
                                               'processes'))) as networks:
    first, second, third = processes_of(networks)
    before = check_mean(networks, folders, expected)
    assert capfd.readouterr().err.count('Model: ') == 3
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
    # One hangs: Ctrl-C does not wait until it counts as lost.
    os.kill(first.pid, signal.SIGSTOP)
    ctrl_c = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    ctrl_c.start()
    with pytest.raises(KeyboardInterrupt):
      networks.answers(records)
    assert processes_of(networks) == [first, third]
    monkeypatch.setattr(ensemble, '_ANSWER_SECS', 5)
    assert set(networks.answers(records[:3]).by_network) == {2}
    # One ends in the middle of an answer.
    networks._pipes[2], theirs = multiprocessing.Pipe()
    os.write(theirs.fileno(), b'\0\0\0\x09half')
    with socket.socket(fileno=os.dup(theirs.fileno())) as end:
      end.shutdown(socket.SHUT_WR)
    with pytest.raises(UserError, match='^all 3 networks are lost$'):
      networks.answers(records[:3])
  # No process and no thread is left.
  assert not multiprocessing.active_children()
  assert threads.issuperset(t for t in threading.enumerate() if t is not ctrl_c)


def test_each_network_counts_for_what_it_has_labeled(capsys):
  labels = np.arange(10)
  right = np.eye(10)[labels]

  class Oracle:
    """An ensemble of two whose second network is lost after a batch of 4."""
    layout, folders, asked = records_lib.Layout(), ['a', 'b'], 0

    def answers(self, records):
      of_batch = right[self.asked:self.asked + len(records)]
      self.asked += len(records)
      by_network = {0: np.roll(of_batch, 1, axis=1) * 0.4, 1: of_batch * 0.6}
      if self.asked > 4:
        del by_network[1]
      mean = np.mean(list(by_network.values()), axis=0)
      return predictions.Answers(mean, by_network)

  records = synthetic_records.make_records(labels)
  count, by_network = ensemble.count_right(Oracle(), records, 4)
  assert (count, by_network) == (4, [('a', 0, 10), ('b', 4, 4)])
  precision.report_ensemble(count, 10, by_network, Settings(tta=True),
                            sys.stdout)
  first, second, last = capsys.readouterr().out.splitlines()
  assert first == 'a: precision @ 1 = 0.000 (0 / 10)'
  assert second == 'b: precision @ 1 = 1.000 (4 / 4)'
  assert last.endswith(
      'precision @ 1 = 0.400 (4 / 10) on test images, ensemble of 2 networks, '
      '1 of them lost on the way, mirrored and shifted copies')


def test_the_program_prints_each_network_and_the_ensemble(
    folders, tmp_path, capsys):
  # The third is of another model, which its config.json says.
  synthetic_records.make_folder(tmp_path, per_file=50)
  config = config_of(folders, 'graph', dataset='cifar10',
                     data_dir=str(tmp_path), run_once=True, json=True,
                     eval_dir=str(tmp_path / 'eval'))
  alone = [config.networks[0], config.networks[2]]
  two = [network.checkpoint_dir for network in alone]
  correct = []
  for network in alone:
    cifar10_eval.evaluate(network)
    correct.append(json.loads(capsys.readouterr().out)['correct'])
  for form in FORMS:
    metrics = tmp_path / form
    flags = ['--checkpoint_dir=' + folder for folder in two]
    flags += ['--ensemble=' + form, '--batch_size=30']
    flags += ['--dataset=cifar10', '--data_dir=%s' % tmp_path]
    flags += ['--metrics=%s' % metrics]
    out = short_runs.output('cifar10_eval', *flags, errors=2 * r'Model: .*\n')
    warning, *each, last = out.splitlines()
    assert '250 training and 50 test records' in warning
    assert [line.split(': precision @ 1 = ')[0] for line in each] == two
    assert ' / 50) on test images, ensemble of 2 networks' in last
    values = json.loads(metrics.read_text())
    assert [n['checkpoint_dir'] for n in values['networks']] == two
    # The same as evaluated one by one.
    assert [n['correct'] for n in values['networks']] == correct


def with_second(config, second):
  return dataclasses.replace(config, networks=(config.networks[0], second))


def test_what_cannot_be_an_ensemble_is_named(folders, tmp_path, monkeypatch):
  config = config_of(folders, 'graph', dataset='sample')
  other = str(tmp_path)
  random_models.save(tmp_path, random_models.own_data(tmp_path))
  with pytest.raises(UserError, match='has other classes or images than'):
    ensemble.load(
        with_second(config, Settings(checkpoint_dir=other, data_dir=other)))
  (tmp_path / 'saved_model.pb').write_bytes(b'')
  monkeypatch.setattr(datasets, 'prepare', None)  # Nothing is fetched before.
  for wrong, problem in ((with_second(config, Settings(checkpoint_dir=other)),
                          'is an export; expected the --train_dir'),
                         (dataclasses.replace(config, top_k=3),
                          '--top_k=3: an ensemble is')):
    with pytest.raises(UserError, match=problem):
      cifar10_eval.evaluate(wrong)


def test_a_network_that_loads_slowly_has_not_ended(folders, monkeypatch):
  monkeypatch.setattr(ensemble, '_ANSWER_SECS', 0)
  with pytest.raises(UserError, match='has not loaded within 0 s'):
    ensemble.load(config_of(folders, 'processes'))


@pytest.mark.parametrize('form', FORMS)
def test_a_network_of_another_model_is_an_error(folders, form, capfd):
  config = config_of(folders, form)
  wrong = dataclasses.replace(config.networks[1], top_layers='local')
  with pytest.raises(UserError) as info:
    ensemble.load(with_second(config, wrong))
  text = str(info.value) + capfd.readouterr().err
  assert 'model.ckpt-7' in text and 'Traceback' not in text
  assert not multiprocessing.active_children()
