"""Draws the parts of the project, and which of them import which.

    python scripts/pages/draw_architecture.py docs/architecture.svg

The picture comes from the imports themselves, which the package grimp reads
(pip install '.[lint]'). A part stands above all that it imports, as low as it
can. An arrow that follows from others is left out; one that passes a row runs
down the margin.
"""

from importlib import metadata
import os

import grimp
import svg

_PACKAGE = os.path.join(os.path.dirname(__file__), '..', '..', 'cifar10')

_BOX_WIDTH, _BOX_HEIGHT, _ROW_HEIGHT = 176, 52, 92
_KINDS = {'programs': 'orange', 'the ground floor': 'blue'}
_KIND_OF_ROOMS = 'gray'
_LANE_WIDTH = 12


def part_of(module, programs):
  """The part of the project that a module belongs to."""
  if module in programs:
    return 'programs'
  return module.split('.')[1]


def imports_between_parts():
  """For each part its modules, and for each part the parts that it imports."""
  programs = {
      point.module
      for point in metadata.distribution('cifar10-tutorial').entry_points
  }
  graph = grimp.build_graph('cifar10')
  modules, imports = {}, {}
  for module in sorted(graph.modules):
    if graph.find_children(module):  # A package.
      continue
    part = part_of(module, programs)
    modules.setdefault(part, []).append(module)
    for imported in graph.find_modules_directly_imported_by(module):
      if imported != 'cifar10':
        imports.setdefault(part, set()).add(part_of(imported, programs))
  return modules, {part: imports.get(part, set()) - {part} for part in modules}


def rows_of(imports):
  """For each part its row, counted from above: just above all it imports."""
  heights = {}

  def height(part):
    if part not in heights:
      below = [height(other) for other in imports[part]]
      heights[part] = 1 + max(below, default=-1)
    return heights[part]

  top = max(map(height, imports))
  return {part: top - heights[part] for part in imports}


def without_implied(imports):
  """Pairs of parts, without those that follow from two others or more."""

  def reaches(part, target):
    return any(
        other == target or reaches(other, target) for other in imports[part])

  return [(part, imported)
          for part in imports
          for imported in sorted(imports[part])
          if not any(reaches(other, imported) for other in imports[part])]


def is_long(rows, arrow):
  """True if an arrow, a pair of parts, passes a row between them."""
  part, imported = arrow
  return rows[imported] - rows[part] > 1


def lanes(rows, arrows):
  """For each long arrow the number of its lane in the margin, from the right.

  Those in one lane follow one another.
  """
  found, free_from = {}, []
  for arrow in sorted(arrows, key=lambda pair: [rows[part] for part in pair]):
    if is_long(rows, arrow):
      start, end = (rows[part] for part in arrow)
      lane = [row <= start for row in [*free_from, 0]].index(True)
      free_from[lane:lane + 1] = [end]
      found[arrow] = lane
  return found


def positions(rows, arrows):
  """For each part the middle of its upper edge."""
  found = {}

  def place(part):
    above = [found[other][0] for other, imported in arrows if imported == part]
    ends_long = any(is_long(rows, a) for a in arrows if a[1] == part)
    return ends_long, sum(above) / max(1, len(above)), part

  for number in range(1 + max(rows.values())):
    parts = [part for part in rows if rows[part] == number]
    for index, part in enumerate(sorted(parts, key=place)):
      x = svg.WIDTH * (index + 1) / (len(parts) + 1)
      found[part] = (x, 10 + number * _ROW_HEIGHT)
  return found


def path(arrow, where, lane):
  """The path of an arrow; one with a lane goes from side to side."""
  (x1, y1), (x2, y2) = (where[part] for part in arrow)
  if lane is None:
    # It ends on the side that it comes from, so as to pass other boxes.
    x2 += max(-60, min(60, (x1 - x2) / 3))
    return 'M%g %gL%g %g' % (x1, y1 + _BOX_HEIGHT, x2, y2)
  return 'M%g %gH%gV%gH%g' % (
      x1 + _BOX_WIDTH / 2, y1 + _BOX_HEIGHT / 2, svg.WIDTH - _LANE_WIDTH *
      (lane + 1), y2 + _BOX_HEIGHT / 2, x2 + _BOX_WIDTH / 2)


def draw_box(picture, part, modules, position):
  """Draws a part."""
  x, y = position
  is_module = os.path.isfile(os.path.join(_PACKAGE, part + '.py'))
  lines = [part + '.py' if is_module else part]
  if len(modules) > 1:
    lines.append('%d modules' % len(modules))
  kind = 'the ground floor' if is_module and part[:5] == 'cifar' else part
  picture.box(x - _BOX_WIDTH / 2, y, _BOX_WIDTH, _BOX_HEIGHT, lines,
              _KINDS.get(kind, _KIND_OF_ROOMS))


def draw():
  """Draws the parts and the arrows between them; returns the svg.Picture."""
  modules, imports = imports_between_parts()
  rows, arrows = rows_of(imports), without_implied(imports)
  where = positions(rows, arrows)
  picture = svg.Picture(20 + max(rows.values()) * _ROW_HEIGHT + _BOX_HEIGHT)
  in_margin = lanes(rows, arrows)
  for arrow in arrows:
    picture.arrow(path(arrow, where, in_margin.get(arrow)))
  for part in modules:
    draw_box(picture, part, modules[part], where[part])
  return picture


if __name__ == '__main__':
  svg.main(__doc__, draw)
