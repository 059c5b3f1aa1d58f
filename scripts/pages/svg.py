"""Pictures in SVG that follow the light or dark style of the reader's page.

A script that draws one has a function `draw()`, which returns a Picture, and
calls `main(__doc__, draw)`.
"""

import argparse
from xml.sax import saxutils

# At this width in pixels text is as large as that of a page, and on a phone
# still large enough to read.
WIDTH = 640
TEXT, NOTE = 18, 16  # Sizes of text.

# Of boxes with white text, in both styles; and of lines, and of areas behind
# boxes, in the light and in the dark style.
_BOXES = {
    'blue': '#2f6db3',
    'orange': '#b5620e',
    'gray': '#51606f',
    'green': '#2f7a50'
}
_LINES = {
    'blue': ('#2f6db3', '#6ea8e8'),
    'orange': ('#b5620e', '#e8964a'),
    'gray': ('#51606f', '#a4b0bc'),
    'green': ('#2f7a50', '#62bd88'),
    'purple': ('#7a4fb5', '#b692e6'),
    'red': ('#a33', '#f08a86')
}
_AREAS = {
    'blue': ('#eef3f9', '#1c2938'),
    'orange': ('#fbf3ea', '#33281c'),
    'gray': ('#f0f2f4', '#252b33'),
    'green': ('#ecf6f0', '#1b2f25')
}
_PAGE, _INK, _FAINT = ('#fff', '#161b22'), ('#222', '#e3e7eb'), ('#ddd',
                                                                 '#3a424c')


def _rules(style):
  """Rules of the colors that differ between style 0, light, and 1, dark."""
  arrows = _LINES['gray'][style]
  rules = [
      f'.page{{fill:{_PAGE[style]}}}', f'text{{fill:{_INK[style]}}}',
      f'.faint{{stroke:{_FAINT[style]}}}', f'.arrow{{stroke:{arrows}}}',
      f'.head{{fill:{arrows}}}'
  ]
  for name, colors in _LINES.items():
    rules.append(f'.{name}-line{{stroke:{colors[style]}}}'
                 f'.{name}-text{{fill:{colors[style]}}}')
  for name, colors in _AREAS.items():
    rules.append(f'.{name}-area{{fill:{colors[style]};'
                 f'stroke:{_LINES[name][style]}}}')
  return ''.join(rules)


STYLE = (
    '<style>' + _rules(0) +
    ''.join(f'.{name}{{fill:{color}}}' for name, color in _BOXES.items()) +
    '.on{fill:#fff}.edge{fill:none;stroke:#fff;stroke-width:1.2}.arrow,.line,.faint{fill:none;stroke-width:1.6}'
    '.dashed{stroke-dasharray:6 4}@media (prefers-color-scheme:dark){' +
    _rules(1) + '}</style>')

_HEAD = ('<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" '
         'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
         '<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>')


class Picture:
  """An SVG picture; coordinates are in pixels from its upper left corner.

  A `kind` is the name of a color: blue, orange, gray, green; of lines and text
  also purple and red.
  """

  def __init__(self, height):
    self.width, self.height = WIDTH, height
    self._elements = []

  def add(self, element):
    """Adds an element, a str."""
    self._elements.append(element)

  def text(self, x, y, text, kind='', size=TEXT, anchor='start', bold=False):
    """A line of text, whose baseline is at `y`."""
    attributes = f'class="{kind}" ' if kind else ''
    attributes += f'font-size="{size}" ' if size != TEXT else ''
    attributes += f'text-anchor="{anchor}" ' if anchor != 'start' else ''
    attributes += 'font-weight="bold" ' if bold else ''
    self.add(f'<text {attributes}x="{x:g}" y="{y:g}">'
             f'{saxutils.escape(text)}</text>')

  def box(self, x, y, width, height, lines, kind='gray'):
    """A box with lines of white text in its middle; the first is a title."""
    self.add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" '
             f'height="{height:g}" rx="4"/>')
    sizes = [TEXT] + [NOTE] * (len(lines) - 1)
    top = y + height / 2 - 0.62 * sum(sizes)
    for line, line_size in zip(lines, sizes):
      top += 1.24 * line_size
      self.text(x + width / 2, round(top - 0.3 * line_size, 1), line, 'on',
                line_size, 'middle')

  def arrow(self, path):
    """An arrow along a path such as `M0 0H8`."""
    self.add(f'<path class="arrow" d="{path}" marker-end="url(#a)"/>')

  def line(self, path, kind, width=0, dashed=False):
    """A line along a path; `kind` may be faint."""
    name = kind if kind == 'faint' else f'line {kind}-line'
    name += ' dashed' if dashed else ''
    wide = f' style="stroke-width:{width:g}"' if width else ''
    self.add(f'<path class="{name}"{wide} d="{path}"/>')

  def __str__(self):
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
        f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{TEXT}">',
        STYLE, _HEAD,
        f'<rect class="page" width="{self.width}" height="{self.height}"/>',
        *self._elements, '</svg>', ''
    ])


def main(doc, draw):
  """The program of a script: writes the Picture of `draw()` to a file."""
  parser = argparse.ArgumentParser(description=doc.split('\n')[0])
  parser.add_argument('out', metavar='OUT', help='The SVG file to draw.')
  out = parser.parse_args().out
  picture = str(draw())
  with open(out, 'w', encoding='utf-8') as file:
    file.write(picture)
