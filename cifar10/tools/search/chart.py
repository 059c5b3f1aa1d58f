"""The chart of a search: precision against each setting that it varied."""

from cifar10.tools.report import charts

_FEW = 4  # Up to this many values of a setting are shown side by side.
_WIDE = 5  # A scale is logarithmic if its numbers span this factor.


def draw(trials):
  """Draws the precision of all trials over the values of each setting.

  `trials` are dicts as in `trials.json`. Returns the figure. Trials that were
  given up are pale, at their last precision.
  """
  shown = []
  for trial in trials:
    whole, validations = trial['precision'], trial['validations']
    if whole is not None or validations:
      shown.append((trial['params'], whole, whole or validations[-1][1]))
  best = max((whole or 0 for _, whole, _ in shown), default=None)
  names = list(trials[0]['params']) if trials else []
  rows = -(-len(names) // 2) or 1
  figure = charts.new_figure(2.2 * rows + 0.6, 'search')
  for number, name in enumerate(names, 1):
    axes = figure.add_subplot(rows, 2, number)
    place = _scale(axes, [params[name] for params, _, _ in shown])
    for params, whole, last in shown:
      color = 'tab:red' if whole == best else 'tab:blue'
      axes.plot(place(params[name]), 100 * last, 'o', color=color,
                alpha=0.3 if whole is None else 1)
    axes.tick_params(axis='x', labelsize='small')
    axes.set_xlabel(name)
    axes.grid(alpha=0.3)
    if number % 2:
      axes.set_ylabel('validation precision, %')
  figure.tight_layout()
  return figure


def _scale(axes, values):
  """Sets the scale of a setting; returns the function from value to place."""
  from matplotlib import ticker

  choices = sorted(set(values))
  if len(choices) > _FEW and not isinstance(choices[0], str):
    if choices[0] > 0 and choices[-1] / choices[0] > _WIDE:
      axes.set_xscale('log')
      axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 3)))
      axes.xaxis.set_minor_locator(ticker.NullLocator())
      axes.xaxis.set_major_formatter('{x:g}')
    return lambda value: value
  axes.set_xticks(range(len(choices)))
  # The words of a list are one below the other.
  axes.set_xticklabels([str(choice).replace(',', '\n') for choice in choices])
  axes.margins(x=0.2)
  return choices.index
