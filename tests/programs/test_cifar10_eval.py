"""The evaluator: exact counts, followed checkpoints, its output."""

import contextlib
import glob
import io
import json
import os
import shutil
import sys
import threading
import time
import types

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import cifar10_train
from cifar10.data import distortions
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.infer.follower import Follower
from cifar10.store import checkpoint_files
from cifar10.store import checkpoints
from tests import processes
from tests import short_runs
from tests import synthetic_records


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A directory with a run of 30 steps on the sample, saved every 10."""
  folder = tmp_path_factory.mktemp('trained')
  cifar10_train.train(
      short_runs.small_config(folder, batch_size=16, max_steps=30,
                              save_steps=10, log_frequency=100))
  return folder


# Where TensorFlow's iterator over checkpoints waits.
ITERATOR_MODULE = sys.modules[tf.train.checkpoints_iterator.__module__]


def printed(out):
  """(precision, correct, total, step) of each line of an evaluator."""
  lines = short_runs.PRECISION_LINE.findall(out)
  return [(float(p), int(c), int(t), int(s)) for p, c, t, s in lines]


def evaluate(folder, capsys, **changes):
  """Evaluates; returns what is printed, in numbers and as it is."""
  settings = dict({'batch_size': 100, 'run_once': True}, **changes)
  capsys.readouterr()
  cifar10_eval.evaluate(short_runs.small_config(folder, **settings))
  out = capsys.readouterr().out
  return printed(out), out


@pytest.fixture(scope='module', name='evaluations')
def _evaluations(trained, tmp_path_factory):
  """Four evaluations of the run, by what is special with them.

  Each has the lines as `printed` returns them and as they are, the summaries by
  tag with their steps, and the line of JSON.
  """
  found = {}
  settings = [('', {}), ('train_eval', {'eval_data': 'train_eval'}),
              ('plain', {'use_moving_averages': False}),
              ('tta', {'tta': True})]  # yapf: disable
  for name, changes in settings:
    folder, out = tmp_path_factory.mktemp('evaluation'), io.StringIO()
    metrics = folder / 'metrics.jsonl'
    with contextlib.redirect_stdout(out):
      cifar10_eval.evaluate(
          short_runs.small_config(trained, batch_size=100, eval_dir=str(folder),
                                  metrics=str(metrics), **changes))
    (events,) = folder.glob('events.*')
    values = {
        value.tag: (event.step, value)
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    found[name] = types.SimpleNamespace(lines=printed(out.getvalue()),
                                        out=out.getvalue(), summaries=values,
                                        metrics=json.loads(metrics.read_text()))
  return found


def oracle_count(folder, names, averaged=True):
  """Counts the right answers with the model fed from numpy, all at once."""
  records = records_lib.load(names, Layout())
  with tf.Graph().as_default():
    images = distortions.central_crop(tf.constant(records), Layout(), 24)
    logits = cifar10.inference(images)
    suffix = '/ExponentialMovingAverage' if averaged else ''
    saver = tf.train.Saver(
        {v.op.name + suffix: v for v in tf.trainable_variables()})
    with tf.Session() as session:
      saver.restore(session, checkpoints.latest(str(folder / 'train')))
      answers = session.run(logits).argmax(axis=1)
  return int((answers == records[:, 0]).sum())


@pytest.mark.slow
def test_each_image_counts_once_for_any_batch_size(trained, evaluations,
                                                   capsys):
  data = short_runs.prepared(short_runs.small_config(trained))
  for eval_data, total, batch_sizes in (('test', 500, (1, 128)),
                                        ('train_eval', 1000, (600,))):
    count = oracle_count(trained, data.files(eval_data))
    expected = [(round(count / total, 3), count, total, 30)]
    for batch_size in batch_sizes:
      found, _ = evaluate(trained, capsys, batch_size=batch_size,
                          eval_data=eval_data)
      assert found == expected, batch_size
    name = '' if eval_data == 'test' else eval_data
    assert evaluations[name].lines == expected  # In batches of 100.
  plain = oracle_count(trained, data.test_files, averaged=False)
  assert evaluations['plain'].lines[0][1] == plain
  # The counts may be the same by chance.
  assert evaluations[''].metrics['loss'] != evaluations['plain'].metrics['loss']


@pytest.mark.slow
@pytest.mark.parametrize('precision, limit', [('bfloat16', 25),
                                              ('float16', 10)])
def test_any_precision_evaluates_at_any_other(trained, evaluations, tmp_path,
                                              capsys, precision, limit):
  ((_, count, total, step),), _ = evaluate(trained, capsys, precision=precision)
  assert (total, step) == (500, 30)
  # Rounding turns an answer only where two classes are close to one another.
  assert abs(count - evaluations[''].metrics['correct']) < limit
  config = short_runs.small_config(tmp_path, batch_size=4, max_steps=1,
                                   precision=precision)
  cifar10_train.train(config)
  ((_, count, _, _),), _ = evaluate(tmp_path, capsys, precision='float32')
  assert count == oracle_count(tmp_path, short_runs.prepared(config).test_files)


@pytest.mark.slow
def test_the_loss_depends_neither_on_the_batch_size_nor_on_the_form(
    trained, evaluations, monkeypatch):
  algorithms = short_runs.noted_algorithms(monkeypatch)
  for batch_size, form in ((7, 'auto'), (500, 'direct'), (128, 'winograd')):
    config = short_runs.small_config(trained, batch_size=batch_size, conv=form)
    with tf.Graph().as_default():
      graph = cifar10_eval.build(short_runs.prepared(config), config)
      checkpoint = checkpoints.latest(config.checkpoint_dir)
      result, _ = cifar10_eval.eval_once(graph, checkpoint, config)
    expected = evaluations[''].metrics['loss']
    assert result.loss == pytest.approx(expected, rel=1e-5), form
  assert algorithms == 2 * ['auto'] + 2 * ['direct'] + 2 * ['winograd']


def test_a_process_prints_the_tutorials_line_and_nothing_else(trained):
  out = short_runs.output('cifar10_eval',
                          '--checkpoint_dir=%s' % (trained / 'train'),
                          '--eval_dir=%s' % (trained / 'eval'),
                          errors=processes.MODELS)
  # Without --run_once: step 30 is the last of the run, so it ends by itself.
  (line,) = out.splitlines()
  assert short_runs.PRECISION_LINE.match(line)
  assert line.endswith('/ 500, step 30) on test images, moving averages')


def test_summaries_and_lines_tell_evaluations_apart(evaluations):
  averaged = 'test images, moving averages'
  plain = ', variables without averages'
  copies = ', mirrored and shifted copies'
  conditions = [averaged, 'training images, moving averages']
  conditions += ['test images' + plain, averaged + copies]
  endings = '', ', training images', plain, copies
  for found, condition, ending in zip(evaluations.values(), conditions,
                                      endings):
    assert found.out.endswith(f', step 30) on {condition}\n')
    (tag,) = [tag for tag in found.summaries if tag.startswith('Precision')]
    assert tag == 'Precision @ 1' + ending
    step, value = found.summaries[tag]
    assert step == 30
    assert value.simple_value == pytest.approx(found.metrics['precision @ 1'])
  assert 3 < found.summaries['loss'][1].simple_value < 5
  assert found.summaries['images/image/0'][1].image.height == 24
  assert 'softmax/activations' in found.summaries


def test_precision_at_k(trained, tmp_path, capsys):
  shares = []
  for top_k in (2, 99):
    metrics = tmp_path / ('%d.jsonl' % top_k)
    found, out = evaluate(trained, capsys, top_k=top_k, metrics=str(metrics))
    values = json.loads(metrics.read_text())
    share = values['precision @ %d' % top_k]
    assert ', precision @ %d = %.3f on test images' % (top_k, share) in out
    assert values['precision @ 1'] == found[0][1] / 500
    shares.append(share)
  assert found[0][1] / 500 < shares[0] < shares[1] == 1


def test_an_evaluation_as_json_is_alone_on_standard_output(
    trained, tmp_path, capsys):
  before = set(threading.enumerate())
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  cifar10_eval.evaluate(short_runs.small_config(tmp_path, json=True))
  out, err = capsys.readouterr()
  err = processes.without_model(err)
  assert err.startswith('WARNING: ') and err.count('\n') == 1
  values = json.loads(out)
  assert abs(values.pop('time') - time.time()) < 60
  correct, loss = values.pop('correct'), values.pop('loss')
  assert 3 < loss < 5
  assert values == {
      'step': 30,
      'precision @ 1': correct / 500,
      'total': 500,
      'eval_data': 'test',
      'moving_averages': False,
      'tta': False
  }
  assert not processes.threads_left(before)


def keep_time(monkeypatch, works):
  """Has the evaluator read a Clock, which is returned."""
  clock = Clock(works)
  for module in (ITERATOR_MODULE, cifar10_eval):
    monkeypatch.setattr(module, 'time', clock)
  return clock


class Clock:
  """A time module for the evaluator; a trainer works while it sleeps."""

  def __init__(self, works):
    self._now = 0.0
    self._works = works  # By the number of the sleep.
    self.naps = []

  def time(self):
    return self._now

  monotonic = time

  def sleep(self, seconds):
    self._now += seconds
    self.naps.append(seconds)
    assert len(self.naps) < 50
    self._works.get(len(self.naps), lambda: None)()


def train_to(step, trained, tmp_path):
  """Has the files of the run as they are when a step has just been saved."""
  directory = tmp_path / 'train'
  directory.mkdir(exist_ok=True)
  names = ('config.json', 'run_state.json', 'model.ckpt-%d.*' % step)
  for name in names:
    for path in (trained / 'train').glob(name):
      shutil.copy(str(path), str(directory))
  checkpoint_files.set_newest(checkpoints.at_step(str(directory), step))


@pytest.mark.slow
def test_checkpoints_are_followed_each_once_to_the_last(trained, tmp_path,
                                                        capsys, monkeypatch):
  clock = keep_time(
      monkeypatch, {
          3: lambda: train_to(10, trained, tmp_path),
          8: lambda: train_to(20, trained, tmp_path),
          12: lambda: train_to(30, trained, tmp_path)
      })
  found, out = evaluate(tmp_path, capsys, run_once=False,
                        eval_interval_secs=300)
  assert [step for _, _, _, step in found] == [10, 20, 30]
  assert out.count('No checkpoint in ') == 1
  assert out.count('Waiting for later checkpoints in ') == 1
  # Looks often for the first one, and waits behind each evaluation.
  assert clock.naps[:5] == [1, 1, 1, 300, 1]
  assert clock.naps.count(300) == 2


@pytest.mark.slow
@pytest.mark.parametrize('run_once', [False, True])
def test_a_checkpoint_deleted_on_the_way_is_passed_over(trained, tmp_path,
                                                        capsys, monkeypatch,
                                                        run_once):
  train_to(10, trained, tmp_path)
  eval_once = cifar10_eval.eval_once

  def beaten_by_the_trainer(graph, checkpoint, config):
    if checkpoint.endswith('-10'):
      train_to(30, trained, tmp_path)
      for path in glob.glob(checkpoint + '.*'):
        os.remove(path)
    return eval_once(graph, checkpoint, config)

  monkeypatch.setattr(cifar10_eval, 'eval_once', beaten_by_the_trainer)
  clock = keep_time(monkeypatch, {})
  if run_once:
    with pytest.raises(UserError, match='model.ckpt-10: was deleted meanwhile'):
      evaluate(tmp_path, capsys)
    return
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert [step for _, _, _, step in found] == [30]
  assert 'model.ckpt-10 was deleted; looking for the next.' in out
  assert clock.naps == []  # It is there already.


def test_a_checkpoint_without_averages_or_a_run_is_evaluated_with_a_warning(
    trained, evaluations, tmp_path, capsys, monkeypatch):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  keep_time(monkeypatch, {})
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert 'WARNING' in out and 'no moving averages' in out
  assert found == evaluations['plain'].lines
  # It is the last one.
  assert out.endswith(
      '%s holds no config.json, which a trainer writes: not waiting for '
      'another checkpoint.\n' % (tmp_path / 'train'))


def test_a_trainer_that_begins_there_is_waited_for(trained, tmp_path, capsys,
                                                   monkeypatch):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  (tmp_path / 'train' / '.lock').write_text('process 1 on here')

  def finish():  # A shorter run.
    shutil.rmtree(str(tmp_path / 'train'))
    short_runs.trained(tmp_path)

  keep_time(monkeypatch, {2: finish})
  found, out = evaluate(tmp_path, capsys, run_once=False)
  assert [step for _, _, _, step in found] == [30, 4]
  assert 'not waiting' not in out


@pytest.mark.slow
@pytest.mark.parametrize('is_given', [False, True])
def test_a_run_of_other_settings_that_begins_there_is_told(
    tmp_path, capsys, monkeypatch, is_given):

  def begin():
    cifar10_train.train(
        short_runs.small_config(tmp_path, max_steps=2, regularizer='l2',
                                batch_size=4, activation='elu'))

  keep_time(monkeypatch, {1: begin})
  warning = ('WARNING: the loss is that of --regularizer=tutorial, with which '
             'the evaluator started; the run has l2.\n')
  if is_given:
    found, out = evaluate(tmp_path, capsys, run_once=False,
                          given={'activation'})
    assert [step for _, _, _, step in found] == [2]
    assert out.count('WARNING') == out.count(warning) == 1
    return
  with pytest.raises(UserError) as info:
    evaluate(tmp_path, capsys, run_once=False)
  assert str(info.value) == (
      f'{tmp_path}/train: a run with --activation=elu has begun since the '
      'evaluator started with relu; start it again')


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


def test_without_a_checkpoint_nothing_is_written(tmp_path):
  config = short_runs.small_config(tmp_path)
  with pytest.raises(UserError, match='holds no checkpoint'):
    cifar10_eval.evaluate(config)
  assert os.listdir(str(tmp_path)) == []


def test_what_can_never_hold_a_run_is_not_waited_for(tmp_path):
  model = tmp_path / 'saved_model.pb'
  model.write_bytes(b'')
  for path, problem in (tmp_path, 'is an export'), (model, 'is not a folder'):
    config = short_runs.small_config(tmp_path, checkpoint_dir=str(path),
                                     run_once=False)
    with pytest.raises(UserError, match=f'{path}: {problem}; expected the --'):
      Follower(config)
