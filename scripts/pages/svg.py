"""Parts of the pictures in SVG, in the colors that all of them share.

A function returns the lines of a part. Lengths are pixels; in a page, text of
16 is as large as the text around.
"""

from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 640
_LINE = 20.5  # Pixels from one line of a box to the next.


def text(x, y, words, anchor='start', kind=''):
  """One line of text; `kind` is a class of the shared style."""
  kind = f' class="{kind}"' if kind else ''
  return [
      f'<text{kind} font-size="16" text-anchor="{anchor}" x="{x:g}" y="{y:g}">'
      f'{words}</text>'
  ]


def rect(kind, x, y, width, height, radius):
  """A rectangle with round corners."""
  return [
      f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" '
      f'height="{height:g}" rx="{radius}"/>'
  ]


def box(kind, x, y, width, height, *words):
  """A filled box with lines of text in its middle."""
  found = rect(kind, x, y, width, height, 4)
  for number, line in enumerate(words):
    middle = y + height / 2 + (number - (len(words) - 1) / 2) * _LINE
    found += text(x + width / 2, middle + 5.5, line, 'middle', kind='on')
  return found


def area(kind, x, y, width, height, title=''):
  """A frame around other parts, with a title in its upper left corner."""
  frame = rect(f'{kind}-area', x, y, width, height, 8)
  return frame + text(x + 12, y + 24, title) if title else frame


def arrow(path, both=False, kind='arrow'):
  """An arrow along a path; `both`: with a head at its start, too."""
  start = ' marker-start="url(#a)"' if both else ''
  return [f'<path class="{kind}" d="{path}"{start} marker-end="url(#a)"/>']


def bowl(minimum, scale, curvatures, losses):
  """Contours of a quadratic loss, and a cross at its minimum, in pixels."""
  x, y = minimum
  for loss in losses:
    rx, ry = (size * (2 * loss / curvature)**0.5
              for size, curvature in zip(scale, curvatures))
    yield (f'<ellipse class="faint" cx="{x:g}" cy="{y:g}" '
           f'rx="{rx:.1f}" ry="{ry:.1f}"/>')
  yield f'<path class="arrow" d="M{x - 5:g} {y:g}h10M{x:g} {y - 5:g}v10"/>'


def write(path, height, parts):
  """Writes a picture of some parts to a file."""
  there = (ROOT / 'docs' / 'schedules.svg').read_text('utf-8')
  lines = [
      f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
      f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
      'font-family="Helvetica, Arial, sans-serif" font-size="18">',
      re.search('<style>.*</defs>', there, re.DOTALL).group(),
      f'<rect class="page" width="{WIDTH}" height="{height}"/>'
  ]
  for part in parts:
    lines += part
  Path(path).write_text('\n'.join([*lines, '</svg>', '']), 'utf-8')


def write_all(folder, pictures):
  """Writes pictures: pairs of a function, whose name is the file's, and height.

  The functions return the parts.
  """
  for draw, height in pictures:
    write(Path(folder, f'{draw.__name__}.svg'), height, draw())
