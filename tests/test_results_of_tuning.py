"""What the pages say of tuned techniques holds the numbers of tuning.json."""

import os

import pytest

from tests import short_runs
from tests import test_korean_pages
from tests import test_results

FOLDER = os.path.join(short_runs.ROOT, 'scripts', 'benchmarks')
PAGE = 'docs/results/techniques.md'

# How the page calls techniques that the raw file names more briefly.
NAMES = {
    'default': 'the default',
    'he': 'He',
    'Muon': 'Muon, batch normalization',
    'sigmoid': 'sigmoid, Xavier, batch normalization',
    'clip global norm': 'clipping by global norm'
}

tuning = short_runs.module_at(os.path.join(FOLDER, 'tuning.py'))


@pytest.fixture(name='rows', scope='module')
def rows_by_name():
  experiments = tuning.load_experiments(
      os.path.join(FOLDER, 'experiments', 'tuning.json'))
  found = test_results.raw('tuning')
  best = {'default': [], **tuning.tuned(experiments, found['tuning'])}
  rows = tuning.compared(dict(experiments, variants=best), found,
                         test_results.raw('techniques'))
  return {row['name']: row for row in rows}


def test_the_comparison_is_complete(rows):
  for name, row in rows.items():
    is_near = abs(row['at_steps']) <= 0.01
    assert not row['errors']
    assert row['runs'] == 2 or row['runs'] == 1 and not is_near, name


def test_the_page_has_the_table_of_the_program(rows):
  page = test_korean_pages.read(PAGE)
  named = [dict(row, name=NAMES.get(name, name)) for name, row in rows.items()]
  for line in tuning.table(named).splitlines()[2:]:
    assert line + '\n' in page


def of_page(rows):
  by = {name: 100 * row['at_steps'] for name, row in rows.items()}
  half = {name: 100 * row['at_half'] for name, row in rows.items()}
  before = {name: 100 * (row['before'] or 0) for name, row in rows.items()}
  yield 'AdaGrad loses 0.5 points at a rate of 0.1, instead of 9.9', [
      -by['AdaGrad'], 0.1, -before['AdaGrad']
  ]
  yield 'costs 0.5 instead of 6.2', [
      -by['clip global norm'], -before['clip global norm']
  ]
  yield 'keeps the initial weights, is 0.2 behind', [-by['FTRL']]
  yield 'they reach 76.4 %', [100 * rows['sigmoid']['averaged']]
  yield 'at a rate of 0.3 gains 0.4 points', [0.3, by['one cycle']]
  yield 'while its rate is large, it is 1.4 behind', [-half['one cycle']]
  yield 'themselves have 82.0 %, those of the default 77.5 %', [
      100 * rows[name]['plain'] for name in ('one cycle', 'default')
  ]
  yield ('is 2.2 points ahead after 5,000 steps and 0.8 after 10,000, batch '
         'normalization 2.4 and 0.9'), [
             half['Nesterov'], 5000, by['Nesterov'], 10000,
             half['batch normalization'], by['batch normalization']
         ]
  yield 'Muon, 0.1 ahead, falls 2.0 behind', [half['Muon'], -by['Muon']]
  yield 'goes from 0.6 ahead to 0.3 behind', [
      half['gradient descent'], -by['gradient descent']
  ]
  yield 'it costs 0.5 and 0.1 points. Cutout costs 3.4', [
      -by[name] for name in ('dropout', 'label smoothing', 'cutout')
  ]
  yield 'Adam from 1.1 behind to 2.2, RMSProp from 1.7 to 2.1', [
      -half['Adam'], -by['Adam'], -half['RMSProp'], -by['RMSProp']
  ]
  yield 'from 7.6 behind to 5.3, and from 4.3 to 3.2', [
      -half['he'], -by['he'], -half['SELU'], -by['SELU']
  ]
  guideline, adam = 'the guideline', 'the guideline, Adam'
  yield '77.8 %, or 77.5 % with Adam, 3.7 and 3.9 points less', [
      100 * rows[guideline]['averaged'], 100 * rows[adam]['averaged'],
      -by[guideline], -by[adam]
  ]


def of_chapter(rows):
  by = {name: 100 * row['at_steps'] for name, row in rows.items()}
  yield 'tuned, they reach 76.4 %, 5.0 points less', [
      100 * rows['sigmoid']['averaged'], -by['sigmoid']
  ]
  yield 'after 5,000 steps, and 5 after 10,000', [5000, -by['he'], 10000]
  yield 'with a rate of 0.4, +0.9', [0.4, by['batch normalization']]
  yield 'Tuned, a limit of 4 costs 0.5', [4, -by['clip global norm']]
  yield 'Tuned: Nesterov +0.8, FTRL -0.2, AdaGrad -0.5', [
      by[name] for name in ('Nesterov', 'FTRL', 'AdaGrad')
  ]
  yield 'normalization -2.0, RMSProp -2.1, Adam -2.2', [
      by[name] for name in ('Muon', 'RMSProp', 'Adam')
  ]
  yield '`one_cycle` has +0.4, and 82.0 % without averages', [
      by['one cycle'], 100 * rows['one cycle']['plain']
  ]
  yield '`--dropout=0.1` -0.5, `--label_smoothing=0.02` -0.1', [
      by['dropout'], by['label smoothing']
  ]
  yield 'Tuned, cutout costs 3.4', [-by['cutout']]
  guideline, adam = 'the guideline', 'the guideline, Adam'
  yield 'these settings reach 77.8 % after 10,000 steps', [
      100 * rows[guideline]['averaged'], 10000
  ]
  yield 'That is 3.7 points less', [-by[guideline]]
  yield 'Nesterov, it is 77.5 %, 3.9 points less', [
      100 * rows[adam]['averaged'], -by[adam]
  ]


@pytest.mark.parametrize('page, pieces', [(PAGE, of_page),
                                          ('docs/techniques.md', of_chapter)])
def test_sentences_show_the_raw_numbers(page, pieces, rows):
  text = ' '.join(test_korean_pages.read(page).split())
  wrong = [(piece, values)
           for piece, values in pieces(rows)
           if piece not in text or
           not test_results.shows([piece.replace('+', '')], values)]
  assert not wrong


def test_rates_at_the_upper_end_are_named(rows):
  largest = set()
  for name, row in rows.items():
    rates = [
        float(flag.split('=')[1])
        for flag, _ in row['tried']
        if 'learning_rate' in flag
    ]
    if rates and float(row['flags'][-1].split('=')[1]) == max(rates):
      largest.add(name)
  assert largest == {
      'gradient descent', 'Nesterov', 'AdaGrad', 'batch normalization', 'SELU',
      'one cycle', 'cutout', 'the guideline'
  }
