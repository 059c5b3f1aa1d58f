"""Line charts as SVG and images as PNG, both as text to put into a page.

matplotlib, installed by the extra `.[report]`, draws them.
"""

import base64
import io
import re

import numpy as np

# matplotlib draws in these colors. In the page, variables of the style sheet
# replace them, which differ between the light and the dark style.
_COLORS = {
  'text': '#000001',
  'grid': '#000002',
  'main': '#000003',
  'second': '#000004',
  'third': '#000005',
  'fourth': '#000006',
}
# Colors of curves of equal rank, then the same again with other dashes.
CURVE_COLORS = 'main', 'second', 'third', 'fourth'
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
  'ytick.color': _COLORS['text'],
}
# Inches. At half the width of the page, text is as large as the page's.
_SIZE = 4.4, 2.6
# The axes in fractions of it: the same in all charts, so that equal steps are
# below each other. The numbers of both axes fit beside them.
_MARGINS = {'left': 0.13, 'right': 0.93, 'bottom': 0.17, 'top': 0.9}
_MAX_SMOOTH_POINTS = 100
_FEW_POINTS = 50  # A curve with fewer points has markers.


def line_chart(title, curves, steps, log=False, bottom=None):
  """Draws values over steps.

  Args:
    title: str, the quantity and its unit.
    curves: list of (label, points, color): str; list of events.Points; and one
      of CURVE_COLORS or 'faint'. The first curve has points.
    steps: pair, the first and the last step of the axis; no point is outside.
    log: use a logarithmic scale if all values are positive.
    bottom: lower end of the scale of values; None: chosen by the values.

  Returns:
    str, an SVG element.
  """
  import matplotlib
  from matplotlib.figure import Figure

  with matplotlib.rc_context(dict(_STYLE, **{'svg.hashsalt': title})):
    figure = Figure(_SIZE)
    figure.subplots_adjust(**_MARGINS)
    axes = figure.add_subplot()
    for number, (label, points, color) in enumerate(curves):
      faint = color == 'faint'
      few = len(points) < _FEW_POINTS
      axes.plot(
        [point.step for point in points],
        [point.value for point in points],
        color=_COLORS['main' if faint else color],
        linestyle=_DASHES[number // len(CURVE_COLORS) % len(_DASHES)],
        linewidth=0.6 if faint else 1.4,
        alpha=0.4 if faint else 1,
        marker='o',
        markersize=2.5,
        markevery=1 if few else [-1],
        clip_on=False,  # The last marker is on the edge.
        label=label,
      )
    _set_steps(axes, steps)
    _set_values(
      axes, [point.value for _, points, _ in curves for point in points], log
    )
    axes.set_ylim(bottom=bottom)
    axes.set_xlabel('step')
    axes.set_title(title, loc='left')
    axes.grid(axis='y', linewidth=0.6)
    axes.tick_params(length=0)
    if len(curves) > 1:
      axes.legend(frameon=False)
    return _svg(figure)


def _set_steps(axes, steps):
  """Sets the scale of steps, from the first to the last one."""
  from matplotlib import ticker

  first, last = steps
  axes.set_xlim(first, max(last, first + 1))
  axes.xaxis.set_major_locator(
    ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=True)
  )
  axes.xaxis.set_major_formatter('{x:,.0f}')


def _set_values(axes, values, log):
  """Sets the scale of `values`, with its numbers."""
  from matplotlib import ticker

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
  svg = svg[svg.index('<svg') :]
  svg = re.sub('<metadata>.*?</metadata>', '', svg, flags=re.DOTALL)
  # All charts use the same ids, and a page may hold each id only once.
  svg = re.sub('<g id="[^"]*"', '<g', svg)
  for name, color in _COLORS.items():
    svg = svg.replace(color, 'var(--%s)' % name)
  return svg


def smooth(points):
  """Smooths a curve: cuts it into equal parts and takes their medians.

  Args:
    points: list of events.Points.

  Returns:
    List of at most 100 events.Points, each at the middle step of its part; the
    last one at the last step, so that the curve does not end early.
  """
  size = -(-len(points) // _MAX_SMOOTH_POINTS) or 1
  parts = [points[i : i + size] for i in range(0, len(points), size)]
  smoothed = [
    part[len(part) // 2]._replace(
      value=float(np.median([p.value for p in part]))
    )
    for part in parts
  ]
  if smoothed:
    smoothed[-1] = smoothed[-1]._replace(step=points[-1].step)
  return smoothed


def png_uri(image):
  """An image as a data: URI of a PNG, pixel for pixel.

  Args:
    image: uint8 array, [height, width, depth]; depth 1 is gray, 3 is RGB, 4 is
      RGB and opacity.

  Returns:
    str.
  """
  from matplotlib.image import imsave

  if image.shape[2] == 1:
    image = np.repeat(image, 3, axis=2)
  png = io.BytesIO()
  imsave(png, image, format='png')
  return 'data:image/png;base64,' + base64.b64encode(png.getvalue()).decode()
