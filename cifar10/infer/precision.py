"""The precision of a model: as a line, as JSON, as a summary."""

import json
import time
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.util import console
from cifar10.util import files
from cifar10.util import summaries

_IMAGES = {'test': 'test', 'train_eval': 'training'}


class Result(NamedTuple):
  """The result of an evaluation.

  Attributes:
    correct: images whose right class is the most probable one.
    in_top_k: images whose right class is among the `top_k` most probable ones.
    total: all images.
    loss: mean of the total loss.
    averaged: whether the moving averages of the variables were used.
  """

  correct: int
  in_top_k: int
  total: int
  loss: float
  averaged: bool

  @property
  def precision(self):
    return self.correct / self.total

  @property
  def precision_at_k(self):
    return self.in_top_k / self.total


def top_k(settings):
  """Among how many classes the right one may be."""
  return settings.top_k or 1


def report(result, step, settings, answers):
  """Prints a result, and writes it to --metrics.

  Args:
    result: Result.
    step: global step of the checkpoint.
    answers: file to print to.
  """
  values = {
    'time': time.time(),
    'step': step,
    'precision @ 1': result.precision,
    'correct': result.correct,
    'total': result.total,
    'loss': result.loss,
    'eval_data': settings.eval_data,
    'moving_averages': result.averaged,
    'tta': settings.tta,
  }
  at_k, k = '', top_k(settings)
  if k > 1:
    values['precision @ %d' % k] = result.precision_at_k
    at_k = ', precision @ %d = %.3f' % (k, result.precision_at_k)
  line = '%s: precision @ 1 = %.3f (%d / %d, step %d)%s on %s images, %s%s' % (
    console.timestamp(),
    result.precision,
    result.correct,
    result.total,
    step,
    at_k,
    _IMAGES[settings.eval_data],
    'moving averages' if result.averaged else 'variables without averages',
    _tta(settings),
  )
  _print(line, values, settings, answers)


def report_ensemble(counts, folders, settings, answers):
  """Prints the results of an ensemble, and writes them to --metrics.

  Args:
    counts: ensemble.Counts.
    folders: the folders of the networks, in their order.
    answers: file to print to.
  """
  values = {
    'time': time.time(),
    'precision @ 1': counts.correct / counts.total,
    'correct': counts.correct,
    'total': counts.total,
    'eval_data': settings.eval_data,
    'tta': settings.tta,
    'networks': [
      {'checkpoint_dir': folder, 'correct': correct, 'total': labeled}
      for folder, (correct, labeled) in zip(folders, counts.by_network)
    ],
  }
  lost = sum(labeled < counts.total for _, labeled in counts.by_network)
  lines = [
    '%s: precision @ 1 = %.3f (%d / %d)'
    % (folder, correct / max(1, labeled), correct, labeled)
    for folder, (correct, labeled) in zip(folders, counts.by_network)
  ]
  lines.append(
    '%s: precision @ 1 = %.3f (%d / %d) on %s images, ensemble of %d networks%s'
    '%s'
    % (
      console.timestamp(),
      counts.correct / counts.total,
      counts.correct,
      counts.total,
      _IMAGES[settings.eval_data],
      len(folders),
      ', %d of them lost on the way' % lost if lost else '',
      _tta(settings),
    )
  )
  _print('\n'.join(lines), values, settings, answers)


def _tta(settings):
  return ', mirrored and shifted copies' if settings.tta else ''


def _print(text, values, settings, answers):
  """Prints a text, or `values` as JSON in its place, and adds to --metrics."""
  print(json.dumps(values) if settings.json else text, file=answers)
  if settings.metrics:
    files.append_json_line(settings.metrics, values)


def summary(result, settings):
  """The tf.Summary of a Result, with tags that tell evaluations apart."""

  def tag(k):
    return summaries.precision_tag(
      k, settings.eval_data, result.averaged, settings.tta
    )

  found = tf.Summary()
  found.value.add(tag=tag(1), simple_value=result.precision)
  k = top_k(settings)
  if k > 1:
    found.value.add(tag=tag(k), simple_value=result.precision_at_k)
  found.value.add(tag='loss', simple_value=result.loss)
  return found
