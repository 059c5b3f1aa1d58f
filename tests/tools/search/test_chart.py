"""The chart of a search: precision over the values of each setting."""

from cifar10.tools.search import chart

TRIALS = [
    {'params': dict(zip(('learning_rate', 'dropout', 'augment'), params)),
     'precision': precision, 'validations': validations}
    for *params, precision, validations in (
        (0.01, 0.0, 'crop', 0.5, [[10, 0.4], [20, 0.5]]),
        (0.02, 0.5, 'crop,flip', 0.7, [[10, 0.6], [20, 0.7]]),
        (0.04, 0.5, 'crop', 0.6, [[10, 0.6]]),
        (0.08, 0.0, 'crop', 0.55, [[10, 0.55]]),
        (0.16, 0.0, 'crop,flip', None, [[10, 0.3]]),
        (0.32, 0.0, 'crop', None, []))
]  # yapf: disable


def dots(axes):
  """For each dot its place, precision, color and opacity."""
  return [(*line.get_xydata()[0], line.get_color(), line.get_alpha())
          for line in axes.get_lines()]


def test_each_setting_has_axes_with_all_trials():
  rate, dropout, augment = chart.draw(TRIALS).axes
  assert rate.get_xlabel() == 'learning_rate' and rate.get_xscale() == 'log'
  found = [(x, round(y), color, alpha) for x, y, color, alpha in dots(rate)]
  assert found == [(0.01, 50, 'tab:blue', 1), (0.02, 70, 'tab:red', 1),
                   (0.04, 60, 'tab:blue', 1), (0.08, 55, 'tab:blue', 1),
                   (0.16, 30, 'tab:blue', 0.3)]
  assert [x for x, *_ in dots(dropout)] == [0, 1, 1, 0, 0]
  assert [tick.get_text() for tick in dropout.get_xticklabels()
         ] == ['0.0', '0.5']
  assert [tick.get_text() for tick in augment.get_xticklabels()
         ] == ['crop', 'crop\nflip']
