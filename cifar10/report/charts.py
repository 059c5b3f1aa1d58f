"""Curves as SVG and images as PNG, both as text to stand in a page.

Drawn by matplotlib, which the extra `.[plot]` brings.
"""

import base64
import io
import re

from cifar10.util import optional_packages
import numpy as np

# matplotlib draws in these colours; in the page the style sheet's take their
# places, which are others in the light and in the dark.
_COLORS = {
  'text': '#000001',
  'grid': '#000002',
  'main': '#000003',
  'second': '#000004',
}
_STYLE = {
  'font.size': 9,
  'axes.titlesize': 10,
  'svg.fonttype': 'none',  # Letters stay letters.
  'text.color': _COLORS['text'],
  'axes.labelcolor': _COLORS['text'],
  'axes.edgecolor': _COLORS['grid'],
  'axes.spines.right': False,
  'axes.spines.top': False,
  'grid.color': _COLORS['grid'],
  'xtick.color': _COLORS['text'],
  'ytick.color': _COLORS['text'],
}
_SIZE = 4.4, 2.6  # Inches: letters are as large as the page's in half of it.
_BINS = 100  # Points of a smooth curve.
_FEW_POINTS = 50  # Are marked.


def need_matplotlib():
  """Checks that matplotlib is there.

  Raises:
    UserError: it is not.
  """
  optional_packages.need('matplotlib', 'plot', 'a report is drawn with matplotlib')


def lines(title, curves, log=False, low=None):
  """A chart of values over steps.

  Args:
    title: what it shows, with the unit.
    curves: list of (name, points, color); the points have a step and a value,
      the color is 'main', 'second' or 'faint'.
    log: whether the scale of values is logarithmic, if all are positive.
    low: the lower end of the scale; None: as the values are.

  Returns:
    str of SVG.
  """
  import matplotlib
  from matplotlib import ticker
  from matplotlib.figure import Figure

  with matplotlib.rc_context(dict(_STYLE, **{'svg.hashsalt': title})):
    figure = Figure(_SIZE, layout='constrained')
    axes = figure.add_subplot()
    for name, points, color in curves:
      faint = color == 'faint'
      axes.plot(
        [point.step for point in points],
        [point.value for point in points],
        color=_COLORS['main' if faint else color],
        linewidth=0.6 if faint else 1.4,
        alpha=0.4 if faint else 1,
        marker='o' if len(points) < _FEW_POINTS else None,
        markersize=2.5,
        label=name,
      )
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    if log:
      _scale_by_powers(
        axes, [p.value for _, points, _ in curves for p in points]
      )
    axes.xaxis.set_major_formatter('{x:,.0f}')
    axes.yaxis.set_major_formatter('{x:,g}')
    axes.set_ylim(bottom=low)
    axes.set_xlabel('step')
    axes.set_title(title, loc='left')
    axes.grid(axis='y', linewidth=0.6)
    axes.tick_params(length=0)
    if len(curves) > 1:
      axes.legend(frameon=False)
    return _svg(figure, title)


def _scale_by_powers(axes, values):
  """Makes the scale of `values` logarithmic, if all are positive."""
  from matplotlib import ticker

  low, high = min(values), max(values)
  if low > 0:
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
  if 0 < low == high:  # Else the line lies on the edge.
    axes.set_ylim(low / 2, high * 2)


def _svg(figure, title):
  """The figure as SVG, with the style sheet's colours."""
  content = io.StringIO()
  figure.savefig(content, format='svg', transparent=True)
  svg = content.getvalue()
  svg = svg[svg.index('<svg') :]
  svg = re.sub('<metadata>.*?</metadata>', '', svg, flags=re.DOTALL)
  # The same in each chart, but a page has each name once.
  svg = re.sub('<g id="[^"]*"', '<g', svg)
  for name, color in _COLORS.items():
    svg = svg.replace(color, 'var(--%s)' % name)
  return svg.replace('<svg', '<svg role="img" aria-label="%s"' % title, 1)


def smooth(points):
  """A calmer curve: of each of some equal parts its middle point and median."""
  size = -(-len(points) // _BINS) or 1
  parts = [points[i : i + size] for i in range(0, len(points), size)]
  return [
    part[len(part) // 2]._replace(
      value=float(np.median([p.value for p in part]))
    )
    for part in parts
  ]


def picture(image):
  """An image as a data: URI of a PNG, pixel by pixel.

  Args:
    image: uint8 array [height, width, depth]; depth 1 is grey, 3 colours, and
      4 colours and opacity.
  """
  from matplotlib.image import imsave

  if image.shape[2] == 1:
    image = np.repeat(image, 3, axis=2)
  png = io.BytesIO()
  imsave(png, image, format='png')
  return 'data:image/png;base64,' + base64.b64encode(png.getvalue()).decode()
