"""Draws the parts of the project, and which of them import which.

    python scripts/pages/draw_architecture.py docs/architecture.svg

The picture comes from the imports themselves, which the package grimp reads
(pip install '.[lint]'). A part stands above all that it imports. An arrow that
follows from others is left out.
"""

import argparse
from importlib import metadata

import grimp

_WIDTH, _BOX_WIDTH, _BOX_HEIGHT, _ROW_HEIGHT = 760, 170, 46, 86
_COLORS = {'programs': '#d0761b', 'the ground floor': '#2f6db3'}
_COLOR_OF_WINGS = '#51606f'
_SETTINGS = ('cli', 'config', 'recipes', 'settings')


def part_of(module, programs):
  """The part of the project that a module belongs to."""
  if module in programs:
    return 'programs'
  name = module.split('.')[1]
  return 'settings' if name in _SETTINGS else name


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
  """For each part its row, counted from above: below all that import it."""
  rows = {}

  def row(part):
    if part not in rows:
      above = [other for other in imports if part in imports[other]]
      rows[part] = 1 + max((row(other) for other in above), default=-1)
    return rows[part]

  for part in imports:
    row(part)
  return rows


def without_implied(imports):
  """Pairs of parts, without those that follow from two others or more."""

  def reaches(part, target):
    return any(
      other == target or reaches(other, target) for other in imports[part]
    )

  return [
    (part, imported)
    for part in imports
    for imported in sorted(imports[part])
    if not any(reaches(other, imported) for other in imports[part])
  ]


def positions(rows, arrows):
  """For each part the middle of its upper edge."""
  found = {}

  def mean_of_importers(part):
    above = [found[other][0] for other, imported in arrows if imported == part]
    return sum(above) / max(1, len(above)), part

  for number in range(1 + max(rows.values())):
    parts = [part for part in rows if rows[part] == number]
    for index, part in enumerate(sorted(parts, key=mean_of_importers)):
      x = _WIDTH * (index + 1) / (len(parts) + 1)
      found[part] = (x, 10 + number * _ROW_HEIGHT)
  return found


def box(part, modules, position):
  """The SVG elements of a part."""
  x, y = position
  is_module = modules == ['cifar10.' + part]
  name = part + '.py' if is_module else part
  note = '' if is_module else '%d modules' % len(modules)
  kind = 'the ground floor' if is_module and part[:5] == 'cifar' else part
  text = '<text x="%g" y="%g" text-anchor="middle" fill="#fff"%s>%s</text>'
  lines = [
    '<rect x="%g" y="%g" width="%d" height="%d" rx="4" fill="%s"/>'
    % (
      x - _BOX_WIDTH / 2,
      y,
      _BOX_WIDTH,
      _BOX_HEIGHT,
      _COLORS.get(kind, _COLOR_OF_WINGS),
    ),
    text % (x, y + (20 if note else 28), ' font-size="15"', name),
  ]
  if note:
    lines.append(text % (x, y + 37, ' font-size="12"', note))
  return lines


def svg(modules, imports):
  """The picture."""
  rows, arrows = rows_of(imports), without_implied(imports)
  where = positions(rows, arrows)
  height = 20 + max(rows.values()) * _ROW_HEIGHT + _BOX_HEIGHT
  lines = [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
    'font-family="Helvetica, Arial, sans-serif">' % (_WIDTH, height),
    '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/>'
    '</marker></defs>',
    '<rect width="%d" height="%d" fill="#fff"/>' % (_WIDTH, height),
  ]
  for part, imported in arrows:
    (x1, y1), (x2, y2) = where[part], where[imported]
    lines.append(
      '<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#666" '
      'stroke-width="1.4" marker-end="url(#a)"/>'
      # It ends on the side that it comes from, so as to pass other boxes.
      % (x1, y1 + _BOX_HEIGHT, x2 + max(-60, min(60, (x1 - x2) / 3)), y2)
    )
  for part in modules:
    lines += box(part, modules[part], where[part])
  return '\n'.join(lines + ['</svg>', ''])


def main():
  """The program."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('out', metavar='OUT', help='The SVG file to draw.')
  with open(parser.parse_args().out, 'w', encoding='utf-8') as file:
    file.write(svg(*imports_between_parts()))


if __name__ == '__main__':
  main()
