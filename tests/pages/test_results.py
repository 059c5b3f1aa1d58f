"""The sentences of the pages hold the numbers of the raw files, rounded.

scripts/pages/tables.py writes those of the tables; scripts/lint.sh checks them.
"""

import csv
from statistics import mean
from statistics import median

import pytest

from tests import short_runs
from tests.pages import read

results, tables = (
    short_runs.module_of('pages', name) for name in ('results', 'tables'))
raw = results.raw


def shows(sentence, values):
  """True if the numbers in a sentence are `values`, rounded as they are shown.

  Halves are rounded either way.
  """
  found = raw.numbers(sentence.replace('+', ''))
  return len(found) == len(values) and all(
      abs(float(number.replace(',', '')) - value) <= 0.5001 *
      10**-len(number.partition('.')[2])
      for number, value in zip(found, values))


def speed():
  ratios, what = raw.ratios, 'training, batch 128'
  as_it_runs, with_onednn, _ = results.speed_of_readme()
  yield 'README.md', 'trains [3.62 times as fast]', as_it_runs[:1]
  yield 'README.md', 'or 2.2 to 2.6 times with', with_onednn[3::-3]
  yield 'docs/departures.md', 'The input alone is [7.41 times]', ratios(
      'benchmark', 'input', 'ours')[:1]
  page = 'docs/results/README.md'
  yield page, 'the second row: 2.24 (2.15 to 2.42)', ratios(
      'benchmark', what, 'float32')
  zen_3, zen_5 = (ratios(name, 'conv2 forward, backward', 'winograd')[0]
                  for name in ('benchmark', 'benchmark_zen5'))
  yield 'docs/departures.md', '34 % of the time on a Zen 3, and 56 %', [
      100 / zen_3, 3, 100 / zen_5
  ]
  for text, name, form in [('at 352 GFLOP/s', 'benchmark', 'winograd'),
                           ('at 115 GFLOP/s', 'benchmark', 'direct'),
                           ('were 957', 'benchmark_zen5', 'winograd'),
                           ('and 535', 'benchmark_zen5', 'direct'),
                           ('ran at 851', 'benchmark_zen5', 'direct bfloat16')]:
    conv2 = raw.rates(name, 'conv2 forward, backward')
    yield page, text, [median(conv2[form])]
  rates = raw.rates('benchmark_zen5')
  yield page, 'than in float32: 4,066 and 4,166', [
      median(rates[form]) for form in ('bfloat16', 'float32')
  ]
  preloaded = results.inputs()['preloaded']
  yield 'docs/distributed.md', 'Batches come [1.22', preloaded[5:6]
  of_onednn = raw.rates('onednn')
  for page, text in [('docs/departures.md', 'is [1.99 times](results'),
                     ('CHANGELOG.md', 'training is 1.99 times as fast')]:
    yield page, text, raw.times_as_fast(of_onednn['float32, oneDNN'],
                                        of_onednn['float32'])[:1]


def recipes():
  _, better, fast, best = results.recipes()
  yield 'docs/recipes.md', 'reach **94.07 %', fast[1:2]
  yield 'CHANGELOG.md', '93.25 % accuracy, 94.07 % with `--tta`', fast[:2]
  yield 'CHANGELOG.md', '94.44 %, 95.05 % with `--tta`', best[:2]
  yield 'CHANGELOG.md', '89.06 %, 90.02 % with `--tta`', better[:2]
  page, runs = 'docs/recipes.md', raw.read('fast')['results']
  with_tta = [raw.evaluated(run)[1] for run in runs]
  yield page, '(93.80 to 94.31 %)', [min(with_tta), max(with_tta)]
  averaged = runs[0]['evaluations'][-1]
  yield page, 'reached 93.92 % with them and `--tta`, and 94.10 %', [
      100 * averaged['precision @ 1'], with_tta[0]
  ]
  runs = raw.read('fast_9_epochs')['results']
  yield page, 'it reached 94.15 %', [mean(raw.evaluated(r)[1] for r in runs)]
  yield page, 'took 8.3 minutes', [mean(r['minutes of training'] for r in runs)]
  yield page, 'reach **95.05 %', best[1:2]
  yield page, 'and reach **89.06 %', better[:1]
  yield page, 'or 90.02 % with', better[1:2]
  page, points = 'docs/results/README.md', raw.read('bfloat16')['points']
  last = points[-1]
  yield page, 'they took 101 minutes', [last['minutes']]
  yield page, 'and reached 86.54 %', [last['averaged'] / 100]
  runs = raw.read('tutorial')['results']
  alone, with_tta = zip(*map(raw.evaluated, runs))
  plain = [
      e['correct'] / 100
      for run in runs
      for e in run['evaluations']
      if not e['moving_averages']
  ]
  assert plain[0] == raw.read('float32')['points'][-1]['plain'] / 100
  yield page, 'reached 85.84 %, and 82.62 %', [alone[0], plain[0]]
  yield page, 'reached 86.31 and 86.06 %, and 82.03 and 83.42 %', [
      *alone[1:], *plain[1:]
  ]
  yield 'docs/tutorial.md', 'reached 85.84 to 86.31 %', [min(alone), max(alone)]
  page, gains = 'docs/techniques.md', [a - p for a, p in zip(alone, plain)]
  yield page, '82.69 to 86.07 %', [mean(plain), mean(alone)]
  yield page, '(by 2.6 to 4.3 points', [min(gains), max(gains)]
  yield page, 'from 86.07 % to 87.39 %', [mean(alone), mean(with_tta)]
  yield 'docs/tutorial.md', '86.54 % after 100,000 steps', [
      last['averaged'] / 100, last['step']
  ]
  gains = [(p['averaged'] - p['plain']) / 100 for p in points[1:]]
  yield 'docs/tutorial.md', 'worth 2.8 to 7.5 percentage points', [
      min(gains), max(gains)
  ]


def techniques():
  rows = raw.compared()
  by = {name: 100 * row.get('at_steps', 0) for name, row in rows.items()}
  yield 'README.md', 'Each of 54 variants of', [len(rows) - 1]
  page = 'docs/results/techniques.md'
  yield page, 'only 51.9 %', [100 * rows['He, uniform']['averaged']]
  yield page, 'schedule costs 9.3', [-by['exponential, continuous']]
  yield page, 'dropout 3.1 points, dropout of the input 3.3, cutout 3.4', [
      -by[name] for name in ('dropout', 'dropout of the input', 'with cutout')
  ]
  page = 'docs/techniques.md'
  yield page, 'Xavier +0.8, LeCun -0.4.', [by['Xavier'], by['LeCun']]
  yield page, 'tanh loses 3.2 points', [-by['tanh']]
  yield page, '+1.6, and +2.1 with `--normalize_logits`', [
      by['batch normalization'], by['batch normalization, logits too']
  ]
  yield page, 'Adam -1.2, RMSProp -1.4, AdaGrad -9.9.', [
      by[name] for name in ('Adam', 'RMSProp', 'AdaGrad')
  ]
  yield page, 'cutout 3.4, rotation 2.4, zoom 2.3, shift 1.7', [
      -by['with ' + name] for name in ('cutout', 'rotation', 'zoom', 'shift')
  ]
  rows = raw.compared_when_tuned()
  by = {name: 100 * row['at_steps'] for name, row in rows.items()}
  yield page, 'Tuned: Nesterov +0.8, FTRL -0.2, AdaGrad -0.5', [
      by[name] for name in ('Nesterov', 'FTRL', 'AdaGrad')
  ]
  yield page, 'That is 3.7 points less', [-by['the guideline']]


def others():
  faults = 0
  for version in ('2.21', '1.15.5'):
    path = raw.ROOT / 'docs' / 'results' / f'faults_{version}.csv'
    with open(str(path), encoding='utf-8') as file:
      faults += sum(not fault['problem'] for fault in csv.DictReader(file))
  yield 'README.md', '750 [random', [faults]
  few = raw.runs('hundred_labels')
  yield 'docs/transfer.md', 'gain 7 points', [
      mean(few['distorted_pairs, convolutions frozen', 500]) -
      mean(few['random, convolutions frozen', 500])
  ]
  page, ways = 'docs/distributed.md', results.clusters()
  yield page, 'are the fastest, with 39.0 %', [mean(ways[1][1:3])]
  yield page, ('lead with 53.7 %; columns have 50.8 %, `filters` 49.9 %, '
               'asynchronous workers 49.4 %'), [
                   mean(ways[way][-2:]) for way in (0, 3, 2, 1)
               ]
  five = results.ensembles()[3]
  yield 'docs/predict_export_report.md', (
      'reach 80.5 %; the best of them alone reaches 79.7 %'), five[:2]
  for text in ('That is 1,068,298 parameters', 'it sends 2.14 MB'):
    parameters = 1068298  # Checked by test_cifar10.py.
    yield page, text, [parameters if 'para' in text else 2 * parameters / 1e6]


@pytest.mark.parametrize('sentences', [speed, recipes, techniques, others],
                         ids=lambda sentences: sentences.__name__)
def test_sentences_show_the_raw_numbers(sentences):
  wrong = [
      (page, text, values)
      for page, text, values in sentences()
      if text not in ' '.join(read(page).split()) or not shows(text, values)
  ]
  assert not wrong


@pytest.mark.parametrize('name, rows', [('techniques', raw.compared),
                                        ('tuned', raw.compared_when_tuned)])
def test_a_table_has_the_names_that_its_chart_has(name, rows):
  page = read('docs/results/techniques.md')
  table = page.partition(f'<!-- results: {name} -->\n\n')[2].partition(
      '\n\n')[0]
  names = [row.split(' | ')[0][2:] for row in table.splitlines()[3:]]
  assert sorted(names) == sorted({*rows()} - {'default'})


def test_rows_of_all_tables_are_written_with_their_digits(monkeypatch):
  rows = [[1234.567, None, '+0.5'], [0.5, 2]]
  monkeypatch.setattr(results, 'gradients', lambda: rows)
  monkeypatch.setattr(tables, 'results', results)
  page = ('<!-- results: gradients -->\n\n| 1 | `2` | 3 |\n|---|---|---|\n'
          '| 10 | 1.0 (5) | [-0.1](x_2.md) `7` float32 |\n'
          '| 10 | 1,000 %%%s | |\n\n| 8 |\n')
  new = tables.written(page % ' 7.00')
  assert new == (
      '<!-- results: gradients -->\n\n| 1 | `2` | 3 |\n|---|---|---|\n'
      '| 10 | 1,234.6 (5) | [+0.5](x_2.md) `7` float32 |\n'
      '| 10 | 0 % 2.00 | |\n\n| 8 |\n')
  with pytest.raises(ValueError, match='expected 2 numbers'):
    tables.written(page % '')
  rows.pop()
  with pytest.raises(ValueError, match='gradients: expected 1 rows'):
    tables.written(page % ' 7.00')
