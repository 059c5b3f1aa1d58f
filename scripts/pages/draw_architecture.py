"""Draws the parts of the project, and which of them import which.

    python scripts/pages/draw_architecture.py docs/architecture.svg

The picture comes from the imports themselves, which the package grimp reads
(pip install '.[lint]'). A part stands above all that it imports, as low as it
can. An arrow that follows from others is left out; one that passes a row runs
down the margin, in a lane of its own. It ends at the last box of a row, and
leaves any other box downwards, so that no arrow runs behind a box.
"""

from importlib import metadata
import sys

import grimp
import svg

# Pixels.
_WIDTH, _LANE_WIDTH = svg.WIDTH, 12
_BOX_WIDTH, _BOX_HEIGHT, _ROW_HEIGHT = 176, 52, 92
_WAY_DOWN = 14  # Of an arrow that leaves a box downwards.


def imports_between_parts():
  """For each part its modules, and for each part the parts that it imports."""
  programs = {
      point.module
      for point in metadata.distribution('cifar10-tutorial').entry_points
  }

  def part_of(module):
    return 'programs' if module in programs else module.split('.')[1]

  graph = grimp.build_graph('cifar10')
  modules, imports = {}, {}
  for module in sorted(graph.modules):
    if graph.find_children(module):  # A package.
      continue
    part = part_of(module)
    modules.setdefault(part, []).append(module)
    imports.setdefault(part, set()).update(
        part_of(imported)
        for imported in graph.find_modules_directly_imported_by(module)
        if imported != 'cifar10')
  return modules, {part: imports[part] - {part} for part in modules}


def rows_of(imports):
  """For each part its row, counted from above: just above all it imports."""

  def height(part):
    return 1 + max(map(height, imports[part]), default=-1)

  heights = {part: height(part) for part in imports}
  return {part: max(heights.values()) - heights[part] for part in imports}


def without_implied(imports):
  """Pairs of parts, without those that follow from two others or more."""

  def reaches(part, target):
    return any(
        other == target or reaches(other, target) for other in imports[part])

  return [(part, imported)
          for part in imports
          for imported in sorted(imports[part])
          if not any(reaches(other, imported) for other in imports[part])]


def positions(rows, arrows, long):
  """For each part the middle of its upper edge."""
  found = {}

  def place(part):
    above = [found[other][0] for other, imported in arrows if imported == part]
    ends_long = any(imported == part for _, imported in long)
    return ends_long, sum(above) / max(1, len(above)), part

  width = _WIDTH - _LANE_WIDTH * (len(long) + 1)
  for number in range(1 + max(rows.values())):
    parts = [part for part in rows if rows[part] == number]
    for index, part in enumerate(sorted(parts, key=place)):
      x = width * (index + 0.5) / len(parts)
      found[part] = (x, 10 + number * _ROW_HEIGHT)
  return found


def arrow(start, end, lane, is_last=True):
  """Lines of an arrow between two boxes; one with a lane is in the margin.

  `is_last`: the box where it starts is the last one of its row.
  """
  (x1, y1), (x2, y2) = start, end
  if lane is None:
    # It ends on the side that it comes from, so as to pass other boxes.
    x2 += max(-60, min(60, (x1 - x2) / 3))
    path = f'M{x1:g} {y1 + _BOX_HEIGHT:g}L{x2:g} {y2:g}'
  else:
    x = _WIDTH - _LANE_WIDTH * (lane + 1)
    out = (f'M{x1 + _BOX_WIDTH / 2:g} {y1 + _BOX_HEIGHT / 2:g}' if is_last else
           f'M{x1 + _BOX_WIDTH / 3:g} {y1 + _BOX_HEIGHT:g}v{_WAY_DOWN}')
    path = f'{out}H{x:g}V{y2 + _BOX_HEIGHT / 2:g}H{x2 + _BOX_WIDTH / 2:g}'
  return svg.arrow(path)


def box(part, modules, x, y):
  """The box of a part, with its name and the number of its modules."""
  is_module = (svg.ROOT / 'cifar10' / f'{part}.py').exists()
  kind = ('orange' if part == 'programs' else
          'blue' if part.startswith('cifar10') else 'gray')
  yield from svg.rect(kind, x - _BOX_WIDTH / 2, y, _BOX_WIDTH, _BOX_HEIGHT, 4)
  middle = f'class="on" text-anchor="middle" x="{x:g}"'
  name_y = y + (21.8 if len(modules) > 1 else 31.8)
  yield f'<text {middle} y="{name_y:g}">{part}{".py" * is_module}</text>'
  if len(modules) > 1:
    yield (f'<text {middle} font-size="16" y="{y + 42.3:g}">{len(modules)} '
           'modules</text>')


def draw(path):
  """Draws the parts and the arrows between them."""
  modules, imports = imports_between_parts()
  rows, arrows = rows_of(imports), without_implied(imports)
  long = [(a, b) for a, b in arrows if rows[b] - rows[a] > 1]
  where = positions(rows, arrows, long)
  parts, last = [], {y: x for x, y in sorted(where.values())}
  for pair in arrows:
    start, end = (where[part] for part in pair)
    lane = long.index(pair) if pair in long else None
    parts.append(arrow(start, end, lane, start[0] == last[start[1]]))
  parts += (box(part, modules[part], *where[part]) for part in modules)
  height = 20 + max(rows.values()) * _ROW_HEIGHT + _BOX_HEIGHT
  svg.write(path, height, parts)


if __name__ == '__main__':
  draw(*sys.argv[1:])
