"""The precision of a model: as a line, as JSON, as a summary."""

import json
import math
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
  """Number of most probable classes, k, for `precision @ k`."""
  return settings.top_k or 1


def report(result, step, settings, answers):
  """Prints the Result of a step to `answers`, and adds it to --metrics."""
  values = {
      'time': time.time(),
      'step': step,
      'precision @ 1': result.precision,
      'correct': result.correct,
      'total': result.total,
      # JSON has no NaN and no infinity.
      'loss': result.loss if math.isfinite(result.loss) else None,
      'eval_data': settings.eval_data,
      'moving_averages': result.averaged,
      'tta': settings.tta
  }
  at_k, k = '', top_k(settings)
  if k > 1:
    values[f'precision @ {k}'] = result.precision_at_k
    at_k = f', precision @ {k} = {result.precision_at_k:.3f}'
  averages = ('moving averages'
              if result.averaged else 'variables without averages')
  line = _line(console.timestamp(), result.correct, result.total,
               f', step {step}')
  line += at_k + _conditions(averages, settings)
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
  model = f'ensemble of {len(folders)} networks'
  lost = sum(labeled < counts.total for _, labeled in counts.by_network)
  if lost:
    model += f', {lost} of them lost on the way'
  lines = [_line(name, *pair) for name, pair in zip(folders, counts.by_network)]
  total = _line(console.timestamp(), counts.correct, counts.total)
  lines.append(total + _conditions(model, settings))
  _print('\n'.join(lines), values, settings, answers)


def _line(name, correct, total, step=''):
  share = correct / max(1, total)
  return f'{name}: precision @ 1 = {share:.3f} ({correct} / {total}{step})'


def _conditions(model, settings):
  copies = ', mirrored and shifted copies' if settings.tta else ''
  return f' on {_IMAGES[settings.eval_data]} images, {model}{copies}'


def _print(text, values, settings, answers):
  """Prints the text, or `values` with --json; adds `values` to --metrics."""
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
