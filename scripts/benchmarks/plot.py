#!/usr/bin/env python
"""Draws the pictures of docs/results from its files of JSON, as PNG.

    python scripts/benchmarks/plot.py benchmark.json
    python scripts/benchmarks/plot.py techniques.json
    python scripts/benchmarks/plot.py search.json
    python scripts/benchmarks/plot.py gradients.json
    python scripts/benchmarks/plot.py float32.json tutorial.json better.json \\
        fast.json best.json --times=recipe_times.json --out=precision.png

Takes one file of benchmark.py, of compare.py, of gradients.py or of a search,
or any number of precision_curve.py and of repeat.py, which it draws together:
--times replaces their minutes by those that recipe_times.py measured on one
machine. Runs of a recipe with other flags are called as their file, without
.json. Needs the extra `.[report]`.
"""

import os
import statistics

import package_path
from cifar10.errors import UserError
from cifar10.tools.report import charts
from cifar10.tools.search import chart as search_chart
from cifar10.util import arguments
from cifar10.util import files
import comparison
import numpy as np
import repeat
import turns

_SECONDS = 'seconds of a step'  # By recipe, in files of recipe_times.py.

# Of the rows of benchmark.py: beginning of 'what', form and baseline, by label.
_BARS = {
    'training, end to end': ('training', 'float32', 'classical'),
    'training, against Keras': ('training', 'float32', 'Keras'),
    'training, against PyTorch': ('training', 'float32', 'PyTorch compiled'),
    'evaluation': ('evaluation', 'float32', 'classical'),
    'first step of the process': ('first step', 'float32', 'classical'),
    'peak memory': ('peak memory', 'float32', 'classical'),
    'input alone': ('input', 'ours', 'classical'),
    'response normalization': ('LRN', 'ours', 'classical'),
    'conv2 with its gradients':
        ('conv2 forward, backward', 'winograd', 'direct')
}


def bars(rows):
  """Pairs (label, ratios of all rounds) of the rows that the chart shows."""
  found = []
  for label, (what, *forms) in _BARS.items():
    matching = {
        row['form']: row for row in rows if row['what'].startswith(what)
    }
    if all(form in matching for form in forms):
      ours, others = (matching[form] for form in forms)
      found.append(
          (label, turns.ratios(ours['values'], others['values'], ours['unit'])))
  return found


def draw_benchmark(result):
  """Draws ratios of benchmark.py as bars; returns the figure."""
  found = bars(result['rows'])
  figure = charts.new_figure(1.2 + 0.3 * len(found))
  axes = figure.subplots()
  for y, (_, ratios) in enumerate(found):
    ratio = np.median(ratios)
    spread = [[ratio - min(ratios)], [max(ratios) - ratio]]
    axes.barh(y, ratio, xerr=spread, color='tab:blue', ecolor='0.4')
    axes.text(max(ratios), y, f' {ratio:.2f}', va='center')
  axes.set_yticks(range(len(found)))
  axes.set_yticklabels([label for label, _ in found])
  axes.axvline(1, color='black', linewidth=1)
  axes.invert_yaxis()
  axes.margins(x=0.15, y=0.01)
  axes.set_xlabel('times as fast, or as small: median and range')
  return figure


def timed_again(result, seconds):
  """A result of precision_curve.py or repeat.py, with minutes of one machine.

  Args:
    result: dict; a curve is of the recipe `tutorial`.
    seconds: of a step, a list over the rounds for each recipe.
  """
  of_step = statistics.median(seconds[result.get('recipe', 'tutorial')]) / 60
  if 'points' in result:
    points = [dict(p, minutes=p['step'] * of_step) for p in result['points']]
    return dict(result, points=points)
  runs = []
  for run in result['results']:
    minutes = run['evaluations'][0]['step'] * of_step
    runs.append(dict(run, **{'minutes of training': minutes}))
  return dict(result, results=runs)


def draw_precision(results):
  """Draws precision against minutes; returns the figure.

  A curve for each file of precision_curve.py, and dots for the ends of the
  runs of the others, in the color of their recipe.
  """
  figure = charts.new_figure(3.8)
  axes = figure.subplots()
  colors = {'tutorial': 'C0'}  # Curves are of that recipe.
  for number, result in enumerate(r for r in results if 'points' in r):
    points = result['points']
    curves = ('averaged', '-', ''), ('plain', ':', ', no averages')
    for kind, style, suffix in curves:
      axes.plot([p['minutes'] for p in points],
                [100 * p[kind] / result['total'] for p in points], style,
                color=f'C{number and number + 3}',
                label=f'tutorial, {result["precision"]}{suffix}')
  for result in results:
    if 'points' not in result:
      color = colors.setdefault(result['recipe'], f'C{len(colors)}')
      _draw_ends(axes, color, result)
  axes.set_xlabel('minutes of training')
  axes.set_ylabel('accuracy on the test images, %')
  axes.set_ylim(bottom=60)
  axes.grid(alpha=0.3)
  axes.legend(loc='lower right', fontsize='small', ncol=2, columnspacing=1,
              handlelength=1.5)
  return figure


def _draw_ends(axes, color, result):
  """Draws the ends of the runs of a recipe; with --tta, they are open dots."""
  recipe = result['recipe']
  for index, face in enumerate((color, 'none')):
    dots = [(run['minutes of training'], repeat.percent(run, index))
            for run in result['results']]
    mean = statistics.mean(y for _, y in dots)
    axes.plot(*zip(*dots), 'o', color=color, markerfacecolor=face,
              label=f'{recipe}{", --tta" * index}: {mean:.2f} %')


def draw_comparison(result):
  """Draws the differences between the variants of compare.py."""
  return comparison.draw(comparison.compared_in(result))


def draw_gradients(result):
  """Draws the norms of each layer's gradients; returns the figure."""
  runs = result['runs']
  figure = charts.new_figure(0.8 + 1.9 * len(runs))
  figure.subplots_adjust(hspace=0.35)
  axes_of_all = figure.subplots(len(runs), sharex=True, sharey=True)
  for axes, run in zip(axes_of_all, runs):
    for layer, norms in run['norms'].items():
      axes.plot(norms, label=layer)
    axes.set_title(run['name'], fontsize=10)
    axes.set_yscale('log')
    axes.grid(alpha=0.3)
  axes.set_xlabel('step')
  axes_of_all[len(runs) //
              2].set_ylabel("norm of the gradient of each layer's weights")
  figure.legend(*axes.get_legend_handles_labels(), loc='upper center', ncol=3,
                frameon=False)
  return figure


# What to draw a single file with, by a key that it has.
_SINGLE = {
    'rows': draw_benchmark,
    'times': draw_comparison,
    'runs': draw_gradients,
    'trials': lambda result: search_chart.draw(result['trials'])
}


def _read(path, keys):
  """Reads a file of results, a dict with one of `keys`."""
  result = files.need_json(path)
  if not keys & set(result):
    raise UserError(f'{path}: expected results of a benchmark or a search')
  if result.get('recipe') != 'tutorial' and result.get('flags'):
    # Of another recipe, such as `best`, before it had its name.
    name, _ = os.path.splitext(os.path.basename(path))
    result = dict(result, recipe=name)
  return result


def draw(paths, out, times=None):
  """Draws the results in the files at `paths` into the PNG file `out`.

  `times` is the path of a file of recipe_times.py, for the minutes of
  precisions. Raises UserError if matplotlib is not installed, or a file holds
  no results.
  """
  results = [_read(path, {'points', 'recipe', *_SINGLE}) for path in paths]
  if times:
    seconds = _read(times, {_SECONDS})[_SECONDS]
    results = [timed_again(result, seconds) for result in results]
  single = [key for key in _SINGLE for result in results if key in result]
  if single and len(results) > 1:
    raise UserError('of these results, only precisions are drawn together')
  figure = _SINGLE[single[0]](*results) if single else draw_precision(results)
  charts.save_png(figure, out)


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('results', nargs='+', help='files of JSON')
  parser.add_argument(
      '--out', help='the PNG file to write (default: beside the first file)')
  parser.add_argument('--times',
                      help='file of recipe_times.py with the seconds of a step')
  parser.run(lambda args: draw(
      args.results, args.out or os.path.splitext(args.results[0])[0] + '.png',
      args.times))
