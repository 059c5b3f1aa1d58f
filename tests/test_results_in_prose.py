"""The sentences of the chapter on techniques hold the numbers of raw files."""

from tests import test_korean_pages
from tests import test_results


def sentences():
  """Sentences of the chapter on techniques, and the numbers in each."""
  rows = {each['name']: each for each in test_results.rows_of_techniques()}
  by = {name: 100 * each.get('at_steps', 0) for name, each in rows.items()}
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
  yield 'a higher one, 74.1 against 72.2 %.', test_results.percents(
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
  gains = [(last['averaged'] - last['plain']) / 100
           for last in (next(p
                             for p in r['points']
                             if p['step'] == 5000)
                        for r in test_results.raw('techniques')['results']
                        if r['name'] == 'default')]
  yield '77.8 instead of 72.2 %, in three runs 4.2 to 8.4 points', [
      *test_results.percents(
          [rows['default'][k] for k in ('averaged', 'plain')], 1),
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


def test_sentences_show_the_raw_numbers():
  page = ' '.join(test_korean_pages.read('docs/techniques.md').split())
  for sentence, values in sentences():
    assert sentence in page
    assert test_results.shows([sentence.replace('+', '')],
                              values), (sentence, values)
