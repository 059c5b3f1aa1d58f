"""The sentences of the pages hold the numbers of the raw files, rounded.

A function for each page yields pieces of its sentences, each with the numbers
in it. Numbers that a page rounds to hundreds or more are rounded here.
"""

import csv
from itertools import combinations
import os
from statistics import mean
from statistics import median

import pytest

from tests import test_korean_pages
from tests import test_plot
from tests import test_results

raw, percents = test_results.raw, test_results.percents


def rows_by_name():
  """The rows of the comparison of techniques."""
  return {each['name']: each for each in test_results.rows_of_techniques()}


def points_by_name(key='at_steps'):
  """What each technique gains over the default, in points."""
  return {name: 100 * each.get(key, 0) for name, each in rows_by_name().items()}


def after_5000_steps():
  """The right answers of each technique, a list over the seeds."""
  found = {}
  for result in raw('techniques')['results']:
    for point in result.get('points', ()):
      if point['step'] == 5000:
        found.setdefault(result['name'], []).append(point)
  return found


def gains_of_averages(points):
  """What the averages gain at each point, in points of precision."""
  return [(p['averaged'] - p['plain']) / 100 for p in points]


def rates_by_form():
  """The values of all rounds of the benchmark, by (what, form)."""
  return {
      (each['what'], each['form']): each['values']
      for each in raw('benchmark')['rows']
  }


def readme():
  what, rates = 'training, batch 128', rates_by_form()
  for text, form in [('trains 2.08 times', 'float32'),
                     ('or 2.32 times', 'bfloat16')]:
    yield text, test_results.ratios('benchmark', what, form)[:1]
  ours = rates[what, 'float32']
  for text, other in [('2.04 (1.84 to 2.32) times', 'Keras'),
                      ('2.87 (2.60 to 3.18) times', 'PyTorch compiled')]:
    yield text, test_results.times_as_fast(ours, rates[what, other])
  yield 'is 2.85 (2.49 to 3.04) times', test_results.ratios(
      'onednn', what, 'float32, oneDNN')
  fast = raw('fast')['results']
  yield 'reaches 94.15 %', [mean(test_results.evaluated(r)[1] for r in fast)]
  yield 'after 8.3 minutes', [mean(r['minutes of training'] for r in fast)]
  faults = []
  for version in ('2.21', '1.15.5'):
    path = os.path.join(test_plot.RESULTS, f'faults_{version}.csv')
    with open(path, encoding='utf-8') as file:
      faults += csv.DictReader(file)
  yield '1,800 [random', [sum(not fault['problem'] for fault in faults)]
  yield 'the effect of 51 variants was measured', [len(rows_by_name()) - 1]


def recipes():
  fast = raw('fast')['results']
  plain, with_tta = zip(*map(test_results.evaluated, fast))
  yield 'reach **94.15 %', [mean(with_tta)]
  yield '(94.03 to 94.27 %), after 8.3 minutes of training and another 0.8', [
      min(with_tta),
      max(with_tta),
      mean(r['minutes of training'] for r in fast),
      mean(r['evaluations'][1]['minutes'] for r in fast)
  ]
  yield 'precision is 93.42 %', [mean(plain)]
  best = raw('best')['results']
  of_best = test_results.evaluated_in_the_mean('best')
  yield 'reach **95.17 %', of_best[1:]
  texts = 'a run of 12 epochs reached 94.97 % with', 'one of 15 epochs 94.96 %'
  for text, tried in zip(texts, raw('best_tried')['files']):
    epochs = tried['flags'][1].partition('=')[2]
    (run,) = tried['results']
    yield text, [int(epochs), test_results.evaluated(run)[1]]
  yield 'after 40.6 minutes of training; without `--tta`, 94.68 %', [
      mean(run['minutes of training'] for run in best), of_best[0]
  ]
  of_better = test_results.evaluated_in_the_mean('better')
  yield 'and reach **89.06 %', of_better[:1]
  yield 'or 90.02 % with', of_better[1:]
  of_recipe = raw('recipe_times')['seconds of a step']
  steps = median(
      9766 * a / b for a, b in zip(of_recipe['better'], of_recipe['tutorial']))
  yield 'as long as [73,000 steps]', [round(steps, -3)]
  trials = raw('search')['trials']
  yield 'with 83.1 % on', [100 * max(t.get('precision') or 0 for t in trials)]


def transfer():
  few, thousand, hundred = map(test_results.runs,
                               ('transfer_20', 'few_labels', 'hundred_labels'))
  yield '(80.8 %)', test_results.runs('techniques')['default', 10000][:1]
  steps = range(200, 1001, 200)
  yield 'fell again after step 600', [
      max(steps, key=lambda step: few['frozen, computed once', step])
  ]
  frozen = ', convolutions frozen'
  yield 'gain 7 points', [
      mean(hundred['distorted_pairs' + frozen, 500]) -
      mean(hundred['random' + frozen, 500])
  ]
  (labels_alone,) = thousand['default', 1000]
  yield '54.2 %, against 51.3 %', [
      labels_alone, *thousand['distorted_pairs' + frozen, 1000]
  ]
  yield '22 points behind at first, and 10 at the end', [
      thousand['default', 200][0] - thousand['corrupted', 200][0],
      labels_alone - thousand['corrupted', 1000][0]
  ]


def results():
  points = raw('bfloat16')['points']
  yield 'took 101 minutes on the EPYC and reached 86.54 %', [
      points[-1]['minutes'], points[-1]['averaged'] / 100
  ]
  yield '(8,654 of the 10,000 test images), and 82.26 %', [
      points[-1]['averaged'], 10000, points[-1]['plain'] / 100
  ]
  first = next(p for p in points if p['averaged'] >= 8600)
  yield 'at step 80,000, after 79 minutes', [first['step'], first['minutes']]
  last = raw('float32')['points'][-1]
  yield 'reached 85.84 %, and 82.62 %', percents(
      [last['averaged'], last['plain']])
  step = raw('tutorial')['results'][0]['seconds of a step']
  yield 'took 0.070 seconds, and one in twenty more than 0.085', [
      step['median'], step['95 %']
  ]
  rates = rates_by_form()
  for text, form in [('at 606 GFLOP/s', 'winograd'),
                     ('at 262 GFLOP/s', 'direct'),
                     ('at 444 GFLOP/s', 'direct bfloat16')]:
    yield text, [median(rates['conv2 forward, backward', form])]
  yield 'about 2,800 images a second', [
      round(median(rates['training, batch 128', 'float32']), -2)
  ]
  avx2 = 'benchmark_avx2'
  for text, row in [
      ('1.68 (1.55 to 1.91) times', ('training, batch 128', 'float32')),
      ('evaluation 1.31 (1.19 to 1.49)', ('evaluation of 10000', 'float32')),
      ('alone 6.74 (3.00 to 7.90)', ('input', 'ours')),
      ('1.06 (0.87 to 1.25) times for', ('conv2 forward', 'winograd')),
      ('1.60 (1.44 to 1.92) times', ('conv2 forward, backward', 'winograd'))
  ]:
    yield text, test_results.ratios(avx2, *row)
  default, l1, ftrl = (r['threshold'] for r in raw('sparse')['results'])
  yield 'is 0.024 for the default, 0.030 with', [default, l1]
  yield 'and 0.022 with FTRL', [ftrl]
  unaided = test_results.runs('hundred_labels')['default', 500]
  yield 'differ by up to 7.3 points', [max(unaided) - min(unaided)]


def results_of_techniques():
  rows, by = rows_by_name(), points_by_name()
  in_time = points_by_name('at_time')
  own = [t['ratio'] for t in raw('techniques')['times'] if not t['flags']]
  yield '0.97 to 1.05 times', [min(own), max(own)]
  points = after_5000_steps()
  yield 'In the 25 rows', [sum(len(found) > 1 for found in points.values())]
  differences = [[
      abs(a[kind] - b[kind]) / 100
      for found in points.values()
      for a, b in combinations(found, 2)
  ]
                 for kind in ('averaged', 'plain')]
  yield ('by 0.3 points on average and by at most 1.6 (LeCun), their plain '
         'precision by 1.8 points on average and by at most 5.7'), [
             value for each in differences for value in (mean(each), max(each))
         ]
  yield ('normalization, 1.6 points, or 2.1 with the logits. Then Nesterov '
         "momentum, 1.0, and Xavier's initial weights, 0.8"), [
             by[name]
             for name in ('batch normalization', 'logits normalized too',
                          'Nesterov', 'xavier')
         ]
  yield 'gains 2.2 points; batch normalization', [in_time['no normalization']]
  yield 'gains 1.8', [in_time['batch normalization']]
  slow = [rows[name]['time'] for name in ('PReLU', 'RReLU')]
  yield 'take 1.7 times as long', [mean(slow)]
  yield 'ELU gains 0.4', [by['ELU']]
  yield '5.6 points for the default', [
      mean(gains_of_averages(points['default']))
  ]
  yield '78.4 % plain', [
      100 * max(each.get('plain', 0) for each in rows.values())
  ]
  lowered = [-by[name] for name in ('piecewise', 'exponential', 'power')]
  yield 'costs 1.5 to 2.5 points, and `one_cycle` at that rate 2.1', [
      min(lowered), max(lowered), -by['one cycle']
  ]
  yield 'schedule costs 9.3', [-by['exponential, continuous']]
  yield 'dropout 3.1 points, dropout of the input 3.3, cutout 3.4', [
      -by[name] for name in ('dropout', 'dropout of input', 'cutout')
  ]
  yield 'worth 1.2 points, and its distortions 2.0', [
      -by['no weight decay'], -by['no distortions']
  ]
  yield 'only 51.9 %', [100 * rows['he, uniform']['averaged']]
  yield '7 to 8 points behind', [-by['he, 0.02'], -by['SELU, 0.01']]
  yield '[reaches 78.0 %]', [
      raw('sparse')['results'][2]['dense_points'][-1]['averaged'] / 100
  ]


def tutorial():
  points = raw('bfloat16')['points']
  at = {p['step']: p for p in points}
  last = at[100000]['averaged'] / 100
  yield '86.54 % after 100,000 steps, in [101 minutes]', [
      last, 100000, at[100000]['minutes']
  ]
  queues = {
      each['what']: each['median']
      for each in raw('inputs')['rows']
      if each['form'] == 'queues'
  }
  yield 'prepare [81,100 images', [round(queues['input'], -2)]
  for text in 'ready [after 0.31', 'the 0.31 seconds':
    yield text, [queues['first batch of the session']]
  curves = raw('tutorial/curves')
  yield 'about 4.68, a little', [dict(curves['losses/total_loss_raw'])[0]]
  loss = dict(curves['losses/total_loss'])
  yield 'from 1.57 to 1.35 within 100 steps', [loss[2300], loss[2400], 100]
  yield 'slowly to 1.16', [loss[4999]]
  yield 'was 0.865, which', [last / 100]
  yield (
      'from 86.54 % to 82.26 % after 100,000 steps, and from 77.56 % to 72.16 '
      '% after 5,000'), [
          last, at[100000]['plain'] / 100, 100000, at[5000]['averaged'] / 100,
          at[5000]['plain'] / 100, 5000
      ]
  gains = gains_of_averages(points[1:])
  yield 'worth 2.8 to 7.5 percentage points', [min(gains), max(gains)]
  yield 'gained [1.6 percentage', [points_by_name()['batch normalization']]
  of_three = raw('ensembles')[2]
  yield '[80.74 %](results/README.md#ensembles) with three networks, 79.65 %', (
      percents([
          of_three['correct'],
          max(each['correct'] for each in of_three['networks'])
      ]))


def techniques():
  rows, by = rows_by_name(), points_by_name()
  yield 'Xavier +0.8, LeCun -0.4.', [by['xavier'], by['lecun']]
  yield 'He trains, but is 7 points behind', [-by['he, 0.02']]
  yield 'ELU has +0.4, which may be chance, and a step takes 1.04 times', [
      by['ELU'], rows['ELU']['time']
  ]
  yield 'tanh loses 3.2 points', [-by['tanh']]
  batch, muon = by['batch normalization'], by['Muon']
  yield '+1.6, and +2.1 with the logits', [batch, by['logits normalized too']]
  yield 'costs 6.2 points, one of 0.5 for each variable 5.7', [
      -by['clip global norm'], 0.5, -by['clip each norm']
  ]
  yield ('Nesterov +1.0, momentum +0.6; Muon with batch normalization -0.1, '
         '1.7 less than batch normalization alone; Adam -1.2, RMSProp -1.4, '
         'AdaGrad -9.9.'), [
             by['Nesterov'], by['momentum'], muon, batch - muon, by['Adam'],
             by['RMSProp'], by['AdaGrad']
         ]
  yield 'a higher one, 74.1 against 72.2 %.', percents(
      [rows['Adam']['plain'], rows['default']['plain']], 1)
  yield (
      'costs 1.5 to 2.5 points, or 9.3 with `--nostaircase`; `one_cycle` at '
      'that rate costs 2.1. `performance` is as precise as the default (-0.3)'
  ), [
      -by['piecewise'], -by['exponential'], -by['exponential, continuous'],
      -by['one cycle'], by['performance']
  ]
  yield '`one_cycle` at twice the rate (+0.3)', [by['one cycle, 0.2']]
  yield 'which is the best without averages: 78.4 %.', [
      100 * max(each.get('plain', 0) for each in rows.values())
  ]
  gains = gains_of_averages(after_5000_steps()['default'])
  yield '77.8 instead of 72.2 %, in three runs 4.2 to 8.4 points', [
      *percents([rows['default'][k] for k in ('averaged', 'plain')], 1),
      min(gains),
      max(gains)
  ]
  yield ("The tutorial's weight decay +1.2 against none; `--dropout=0.5` -3.1, "
         '`--max_norm=3` -0.1, `--label_smoothing=0.1` -0.8.'), [
             -by['no weight decay'], by['dropout'], by['max-norm'],
             by['label smoothing']
         ]
  yield '+2.0 against none; crop and flip alone are as good (+0.3)', [
      -by['no distortions'], by['crop and flip']
  ]
  yield ('cutout 3.4, rotation 2.4, zoom 2.3, shift 1.7, saturation and hue '
         '0.6.'), [
             -by[name] for name in ('cutout', 'rotate', 'resize', 'shift',
                                    'saturation and hue')
         ]


PAGES = {
    'README.md': readme,
    'docs/recipes.md': recipes,
    'docs/results/README.md': results,
    'docs/results/techniques.md': results_of_techniques,
    'docs/techniques.md': techniques,
    'docs/transfer.md': transfer,
    'docs/tutorial.md': tutorial
}


@pytest.mark.parametrize('page', PAGES)
def test_sentences_show_the_raw_numbers(page):
  text = ' '.join(test_korean_pages.read(page).split())
  for sentence, values in PAGES[page]():
    assert text.count(sentence) == 1, sentence
    assert test_results.shows([sentence.replace('+', '')],
                              values), (sentence, values)
