"""The evaluator: exact counts, followed checkpoints, its output."""

import contextlib
import dataclasses
import glob
import json
import os
import shutil
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.infer import predictions
from cifar10.store import checkpoints
from cifar10.store import config as config_lib
from tests import short_runs
from tests import synthetic_records


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A directory with a run of 30 steps on the sample."""
  folder = tmp_path_factory.mktemp('trained')
  config = short_runs.small_config(folder, batch_size=64, max_steps=30,
                                   log_frequency=100)
  cifar10_train.train(config)
  return folder


# Where TensorFlow's iterator over checkpoints waits.
ITERATOR_MODULE = sys.modules[tf.train.checkpoints_iterator.__module__]


def evaluate(folder, capsys, **changes):
  """Evaluates; returns (precision, correct, total, step) of each line."""
  settings = {'batch_size': 100, 'run_once': True}
  settings.update(changes)
  capsys.readouterr()
  cifar10_eval.evaluate(short_runs.small_config(folder, **settings))
  out = capsys.readouterr().out
  lines = short_runs.PRECISION_LINE.findall(out)
  return [(float(p), int(c), int(t), int(s)) for p, c, t, s in lines], out


def oracle_count(folder, names, averaged=True):
  """Counts the right answers with the model fed from numpy, all at once."""
  layout = Layout()
  records = np.concatenate([
      np.fromfile(name, np.uint8).reshape(-1, layout.record_bytes)
      for name in names
  ])
  with tf.Graph().as_default():
    images = distortions.central_crop(tf.constant(records), layout, 24)
    logits = cifar10.inference(images)
    suffix = '/ExponentialMovingAverage' if averaged else ''
    saver = tf.train.Saver(
        {v.op.name + suffix: v for v in tf.trainable_variables()})
    with tf.Session() as session:
      saver.restore(session, checkpoints.latest(str(folder / 'train')))
      answers = session.run(logits).argmax(axis=1)
  return int((answers == records[:, 0]).sum())


@pytest.mark.slow
@pytest.mark.parametrize('eval_data, total', [('test', 500),
                                              ('train_eval', 1000)])
def test_each_image_counts_once_for_any_batch_size(trained, capsys, eval_data,
                                                   total):
  config = short_runs.small_config(trained)
  data = short_runs.prepared(config)
  expected = oracle_count(trained, data.files(eval_data))
  for batch_size in (1, 100, 128, 500):
    found, _ = evaluate(trained, capsys, batch_size=batch_size,
                        eval_data=eval_data)
    precision = round(expected / total, 3)
    assert found == [(precision, expected, total, 30)], batch_size


@pytest.mark.slow
@pytest.mark.parametrize('written, read',
                         [('float32', ('float32', 'bfloat16', 'float16')),
                          ('bfloat16', ('float32',)),
                          ('float16', ('float32',))])
def test_a_checkpoint_evaluates_at_any_precision(tmp_path, capsys, written,
                                                 read):
  config = short_runs.small_config(tmp_path, batch_size=8, max_steps=8,
                                   precision=written)
  cifar10_train.train(config)
  assert config_lib.load(config.train_dir).precision == written
  counts = {}
  for precision in read:
    ((_, counts[precision], total,
      step),), _ = evaluate(tmp_path, capsys, precision=precision)
    assert (total, step) == (500, 8)
  expected = oracle_count(tmp_path,
                          short_runs.prepared(config).test_files, averaged=True)
  assert counts['float32'] == expected
  # Rounding turns an answer only where two classes are close to one another.
  assert abs(counts.get('bfloat16', expected) - expected) < 25
  assert abs(counts.get('float16', expected) - expected) < 10


@pytest.mark.slow
def test_moving_averages_are_used_unless_told(trained, tmp_path, capsys):
  data = short_runs.prepared(short_runs.small_config(trained))
  path = tmp_path / 'metrics'
  for changes, averaged in (({}, True), ({
      'use_moving_averages': False
  }, False)):
    found, _ = evaluate(trained, capsys, metrics=str(path), **changes)
    expected = oracle_count(trained, data.test_files, averaged=averaged)
    assert found[0][1] == expected
  # The counts may be the same by chance.
  losses = [json.loads(line)['loss'] for line in path.read_text().splitlines()]
  assert losses[0] != losses[1]


def test_a_checkpoint_without_averages_is_evaluated_with_a_warning(
    trained, tmp_path, capsys):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  found, out = evaluate(tmp_path, capsys)
  assert 'WARNING' in out and 'no moving averages' in out
  plain, _ = evaluate(trained, capsys, use_moving_averages=False)
  assert found == plain


def test_one_missing_average_is_named(trained, tmp_path, capsys, monkeypatch):
  shutil.copytree(str(trained / 'train'), str(tmp_path / 'train'))
  shapes = checkpoints.shapes
  missing = 'conv2/biases/ExponentialMovingAverage'

  def all_but_one(path):
    return {k: v for k, v in shapes(path).items() if k != missing}

  monkeypatch.setattr(checkpoints, 'shapes', all_but_one)
  with pytest.raises(UserError, match='holds no variable ' + missing):
    evaluate(tmp_path, capsys)


def test_a_moved_directory_evaluates_to_the_same(trained, tmp_path, capsys):
  expected, _ = evaluate(trained, capsys)
  shutil.copytree(str(trained / 'train'), str(tmp_path / 'away'))
  os.rename(str(tmp_path / 'away'), str(tmp_path / 'train'))
  found, _ = evaluate(tmp_path, capsys)
  assert found == expected


def test_a_process_prints_the_tutorials_line_and_nothing_else(trained):
  status, out, err = short_runs.run('cifar10_eval',
                                    '--checkpoint_dir=%s' % (trained / 'train'),
                                    '--eval_dir=%s' % (trained / 'eval'))
  # Without --run_once: step 30 is the last of the run, so it ends by itself.
  assert (status, err) == (0, '')
  (line,) = out.splitlines()
  assert short_runs.PRECISION_LINE.match(line)
  assert line.endswith('/ 500, step 30) on test images, moving averages')


def test_summaries_hold_precision_loss_and_images(trained, tmp_path, capsys):
  found, _ = evaluate(trained, capsys, eval_dir=str(tmp_path / 'summaries'))
  (path,) = glob.glob(str(tmp_path / 'summaries' / 'events.*'))
  values = {}
  for event in tf.train.summary_iterator(path):
    for value in event.summary.value:
      values[value.tag] = (event.step, value)
  step, precision = values['Precision @ 1']
  assert step == 30
  assert precision.simple_value == pytest.approx(found[0][1] / 500)
  assert 3 < values['loss'][1].simple_value < 5
  assert values['images/image/0'][1].image.height == 24
  assert 'softmax/activations' in values


def loss_of(trained, **settings):
  """The loss that the evaluator finds for the newest checkpoint."""
  config = short_runs.small_config(trained, **settings)
  with tf.Graph().as_default():
    graph = cifar10_eval.build(short_runs.prepared(config), config)
    checkpoint = checkpoints.latest(config.checkpoint_dir)
    result, _ = cifar10_eval.eval_once(graph, checkpoint, config)
  return result.loss


def test_loss_does_not_depend_on_the_batch_size(trained):
  losses = [loss_of(trained, batch_size=size) for size in (7, 500)]
  assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize('form', ['direct', 'winograd'])
def test_both_forms_of_convolution_give_the_same_loss(trained, monkeypatch,
                                                      form):
  forms = short_runs.noted_forms(monkeypatch)
  losses = [
      loss_of(trained, batch_size=100, conv=conv) for conv in ('auto', form)
  ]
  assert forms == ['auto', 'auto', form, form]
  assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_no_checkpoint_is_an_error_if_run_once(tmp_path, capsys):
  with pytest.raises(UserError, match='holds no checkpoint'):
    evaluate(tmp_path, capsys)


class Clock:
  """A time module for the evaluator; a trainer works while it sleeps."""

  def __init__(self, works):
    self._now = 0.0
    self._works = works  # By the number of the sleep.
    self.naps = []

  def time(self):
    return self._now

  def sleep(self, seconds):
    self._now += seconds
    self.naps.append(seconds)
    assert len(self.naps) < 50
    self._works.get(len(self.naps), lambda: None)()


@pytest.mark.slow
def test_checkpoints_are_followed_each_once_to_the_last(tmp_path, capsys,
                                                        monkeypatch):

  def train_to(step):
    config = short_runs.small_config(tmp_path, max_steps=step)
    cifar10_train.train(config)
    # As a trainer has it that is on its way to step 6.
    saved = config_lib.load(config.train_dir)
    config_lib.save(dataclasses.replace(saved, max_steps=6), config.train_dir)

  clock = Clock({
      3: lambda: train_to(2),
      8: lambda: train_to(4),
      12: lambda: train_to(6)
  })
  monkeypatch.setattr(ITERATOR_MODULE, 'time', clock)
  found, out = evaluate(tmp_path, capsys, run_once=False,
                        eval_interval_secs=300)
  assert [step for _, _, _, step in found] == [2, 4, 6]
  assert out.count('No checkpoint in ') == 1
  # Looks often for the first one, and waits behind each evaluation.
  assert clock.naps[:5] == [1, 1, 1, 300, 1]
  assert clock.naps.count(300) == 2


@pytest.mark.slow
def test_a_checkpoint_deleted_on_the_way_is_passed_over(tmp_path, capsys,
                                                        monkeypatch):
  config = short_runs.small_config(tmp_path, max_steps=2)
  cifar10_train.train(config)
  eval_once = cifar10_eval.eval_once
  calls = []

  def beaten_by_the_trainer(graph, checkpoint, config):
    calls.append(checkpoint)
    if len(calls) == 1:
      longer = short_runs.small_config(tmp_path, max_steps=4)
      cifar10_train.train(longer)
      for path in glob.glob(checkpoint + '.*'):
        os.remove(path)
    return eval_once(graph, checkpoint, config)

  monkeypatch.setattr(cifar10_eval, 'eval_once', beaten_by_the_trainer)
  monkeypatch.setattr(ITERATOR_MODULE, 'time', Clock({}))
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert [step for _, _, _, step in found] == [4]
  assert 'model.ckpt-2 was deleted; waiting for the next.' in out


def test_a_checkpoint_without_a_run_is_the_last_one(trained, tmp_path, capsys,
                                                    monkeypatch):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  clock = Clock({})
  monkeypatch.setattr(ITERATOR_MODULE, 'time', clock)
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert [step for _, _, _, step in found] == [30]
  assert out.endswith(
      '%s holds no config.json, which a trainer writes: not waiting for '
      'another checkpoint.\n' % (tmp_path / 'train'))


def test_a_trainer_that_begins_there_is_waited_for(trained, tmp_path, capsys,
                                                   monkeypatch):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  (tmp_path / 'train' / '.lock').write_text('process 1 on here')

  def finish():
    longer = short_runs.small_config(tmp_path, max_steps=2, overwrite=True)
    (tmp_path / 'train' / '.lock').unlink()
    cifar10_train.train(longer)

  monkeypatch.setattr(ITERATOR_MODULE, 'time', Clock({2: finish}))
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert [step for _, _, _, step in found] == [30, 2]
  assert 'not waiting' not in out


def test_damage_is_named(trained, tmp_path, capsys):
  shutil.copytree(str(trained / 'train'), str(tmp_path / 'train'))
  index = tmp_path / 'train' / 'model.ckpt-30.index'
  index.write_bytes(index.read_bytes()[:20])
  with pytest.raises(UserError, match='model.ckpt-30: cannot be read'):
    evaluate(tmp_path, capsys)


def test_an_incomplete_reading_is_an_error(trained, capsys, monkeypatch):
  monkeypatch.setattr(datasets.DataSet, 'count', lambda self, files: 501)
  with pytest.raises(UserError, match='read 500 images; expected 501'):
    evaluate(trained, capsys)


def test_test_files_that_are_emptied_meanwhile_are_an_error(
    trained, tmp_path, capsys, monkeypatch):
  folder = synthetic_records.make_folder(tmp_path / 'data', per_file=20)
  eval_once = cifar10_eval.eval_once

  def then_empty(*args):
    (folder / 'test_batch.bin').write_bytes(b'')
    return eval_once(*args)

  monkeypatch.setattr(cifar10_eval, 'eval_once', then_empty)
  with pytest.raises(UserError, match='read 0 images; expected 20'):
    evaluate(trained, capsys, dataset='cifar10',
             data_dir=str(tmp_path / 'data'))


def test_evaluation_leaves_no_thread_and_no_noise(trained, capfd):
  before = threading.active_count()
  config = short_runs.small_config(trained)
  cifar10_eval.evaluate(config)
  deadline = time.time() + 10
  while threading.active_count() > before and time.time() < deadline:
    time.sleep(0.05)
  assert threading.active_count() == before
  assert capfd.readouterr().err == ''


@pytest.mark.slow
def test_evaluations_are_told_apart(trained, tmp_path, capsys):
  tags = {}
  for eval_data, averaged, tta in (('test', True, False), ('train_eval', True,
                                                           False),
                                   ('test', False, False), ('test', True,
                                                            True)):
    folder = tmp_path / ('%s %s %s' % (eval_data, averaged, tta))
    _, out = evaluate(trained, capsys, eval_data=eval_data,
                      use_moving_averages=averaged, tta=tta,
                      eval_dir=str(folder))
    (path,) = folder.glob('events.*')
    tags[out.split(' on ')[1].strip()] = [
        value.tag
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag.startswith('Precision')
    ]
  assert tags == {
      'test images, moving averages': ['Precision @ 1'],
      'training images, moving averages': ['Precision @ 1, training images'],
      'test images, variables without averages': [
          'Precision @ 1, variables without averages'
      ],
      'test images, moving averages, mirrored and shifted copies': [
          'Precision @ 1, mirrored and shifted copies'
      ]
  }


def test_precision_at_k(trained, tmp_path, capsys):
  shares = []
  for top_k in (2, 5, 10, 99):
    metrics = tmp_path / ('%d.jsonl' % top_k)
    found, out = evaluate(trained, capsys, top_k=top_k, metrics=str(metrics))
    (values,) = map(json.loads, metrics.read_text().splitlines())
    share = values['precision @ %d' % top_k]
    assert ', precision @ %d = %.3f on test images' % (top_k, share) in out
    assert values['precision @ 1'] == found[0][1] / 500
    shares.append(share)
  assert found[0][1] / 500 < shares[0] < shares[1] < shares[2] == shares[3] == 1


@pytest.mark.slow
def test_copies_of_images_are_counted_as_the_oracle_counts_them(
    trained, capsys):
  config = short_runs.small_config(trained, tta=True)
  data = short_runs.prepared(config)
  records = records_lib.load(data.test_files, data.layout)
  network = predictions.Network(config, checkpoints.latest(config.train_dir))
  with contextlib.closing(predictions.Predictor(data, network)) as predictor:
    answers = predictor.probabilities(records).argmax(axis=1)
  ((_, correct, _, _),), out = evaluate(trained, capsys, tta=True)
  assert correct == (answers == records[:, 0]).sum()
  assert out.endswith('moving averages, mirrored and shifted copies\n')


def test_json_is_alone_on_standard_output(trained, tmp_path, capsys):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  cifar10_eval.evaluate(short_runs.small_config(tmp_path, json=True))
  out, err = capsys.readouterr()
  assert json.loads(out)['moving_averages'] is False
  assert err.startswith('WARNING: ') and err.count('\n') == 1


def test_an_evaluation_as_json(trained, tmp_path, capsys):
  config = short_runs.small_config(trained, json=True, eval_dir=str(tmp_path))
  capsys.readouterr()
  cifar10_eval.evaluate(config)
  values = json.loads(capsys.readouterr().out)
  assert abs(values.pop('time') - time.time()) < 60
  correct, loss = values.pop('correct'), values.pop('loss')
  assert 3 < loss < 5
  assert values == {
      'step': 30,
      'precision @ 1': correct / 500,
      'total': 500,
      'eval_data': 'test',
      'moving_averages': True,
      'tta': False
  }


def test_without_a_checkpoint_nothing_is_written(tmp_path):
  config = short_runs.small_config(tmp_path)
  with pytest.raises(UserError, match='holds no checkpoint'):
    cifar10_eval.evaluate(config)
  assert os.listdir(str(tmp_path)) == []
