"""The curves of a run as charts: loss, precision, learning rate, throughput."""

import itertools

from cifar10.tools.report import charts
from cifar10.tools.report import events
from cifar10.util import summaries

DEFAULT_PRECISION = summaries.precision_tag()


def draw(run):
  """Draws the charts of a run that have points.

  Args:
    run: page.Run.

  Returns:
    List of pairs (title, str of SVG). The axes of steps are all the same.
  """
  learning_rate, total, raw_total, cross_entropy = (
    events.curve(run.files, tag)
    for tag in (
      'learning_rate',
      'losses/total_loss',
      'losses/total_loss_raw',
      'losses/cross_entropy',
    )
  )
  # The moving averages start at 0, before the first loss.
  total, cross_entropy = (
    charts.smooth([point for point in points if point.value])
    for points in (total, cross_entropy)
  )
  steps = _step_limits(run, learning_rate + raw_total)
  losses = [
    ('total, raw', raw_total, 'faint'),
    ('cross entropy', cross_entropy, 'second'),
    ('total', total, 'main'),
  ]
  throughputs = [('median', charts.smooth(run.throughput), 'main')]
  if throughputs[0][1] != run.throughput:
    throughputs.insert(0, ('between summaries', run.throughput, 'faint'))
  return [
    (title, charts.line_chart(title, curves, steps, **options))
    for title, curves, options in (
      ('Loss', losses, {'log': True}),
      (_precision_title(run.precisions), _precision_curves(run.precisions), {}),
      ('Learning rate', [('', learning_rate, 'main')], {'log': True}),
      ('Images per second', throughputs, {'bottom': 0}),
    )
    if curves and curves[0][1]
  ]


def _step_limits(run, points):
  """The first and the last step of a run; `points` are those of its curves.

  None if nothing tells.
  """
  steps = [point.step for point in points]
  for evaluated in run.precisions.values():
    steps += [point.step for point in evaluated]
  steps += [start.step for start in run.starts]
  if run.predictions is not None:
    steps.append(run.predictions.step)
  return (min(steps), max(steps)) if steps else None


def _precision_title(precisions):
  """The title of the precision chart: the tag, if there is only one."""
  if len(precisions) == 1:
    return '%s, %%' % list(precisions)[0]
  if _are_top_1(precisions):
    return 'Precision @ 1, %'
  return 'Precision, %'


def _precision_curves(precisions):
  """The curves of the precision chart, as charts.line_chart takes them."""
  labels = precision_labels(precisions)
  colors = itertools.cycle(charts.CURVE_COLORS)
  curves = []
  for (tag, points), color in zip(precisions.items(), colors):
    # The precision of an untrained model, at step 0, would squeeze the others.
    shown = [point for point in points if point.step] or points
    percents = [point._replace(value=100 * point.value) for point in shown]
    curves.append((labels[tag], percents, color))
  return curves


def precision_labels(tags):
  """What tells kinds of evaluations apart.

  Args:
    tags: their tags, see summaries.precision_tag.

  Returns:
    dict from each tag to a str: 'training images', or, unless all are
    precisions @ 1, '@ 5, training images'.
  """
  labels = {}
  for tag in tags:
    top_k, *others = tag[len('Precision ') :].split(', ')
    labels[tag] = ', '.join(others) or 'test images'
    if not _are_top_1(tags):
      labels[tag] = '%s, %s' % (top_k, labels[tag])
  return labels


def _are_top_1(tags):
  """Whether all tags are of a precision @ 1."""
  return all(tag.split(', ')[0] == DEFAULT_PRECISION for tag in tags)
