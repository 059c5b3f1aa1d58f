"""Axes and curves in a Picture of svg.py."""

import math

import svg


class Axes:
  """Axes of a Picture: a rectangle of pixels with limits of x and of y.

  Args:
    corner: pair, the upper left corner in the picture.
    size: pair, width and height in pixels.
    xlim, ylim: pairs of numbers.
    log: a logarithmic scale of y.
  """

  def __init__(self, picture, corner, size, xlim, ylim, log=False):
    self.picture, self._log = picture, log
    self.left, self.top = corner
    self.width, self.height = size
    self._xlim, self._ylim = xlim, ylim

  def x(self, value):
    """The pixel of a value of x."""
    low, high = self._xlim
    return round(self.left + self.width * (value - low) / (high - low), 1)

  def y(self, value):
    """The pixel of a value of y; one beyond the limits is at the edge."""
    low, high = self._ylim
    value = min(max(value, low), high)
    if self._log:
      low, high, value = map(math.log, (low, high, value))
    return round(self.top + self.height * (high - value) / (high - low), 1)

  def grid(self, xs=(), ys=()):
    """Lines at some values, each value below or on the left of its line."""
    bottom, right = self.top + self.height, self.left + self.width
    for value in xs:
      self.picture.line(f'M{self.x(value):g} {self.top:g}V{bottom:g}', 'faint')
      self.picture.text(self.x(value), bottom + 19, f'{value:g}', size=svg.NOTE,
                        anchor='middle')
    for value in ys:
      self.picture.line(f'M{self.left:g} {self.y(value):g}H{right:g}', 'faint')
      self.picture.text(self.left - 6,
                        self.y(value) + 5, f'{value:g}', size=svg.NOTE,
                        anchor='end')

  def title(self, text, note=''):
    """A title above the axes, with a line below it."""
    y = self.top - (30 if note else 9)
    self.picture.text(self.left, y, text, bold=True)
    if note:
      self.picture.text(self.left, self.top - 9, note, size=svg.NOTE)

  def curve(self, points, kind, dashed=False, width=2.4):
    """A line through points, pairs of numbers."""
    self.picture.line(self.path(points), kind, width, dashed)

  def band(self, low, high, kind):
    """Fills the area between two curves, lists of points."""
    path = self.path([*low, *reversed(high)])
    self.picture.add(f'<path class="{kind}" opacity="0.5" d="{path}z"/>')

  def path(self, points):
    """Points as a path, without those that straight lines pass anyway."""
    pixels = _simplified([(self.x(x), self.y(y)) for x, y in points])
    return 'M' + 'L'.join(f'{x:g} {y:g}' for x, y in pixels)


def _simplified(pixels):
  """Leaves out pixels; the line stays where it is to a fifth of a pixel.

  Douglas and Peucker, "Algorithms for the Reduction of the Number of Points
  Required to Represent a Digitized Line or its Caricature", 1973.
  """
  (x1, y1), (x2, y2) = pixels[0], pixels[-1]
  length = math.hypot(x2 - x1, y2 - y1) or 1.0

  def distance(index):
    x, y = pixels[index]
    return abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / length

  farthest = max(range(1, len(pixels) - 1), key=distance, default=0)
  if not farthest or distance(farthest) <= 0.2:
    return [pixels[0], pixels[-1]]
  before = _simplified(pixels[:farthest + 1])
  return before[:-1] + _simplified(pixels[farthest:])
