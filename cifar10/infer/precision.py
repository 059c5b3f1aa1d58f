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
  """The result of an evaluation."""

  correct: int  # Images whose right class is the most probable one.
  in_top_k: int  # Images whose right class is among the `top_k` most probable.
  total: int  # All images.
  loss: float  # Mean of the total loss.
  averaged: bool  # True if the moving averages of the variables were used.

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
  """Prints the Result of a step to a file, and adds it to --metrics."""
  values = {
      'time': time.time(),
      'step': step,
      'precision @ 1': result.precision,
      'correct': result.correct,
      'total': result.total,
      'loss': result.loss,
      'eval_data': settings.eval_data,
      'moving_averages': result.averaged,
      'tta': settings.tta
  }
  at_k, k = '', top_k(settings)
  if k > 1:
    values[f'precision @ {k}'] = result.precision_at_k
    at_k = f', precision @ {k} = {result.precision_at_k:.3f}'
  averages = 'moving averages'
  if not result.averaged:
    averages = 'variables without averages'
  line = (f'{console.timestamp()}: precision @ 1 = {result.precision:.3f} '
          f'({result.correct} / {result.total}, step {step}){at_k} on '
          f'{_IMAGES[settings.eval_data]} images, {averages}{_tta(settings)}')
  _print(line, values, settings, answers)


def report_ensemble(counts, folders, settings, answers):
  """Prints the ensemble.Counts of networks in `folders`, as `report` does."""
  values = {
      'time': time.time(),
      'precision @ 1': counts.correct / counts.total,
      'correct': counts.correct,
      'total': counts.total,
      'eval_data': settings.eval_data,
      'tta': settings.tta,
      'networks': [{
          'checkpoint_dir': folder,
          'correct': correct,
          'total': labeled
      } for folder, (correct, labeled) in zip(folders, counts.by_network)]
  }

  def line(name, correct, total):
    share = correct / max(1, total)
    return f'{name}: precision @ 1 = {share:.3f} ({correct} / {total})'

  lines = [line(name, *pair) for name, pair in zip(folders, counts.by_network)]
  lost = sum(labeled < counts.total for _, labeled in counts.by_network)
  lines.append(
      line(console.timestamp(), counts.correct, counts.total) +
      f' on {_IMAGES[settings.eval_data]} images, ' +
      f'ensemble of {len(folders)} networks' +
      (f', {lost} of them lost on the way' if lost else '') + _tta(settings))
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
  values = {1: result.precision, top_k(settings): result.precision_at_k}
  found = tf.Summary()
  for k, value in values.items():
    tag = summaries.precision_tag(k, settings.eval_data, result.averaged,
                                  settings.tta)
    found.value.add(tag=tag, simple_value=value)
  found.value.add(tag='loss', simple_value=result.loss)
  return found
