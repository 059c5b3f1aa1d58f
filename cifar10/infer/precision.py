"""The precision of a model: as a line, as JSON, as a summary."""

import contextlib
import json
import math
import sys
import time
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10.util import console
from cifar10.util import files

_IMAGES = {'test': 'test', 'train_eval': 'training', 'validation': 'held-out'}
_PLAIN = 'variables without averages'
_TTA = ', mirrored and shifted copies'


class Result(NamedTuple):
  """The result of an evaluation."""

  correct: int  # Images whose right class is the most probable one.
  in_top_k: int  # Images whose right class is among the `top_k` most probable.
  total: int  # All images.
  loss: float  # Mean of the total loss.
  averaged: bool  # True if the moving averages of the variables were used.


@contextlib.contextmanager
def answers(settings):
  """Yields standard output; with --json, all else goes to standard error."""
  output = sys.stdout
  with contextlib.redirect_stdout(sys.stderr if settings.json else output):
    yield output


def report(result, step, settings, output):
  """Prints the Result of a step to `output`, and adds it to --metrics."""
  values = {
      'time': time.time(),
      'step': step,
      'precision @ 1': result.correct / result.total,
      'correct': result.correct,
      'total': result.total,
      # JSON has no NaN and no infinity.
      'loss': result.loss if math.isfinite(result.loss) else None,
      'eval_data': settings.eval_data,
      'moving_averages': result.averaged,
      'tta': settings.tta
  }
  line = _line(console.timestamp(), result.correct, result.total,
               f', step {step}')
  if settings.top_k and settings.top_k > 1:
    share = result.in_top_k / result.total
    values[f'precision @ {settings.top_k}'] = share
    line += f', precision @ {settings.top_k} = {share:.3f}'
  model = 'moving averages' if result.averaged else _PLAIN
  _print(line + _conditions(model, settings), values, settings, output)


def report_ensemble(correct, total, by_network, settings, output):
  """Prints the precision of an ensemble, and of its networks, as `report` does.

  `by_network` are tuples of the folder of a network, the images that it labels
  right and those that it has labeled: fewer than all if it was lost.
  """
  names = 'checkpoint_dir', 'correct', 'total'
  values = {
      'time': time.time(),
      'precision @ 1': correct / total,
      'correct': correct,
      'total': total,
      'eval_data': settings.eval_data,
      'tta': settings.tta,
      'networks': [dict(zip(names, network)) for network in by_network]
  }
  model = f'ensemble of {len(by_network)} networks'
  lost = sum(labeled < total for _, _, labeled in by_network)
  if lost:
    model += f', {lost} of them lost on the way'
  lines = [_line(*network) for network in by_network]
  total_line = _line(console.timestamp(), correct, total)
  lines.append(total_line + _conditions(model, settings))
  _print('\n'.join(lines), values, settings, output)


def _line(name, correct, total, step=''):
  share = correct / max(1, total)
  return f'{name}: precision @ 1 = {share:.3f} ({correct} / {total}{step})'


def _conditions(model, settings):
  images = f' on {_IMAGES[settings.eval_data]} images, {model}'
  return images + _TTA if settings.tta else images


def _print(text, values, settings, output):
  """Prints the text, or `values` with --json; adds `values` to --metrics."""
  print(json.dumps(values) if settings.json else text, file=output)
  if settings.metrics:
    files.append_json_line(settings.metrics, values)


def tag(top_k=1, eval_data='test', averaged=True, tta=False):
  """The tag of the summary of a precision.

  The tutorial's tag, 'Precision @ 1', stands for the test images and the moving
  averages; the tags of other evaluations say how they differ. `eval_data` is
  'test', 'train_eval' or 'validation', the images held out.
  """
  found = f'Precision @ {top_k}'
  if eval_data != 'test':
    found += f', {_IMAGES[eval_data]} images'
  if not averaged:
    found += ', ' + _PLAIN
  return found + _TTA if tta else found


def add_to_summary(content, result, settings):
  """Adds a Result to the bytes of a tf.Summary; returns the tf.Summary."""
  summary = tf.Summary.FromString(content)
  counts = {1: result.correct, settings.top_k or 1: result.in_top_k}
  for k, count in counts.items():
    summary.value.add(
        tag=tag(k, settings.eval_data, result.averaged, settings.tta),
        simple_value=count / result.total)
  summary.value.add(tag='loss', simple_value=result.loss)
  return summary
