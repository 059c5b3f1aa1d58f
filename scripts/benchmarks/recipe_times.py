#!/usr/bin/env python
"""Measures how long each recipe takes on this machine, from a few of its steps.

    python scripts/benchmarks/recipe_times.py --out=recipe_times.json

The recipes take turns. In each, a recipe is trained for about 12,000 images,
and the median time of its steps is multiplied by the number of steps of a whole
run: 100,000 for the tutorial. Prints this as a table in Markdown, and writes
the seconds of a step into --out. Flags of cifar10_train follow `--`. Nothing
else should run meanwhile.
"""

import operator
import statistics

import package_path
from cifar10 import cifar10_input
from cifar10.run import recipes
from cifar10.settings import FIELDS
from cifar10.settings import Settings
from cifar10.store import run_state
from cifar10.tools import variants
from cifar10.util import arguments
from cifar10.util import files
import compare
import turns

RECIPES = FIELDS['recipe'].metadata['choices']
_STEPS_OF_TUTORIAL = 100000
_IMAGES = 12000  # Of a turn.
_FIRST = 2  # Steps that are not counted: TensorFlow prepares its operations.


def of_recipe(recipe):
  """The settings.Settings of a whole run."""
  return Settings(max_steps=_STEPS_OF_TUTORIAL, **recipes.settings(recipe))


def steps(recipe):
  """The steps of a whole run."""
  settings = of_recipe(recipe)
  state = run_state.RunState((), cifar10_input.NUM_EXAMPLES_PER_EPOCH_FOR_TRAIN,
                             ((0, settings.batch_size),), ())
  return state.last_step(settings)


def seconds_of_step(recipe, flags):
  """Trains a recipe for a turn; the median of the seconds of a step."""
  max_steps = _FIRST + _IMAGES // of_recipe(recipe).batch_size
  found = compare.short_run(f'--recipe={recipe}', f'--max_steps={max_steps}',
                            '--log_frequency=1', *flags)
  times = [row['time'] for row in found[_FIRST:]]
  return statistics.median(map(operator.sub, times[1:], times))


def table(seconds):
  """The table in Markdown, from the seconds of a step by recipe and round."""
  rows = []
  for recipe, values in seconds.items():
    count = steps(recipe)
    ratios = [
        count * own / other for own, other in zip(values, seconds['tutorial'])
    ]
    own = statistics.median(values)
    rows.append([
        f'`{recipe}`', f'{count:,}',
        f'{own:.3g} ({min(values):.3g} to {max(values):.3g})',
        f'{count * own / 60:.0f}', f'{statistics.median(ratios):,.0f}'
    ])
  heads = ['recipe', 'steps', 'seconds of a step', 'minutes', 'tutorial steps']
  return variants.table(heads, rows, right=range(1, 5))


def measure(args):
  """Measures, writes the results after each turn, and prints the table."""
  seconds = {recipe: [] for recipe in RECIPES}
  about = {'machine': turns.machine(), 'seconds of a step': seconds}
  for _ in range(args.rounds):
    for recipe, values in seconds.items():
      values.append(seconds_of_step(recipe, args.flags))
      files.write_json(args.out, about)
  print(table(seconds))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  parser.add_argument('--rounds', default=3, help='turns of each recipe')
  parser.add_argument('--out', required=True, help='JSON file')
  parser.add_argument('flags', nargs='*', help='flags of cifar10_train')
  parser.run(measure, rounds=(1, None))
