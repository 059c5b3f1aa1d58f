"""Ranks of labels: ties, and outputs that are not numbers."""

import contextlib
import dataclasses
import json

import numpy as np
from PIL import Image
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_eval
from cifar10 import cifar10_predict
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import export
from cifar10.infer import ranking
from cifar10.store import checkpoints
from cifar10.tools import sparsify
from cifar10.tools.report import confusion
from tests import graphs
from tests import reference
from tests import short_runs
from tests import synthetic_records
from tests.infer import random_models

CLASSES = 6


def rows_with_ties(kind):
  """Logits with many ties, and a label for each row."""
  random = np.random.RandomState(7)
  logits = random.randint(-1, 2, [400, CLASSES]).astype(np.float32)
  if kind == 'equal':
    logits[:] = random.randint(-1, 2, [400, 1])
  if kind == 'not finite':
    for value in (np.nan, np.inf, -np.inf):
      rows, classes = random.randint(400, size=80), random.randint(CLASSES)
      logits[rows, classes] = value
  return logits, random.randint(CLASSES, size=400).astype(np.int32)


@pytest.mark.parametrize('kind', ['ties', 'equal', 'not finite'])
def test_ties_rank_by_class_and_what_is_not_finite_is_wrong(kind):
  logits, labels = rows_with_ties(kind)
  fed = tf.placeholder(tf.float32, [None, CLASSES])
  with tf.Session() as session:
    for k in range(1, CLASSES + 3):
      found = session.run(ranking.in_top_k(fed, labels, k), {fed: logits})
      assert found.tolist() == reference.in_top_k(logits, labels, k), k
  right = sum(reference.in_top_k(logits, labels, 1))
  assert ranking.count_right(logits, labels) == right
  assert 0 < right < 400


def dead_network(folder, value=0.0, **settings):
  """A network whose weights all have one value: its Config and variables."""
  synthetic_records.make_folder(folder, per_file=50)
  config = short_runs.small_config(folder, top_k=3, dataset='cifar10',
                                   data_dir=str(folder), **settings)
  _, values = random_models.save(folder, short_runs.prepared(config))
  values = {
      name: np.full_like(v, value) if v.shape else v
      for name, v in values.items()
  }
  train_dir = folder / 'train'
  train_dir.mkdir()
  checkpoints.write(str(train_dir), values)
  return config, values


@pytest.mark.slow
def test_a_dead_network_is_right_about_class_0_in_every_program(
    tmp_path, capsys):
  config, values = dead_network(tmp_path)
  checkpoint = str(tmp_path / 'train' / 'model.ckpt-7')
  cifar10_eval.evaluate(config)
  out = capsys.readouterr().out
  ((_, correct, total, _),) = short_runs.PRECISION_LINE.findall(out)
  found = sparsify.precisions([values], checkpoint, config)
  assert found == [int(correct) / int(total)]
  found = confusion.predict_test_images(checkpoint, config)
  assert found.precision == int(correct) / int(total)
  assert int(correct) == (found.labels == 0).sum() > 0
  at_3 = (found.labels < 3).mean()
  assert 'precision @ 3 = %.3f' % at_3 in out
  both = dataclasses.replace(config, networks=(config, config))
  with contextlib.closing(ensemble.load(both)) as networks:
    records = short_runs.prepared(config).test_records()
    right, by_network = ensemble.count_right(networks, records, 50)
  assert right == by_network[0][1] == int(correct)
  frozen = export.freeze(short_runs.prepared(config), checkpoint, config)
  given = {'images': found.images[:9]}
  assert not graphs.run_frozen(frozen, given, 'class').any()


@pytest.mark.slow
def test_what_is_not_finite_is_no_answer(tmp_path, capsys):
  metrics = tmp_path / 'metrics.jsonl'
  config, values = dead_network(tmp_path, np.nan, metrics=str(metrics))
  cifar10_eval.evaluate(config)
  out = capsys.readouterr().out
  # JSON knows no such numbers.
  line = json.loads(metrics.read_text(), parse_constant=pytest.fail)
  assert line['loss'] is None and line['precision @ 1'] == 0
  assert 'precision @ 1 = 0.000 (0 / 50' in out
  assert 'precision @ 3 = 0.000' in out
  checkpoint = str(tmp_path / 'train' / 'model.ckpt-7')
  assert sparsify.precisions([values], checkpoint, config) == [0]
  with pytest.raises(UserError, match='finite probabilities for 50 of 50'):
    confusion.predict_test_images(checkpoint, config)
  path = str(tmp_path / 'gray.png')
  Image.new('L', (32, 32), 128).save(path)
  with pytest.raises(UserError, match='gray.png: the model computes no finite'):
    cifar10_predict.predict(config, [path])
