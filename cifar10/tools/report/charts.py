"""The charts of a run as SVG, and images as PNG, both as text for a page.

matplotlib, installed by the extra `.[report]`, draws them.
"""

import base64
import io
import itertools
import re

import numpy as np

from cifar10.infer import precision
from cifar10.tools.report import events
from cifar10.util import files
from cifar10.util import optional_packages

DEFAULT_PRECISION = precision.tag()

# Of curves of equal rank; further ones repeat the colors with other dashes.
CURVE_COLORS = 'main', 'second', 'third', 'fourth'
# matplotlib draws in these colors. In the page, variables of the style sheet
# replace them: it has a light and a dark style.
_COLORS = {
    name: f'#{number:06}'
    for number, name in enumerate(('text', 'grid', *CURVE_COLORS), 1)
}
_DASHES = '-', '--', ':'
_STYLE = {
    'font.size': 9,
    'axes.titlesize': 10,
    'svg.fonttype': 'none',  # Keep text as text.
    'text.color': _COLORS['text'],
    'axes.labelcolor': _COLORS['text'],
    'axes.edgecolor': _COLORS['grid'],
    'axes.spines.right': False,
    'axes.spines.top': False,
    'grid.color': _COLORS['grid'],
    'xtick.color': _COLORS['text'],
    'ytick.color': _COLORS['text']
}
# Inches. At half the width of the page, text is as large as the page's.
_SIZE = 4.4, 2.6
# Of the axes, in fractions of the size: the same in all charts, so that equal
# steps are below each other. The numbers of both axes fit beside them.
_MARGINS = {'left': 0.13, 'right': 0.93, 'bottom': 0.17, 'top': 0.9}
_PNG_WIDTH, _PNG_DPI = 5, 200  # Inches, and pixels per inch.
_MAX_SMOOTH_POINTS = 100
_FEW_POINTS = 50  # A curve with fewer points has markers.


def draw(run):
  """Draws the loss, precision, learning rate and throughput of a page.Content.

  Returns pairs (title, str of SVG) of the charts whose first curve has points.
  All have the same axis of steps.
  """
  learning_rate = events.curve(run.files, 'learning_rate')
  raw_total = events.curve(run.files, 'losses/total_loss_raw')
  losses = [('total, raw', raw_total, 'faint')]
  for tag, label, color in (('losses/cross_entropy', 'cross entropy', 'second'),
                            ('losses/total_loss', 'total', 'main')):
    # The moving averages start at 0, before the first loss.
    points = [point for point in events.curve(run.files, tag) if point.value]
    losses.append((label, smooth(points), color))
  rates = [('', learning_rate, 'main')]
  speeds = [('median', smooth(run.throughput), 'main')]
  if speeds[0][1] != run.throughput:
    speeds.insert(0, ('between summaries', run.throughput, 'faint'))
  log, base = {'log': True}, {'bottom': 0}
  charts = (('Loss', losses, log), (*_precision_chart(run.precisions), {}),
            ('Learning rate', rates, log), ('Images per second', speeds, base))
  points = itertools.chain(learning_rate, raw_total, run.starts,
                           *run.precisions.values(),
                           [run.predictions] * (run.predictions is not None))
  found = [point.step for point in points] or [0]
  steps = min(found), max(found)
  return [(title, line_chart(title, curves, steps, **options))
          for title, curves, options in charts
          if curves and curves[0][1]]


def _precision_chart(precisions):
  """The title of the precision chart, and its curves for `line_chart`."""
  labels = precision_labels(precisions)
  title = 'Precision @ 1' if _are_top_1(precisions) else 'Precision'
  if len(precisions) == 1:
    (title,) = precisions  # The tag.
  curves = []
  for (tag, points), color in zip(precisions.items(),
                                  itertools.cycle(CURVE_COLORS)):
    # The precision of an untrained model, at step 0, would squeeze the others.
    shown = [point for point in points if point.step] or points
    percents = [point._replace(value=100 * point.value) for point in shown]
    curves.append((labels[tag], percents, color))
  return f'{title}, %', curves


def precision_labels(tags):
  """Labels that tell kinds of evaluations apart: a dict by their tags.

  Such as 'training images' or, if not all are of k = 1, '@ 5, training images'.
  """
  labels = {}
  for tag in tags:
    top_k, _, others = tag[len('Precision '):].partition(', ')
    label = others or 'test images'
    labels[tag] = label if _are_top_1(tags) else f'{top_k}, {label}'
  return labels


def _are_top_1(tags):
  return all(tag.split(', ')[0] == DEFAULT_PRECISION for tag in tags)


def line_chart(title, curves, steps, log=False, bottom=None):
  """Draws values over steps; returns an SVG element, a str.

  Args:
    title: the quantity and its unit.
    curves: list of (label, events.Points, one of CURVE_COLORS or 'faint'). The
      first curve has points.
    steps: the first and the last step of the axis; no point is outside.
    log: use a logarithmic scale if all values are positive.
    bottom: lower end of the scale of values; None: chosen by the values.
  """
  import matplotlib
  from matplotlib.figure import Figure

  with matplotlib.rc_context(dict(_STYLE, **{'svg.hashsalt': title})):
    figure = Figure(_SIZE)
    figure.subplots_adjust(**_MARGINS)
    axes = figure.add_subplot()
    for number, (label, points, color) in enumerate(curves):
      faint = {'color': _COLORS['main'], 'linewidth': 0.6, 'alpha': 0.4}
      bold = {'color': _COLORS.get(color), 'linewidth': 1.4}
      axes.plot([point.step for point in points],
                [point.value for point in points],
                **(faint if color == 'faint' else bold),
                linestyle=_DASHES[number // len(CURVE_COLORS) % len(_DASHES)],
                marker='o', markersize=2.5,
                markevery=1 if len(points) < _FEW_POINTS else [-1],
                clip_on=False, label=label)  # The last marker is on the edge.
    _set_scales(axes, steps, curves, log)
    axes.set_ylim(bottom=bottom)
    axes.set_xlabel('step')
    axes.set_title(title, loc='left')
    axes.grid(axis='y', linewidth=0.6)
    axes.tick_params(length=0)
    if len(curves) > 1:
      axes.legend(frameon=False)
    return _svg(figure)


def _set_scales(axes, steps, curves, log):
  """Sets the scales of steps and of values, with their numbers."""
  from matplotlib import ticker

  first, last = steps
  axes.set_xlim(first, max(last, first + 1))
  axes.xaxis.set_major_locator(
      ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=True))
  axes.xaxis.set_major_formatter('{x:,.0f}')
  values = [point.value for _, points, _ in curves for point in points]
  low, high = min(values), max(values)
  if log and low > 0:
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    if low == high:  # A constant would lie on the edge.
      axes.set_ylim(low / 2, high * 2)
  axes.yaxis.set_major_formatter('{x:,g}')


def _svg(figure):
  """The figure as an SVG element in the colors of the style sheet."""
  content = io.StringIO()
  figure.savefig(content, format='svg', transparent=True)
  svg = content.getvalue()
  svg = svg[svg.index('<svg'):]
  svg = re.sub('<metadata>.*?</metadata>', '', svg, flags=re.DOTALL)
  # All charts use the same ids, and a page may hold each id only once.
  svg = re.sub('<g id="[^"]*"', '<g', svg)
  for name, color in _COLORS.items():
    svg = svg.replace(color, f'var(--{name})')
  return svg


def smooth(points):
  """Smooths a curve: cuts it into equal parts and takes their medians.

  Returns at most 100 events.Points, each at the middle step of its part, the
  last one at the last step.
  """
  size = -(-len(points) // _MAX_SMOOTH_POINTS) or 1
  smoothed = []
  for i in range(0, len(points), size):
    part = points[i:i + size]
    median = float(np.median([point.value for point in part]))
    smoothed.append(part[len(part) // 2]._replace(value=median))
  if smoothed:
    smoothed[-1] = smoothed[-1]._replace(step=points[-1].step)
  return smoothed


def png_uri(image):
  """An image, uint8 [height, width, depth], as a data: URI of a PNG.

  Depth 1 is gray, 3 is RGB, 4 is RGB and opacity.
  """
  from matplotlib.image import imsave

  if image.shape[2] == 1:
    image = np.repeat(image, 3, axis=2)
  png = io.BytesIO()
  imsave(png, image, format='png')
  return 'data:image/png;base64,' + base64.b64encode(png.getvalue()).decode()


def new_figure(height, extra='report'):
  """An empty matplotlib Figure for `save_png`; `height` is in inches.

  At the width of a page, its text is as large as the page's. Raises UserError
  with the command that installs `extra` if matplotlib is missing.
  """
  figure = optional_packages.need('matplotlib.figure', extra,
                                  'charts are drawn with matplotlib')
  return figure.Figure(figsize=(_PNG_WIDTH, height))


def save_png(figure, path, has_photos=False, bbox_inches='tight'):
  """Writes a matplotlib Figure to `path`; an OSError leaves it as before.

  To make the file smaller, it has 256 colors, or with photos 32 shades each of
  red, green and blue.
  """
  from PIL import Image  # matplotlib requires it.

  png, small = io.BytesIO(), io.BytesIO()
  figure.savefig(png, format='png', dpi=_PNG_DPI, bbox_inches=bbox_inches)
  image = Image.open(png).convert('RGB')
  if has_photos:
    image = image.point(lambda shade: round(round(shade * 31 / 255) * 255 / 31))
  else:
    image = image.quantize(256)
  image.save(small, format='png', optimize=True)
  files.write_atomically(path, small.getvalue())
