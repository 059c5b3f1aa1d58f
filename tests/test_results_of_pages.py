"""Sentences and tables of other pages hold the numbers of raw files, too.

Some numbers have no raw file: they follow from the sizes of the network, or
from other numbers of the same page.
"""

import csv
import os
import re
import shlex
from statistics import mean
from statistics import median

import pytest

from cifar10.data import sources
from tests import short_runs
from tests import test_korean_pages
from tests import test_plot
from tests import test_results
from tests.cluster import test_placement

CLUSTERS = 'docs/results/clusters.md'
PARAMETERS = test_placement.PARAMETERS
MEGABYTES = 4 * PARAMETERS / 1e6
LAST_LAYER = (192 + 1) * 10  # Its parameters.

predict_scaling = short_runs.module_at(
    os.path.join(short_runs.ROOT, 'scripts', 'benchmarks',
                 'predict_scaling.py'))

ratios, raw, row = test_results.ratios, test_results.raw, test_results.row


def numbers(page, label, after=''):
  """The numbers in a row of a page, behind its label."""
  found = re.findall(r'[\d,]*\.?\d+', ' '.join(row(page, label, after)))
  return [float(number.replace(',', '')) for number in found]


def techniques():
  return {each['name']: each for each in test_results.rows_of_techniques()}


def of_onednn():
  """How many times as fast training is with oneDNN."""
  rates = {each['form']: each['values'] for each in raw('onednn')['rows']}
  return median(
      x / y for x, y in zip(rates['float32, oneDNN'], rates['float32']))


def of_way(way, limit):
  """The mean precision and the median rate of a way to train on a cluster."""
  found = [
      each for each in raw('exercise_10')['results']
      if each['way'] == way and limit in each
  ]
  return (mean(100 * each['evaluation']['precision @ 1'] for each in found),
          median(rate for each in found for rate in each['rates']))


def exchanged():
  """What worker 1 receives and sends for an image, by filters and in columns.

  Outputs of a layer go both ways, and so do their gradients; those for the last
  layer go to worker 0 only.
  """
  border, conv2 = 4 * 4 * 12 * 12, 4 * 32 * 12 * 12
  local3, local4, last = 4 * 32 * 6 * 6, 4 * 192, 2 * 96
  return {
      'the image': [24 * 24 * 3] * 2,
      'channels beyond the border, for `norm1`': [border, 0],
      '`norm1`, for `conv2`': [conv2, 0],
      'channels beyond the border, for `norm2`': [border, 0],
      '`pool2`, for `local3`': [local3] * 2,
      '`local3`, for `local4`': [local4] * 2,
      '`local4`, for the last layer': [last] * 2
  }


def exchanged_megabytes():
  """The same in a step of 128 images."""
  return [4 * 128 * sum(each) / 1e6 for each in zip(*exchanged().values())]


def distributed():
  yield 'with 83 % of all parameters', [
      100 * test_placement.LOCAL3 / PARAMETERS
  ]
  yield 'receives 4.27 MB from parameter servers and sends 4.27 MB', [
      MEGABYTES, MEGABYTES
  ]
  yield 'That is 1,068,298 parameters', [PARAMETERS]
  yield 'it sends 2.14 MB', [MEGABYTES / 2]
  yield 'only 1,930 of the 1,068,298 parameters', [LAST_LAYER, PARAMETERS]
  yield 'has 1,017,098 parameters', [PARAMETERS - 5 * 5 * 32 * 64]
  yield 'the halves exchange [15.5 MB]', exchanged_megabytes()[:1]
  yield 'or 3.7 MB with columns', exchanged_megabytes()[1:]
  yield 'each worker exchanges 8.5 MB', [2 * MEGABYTES]
  together, rate = of_way('synchronous', 'steps')
  filters, rate_of_filters = of_way('filters', 'steps')
  yield '(46.4 and 46.1 %), and takes 1.4 times as long', [
      filters, together, rate / rate_of_filters
  ]
  yield 'are the fastest, with 39.0 %', of_way('asynchronous', 'steps')[:1]
  yield ('lead with 53.7 %; columns have 50.8 %, `filters` 49.9 %, '
         'asynchronous workers 49.4 %'), [
             of_way(way, 'secs')[0]
             for way in ('synchronous', 'columns', 'filters', 'asynchronous')
         ]
  found = re.findall(r'^\| synchronous, .* ([\d.]+) % \|$',
                     test_korean_pages.read(CLUSTERS), re.M)
  alone = numbers(CLUSTERS, '`cifar10_train.py`, before and after')[3:]
  yield '49.1 to 50.0 %, against 48.8 and 49.2 %', [
      float(min(found)), float(max(found)), *sorted(alone)
  ]
  yield 'reach 38.4 and 40.8 %', [
      numbers(CLUSTERS, f'asynchronous, 4 workers | {servers}')[2]
      for servers in (1, 2)
  ]
  yield 'from 1,217 to 653 examples a second, or to 854', [
      numbers(CLUSTERS, label)[0]
      for label in ('unlimited | sync | float32', '200 Mbit/s | sync | float32',
                    '200 Mbit/s | sync | bfloat16')
  ]


def slow_link():
  """What `clusters` says on a link of 200 Mbit/s."""
  rates = numbers(CLUSTERS, '`cifar10_train.py`, before and after')[1:3]
  compute, read = 128 / mean(rates), MEGABYTES * 8 / 200
  yield 'worker 1 needs 0.096 s to compute', [1, compute]
  yield '0.171 s to read the variables, and 0.171 s', [read, read]
  yield 'or 0.085 s', [read / 2]
  found = [
      numbers(CLUSTERS, f'200 Mbit/s | sync | {dtype}')[0]
      for dtype in ('float32', 'bfloat16')
  ]
  expected = [2 * 128 / (compute + read + send) for send in (read, read / 2)]
  yield ('That makes 585 and 727 examples per second. The measured rates, 653 '
         'and 854, are 12 % and 17 % higher'), [
             *expected, *found,
             *(100 * (x / y - 1) for x, y in zip(found, expected))
         ]
  for link in ('unlimited', '200 Mbit/s'):
    for mode in ('sync', 'async'):
      for dtype, size in (('float32', 4), ('bfloat16', 2)):
        yield row(CLUSTERS, f'{link} | {mode} | {dtype}')[-1:], [
            MEGABYTES, size * PARAMETERS / 1e6
        ]
  of_one = numbers(CLUSTERS, 'asynchronous, 1 worker | 1')[1]
  yield (
      '`c` is 0.096 s (128 examples at 1,340 per second, the mean of the '
      "single trainer's rates) and `b` is 4.27 MB. `u` is at most 0.012 s"), [
          compute, 128,
          mean(rates), MEGABYTES, 128 / of_one - compute
      ]


def predicted(mode):
  """The rows of a table of larger clusters, by the number of workers."""
  return {
      workers: numbers(CLUSTERS, str(workers), f'| {mode}, workers |')
      for workers in (8, 16, 32, 64, 128, 256, 1024)
  }


def clusters():
  yield from slow_link()
  together, apart = predicted('sync'), predicted('async')
  link = 2 * 128 * MEGABYTES * 8 / 10000
  yield ('its updates take 1.5 s per step, while its link adds 0.9 s at 10 '
         'Gbit/s and 0.09 s at 100 Gbit/s'), [
             128 * 0.012, link, 10, link / 10, 100
         ]
  more = [
      servers / one
      for rates in (together, apart)
      for one, servers in (rates[1024][:2], rates[1024][2:])
  ]
  assert [round(each, 1) for each in more[2:]] == [16, 16]
  yield ('1,024 synchronous workers are 14 to 15 times as fast, and 1,024 '
         'asynchronous workers 16 times'), [
             1024, *sorted(more[:2]), 1024, more[2]
         ]
  yield (
      "39 % of its workers' capacity at 10 Gbit/s, and 49 % at 100 Gbit/s"), [
          100 * together[128][1] * 0.096 / 128**2, 10,
          100 * together[128][3] * 0.096 / 128**2, 100
      ]
  yield 'only 1.5 to 1.7 times as fast', [
      together[1024][column] / together[128][column] for column in (1, 3)
  ]
  yield 'links ten times as fast make synchronous training at most 1.5 times', [
      max(rates[column + 2] / rates[column]
          for rates in together.values()
          for column in (0, 1))
  ]
  for label, values in exchanged().items():
    yield row(CLUSTERS, label), values
  yield 'that is 15.5 MB in all, or 3.7 MB with columns', exchanged_megabytes()
  yield 'half of the weights, 2.13 MB', [2 * (PARAMETERS - LAST_LAYER) / 1e6]
  yield 'each worker receives 4.27 MB', [MEGABYTES]
  precise = [
      of_way(way, 'steps')[0] for way in ('synchronous', 'filters', 'columns')
  ]
  yield 'lose about 1.5 points', [mean(precise[:2]) - precise[2]]


def tf1_on_tf2():
  for label, what, form in [
      ('a queue of single images, distorted one by one', 'input', 'ours'),
      ('`tf.nn.lrn` on a CPU', 'LRN forward and backward', 'ours'),
      ('`tf.nn.conv2d` with 5 x 5 filters and its gradients, float32, on a CPU',
       'conv2 forward, backward', 'winograd'),
      ('training, end to end', 'training, batch 128', 'float32')
  ]:
    yield row('docs/tf1_on_tf2.md', label)[-1:], ratios('benchmark', what,
                                                        form)[:1]


def departures():
  yield 'The input alone is [6.18 times]', ratios('benchmark', 'input',
                                                  'ours')[:1]
  yield '(349,411 records', [2**30 // (1 + 32 * 32 * 3)]
  yield '(5,461 color images', [2**30 // (1 + 256 * 256 * 3)]
  yield 'the first batch is ready [after 0.31 seconds]', [
      each['median']
      for each in raw('inputs')['rows']
      if each['what'].startswith('first batch') and each['form'] == 'queues'
  ]
  yield 'is [1.63 times](results/README.md#onednn) as fast', [of_onednn()]
  # Numbers in words.
  assert round(ratios('benchmark', 'LRN forward and backward', 'ours')[0]) == 4
  yield 'the same function in [a quarter of the time]', []
  assert ratios('benchmark', 'conv2 forward, backward', 'winograd')[0] > 2
  yield 'with both gradients takes [less than half the time]', []
  yield 'is [1.7 times](results', ratios('benchmark', 'conv2 forward, backward',
                                         'direct bfloat16')[:1]


def predict_export_report():
  five = raw('ensembles')[3]
  assert (five['form'], len(five['networks'])) == ('graph', 5)
  yield 'reach 80.5 %; the best of them alone reaches 79.7 %', (
      test_results.percents(
          [five['correct'],
           max(each['correct'] for each in five['networks'])]))


def search():
  page, trials = 'docs/search.md', raw('search')['trials']
  given_up = [each for each in trials if each['precision'] is None]
  complete = sorted((each for each in trials if each not in given_up),
                    key=lambda each: -each['precision'])
  rows = re.findall(r'^\| ([\d.]+ % \| .*) \|$', test_korean_pages.read(page),
                    re.M)
  for cells, each in zip(rows, complete):
    *values, distortions = each['params'].values()
    assert cells.endswith('| ' + distortions)
    yield [cells], [100 * each['precision'], *values]
  others = [100 * each['precision'] for each in complete[len(rows):]]
  last = [100 * each['validations'][-1][1] for each in given_up]
  assert (len(trials), len(others), len(last)) == (20, 9, 6)
  yield '75.1 to 81.7 %, nine trials', [min(others), max(others)]
  yield 'given up at 57.9 to 76.3 %, six trials', [min(last), max(last)]

  found = raw('exercise_8_9')
  best = sorted(found['trials'], key=lambda each: -each['precision'])[:3]
  right = found['right of 10,000 test images']
  assert best[0]['params']['activation'] == 'elu'
  assert best[0]['params']['normalization'] == 'batch'
  labels = ('the best, ELU with batch normalization', 'the second', 'the third')
  for label, each in zip(labels, best):
    yield row(page,
              label), [100 * each['precision'], right[each['folder']] / 100]
  yield row(page, 'the ensemble of the three'), [
      right['ensemble of the three'] / 100
  ]


def reliability():
  found = {}
  for column, version in enumerate(('2.21', '1.15.5')):
    path = os.path.join(test_plot.RESULTS, f'faults_{version}.csv')
    with open(path, newline='', encoding='utf-8') as file:
      for fault in csv.DictReader(file):
        for label in ('`%s`' % fault['fault'].partition('.')[0], 'all'):
          found.setdefault(label, ([], []))[column].append(fault)
  for label, of_versions in found.items():
    values = []
    for faults in of_versions:
      seconds = [float(fault['seconds']) for fault in faults]
      failed = [fault for fault in faults if fault['problem']]
      values += [len(faults), len(failed), mean(seconds), max(seconds)]
    yield row('docs/reliability.md', label, '## Results'), values


def questions():
  rows = techniques()
  by = {name: 100 * each.get('at_steps', 0) for name, each in rows.items()}
  yield 'ELU [gains 0.4 points]', [by['ELU']]
  yield 'which may be chance, and a step takes 1.04 times', [
      rows['ELU']['time']
  ]
  for label, names in [('ELU', ['ELU']),
                       ('leaky ReLU', ['leaky ReLU', 'PReLU', 'RReLU']),
                       ('tanh', ['tanh'])]:
    yield row('docs/questions.md', label)[-1:], [
        value for name in names
        for value in (100 * rows[name]['averaged'], rows[name]['time'])
    ]
  default = 100 * rows['default']['averaged']
  yield row('docs/questions.md', 'ReLU')[-1:], [default, 1]
  yield row('docs/questions.md',
            'logistic (`sigmoid`)')[-1:], [100 * rows['sigmoid']['averaged']]
  yield '[gains 0.6 points]', [by['momentum']]
  yield 'takes [0.99 times the time]', [rows['dropout']['time']]
  yield 'the precision is 74.6 % instead of 77.8 %', [
      100 * rows['dropout']['averaged'], default
  ]
  yield '[receives 4.27 MB]', [MEGABYTES]


def troubleshooting():
  dead = techniques()['FTRL']
  yield 'precision stays at 10 %, the cross entropy at 2.30', [
      100 * dead['averaged'], dead['loss']
  ]


def datasets():
  for source in sources.SOURCES.values():
    for file in source.official:
      yield f'| {file.size:,} |', [file.size]


def changes():
  fast = raw('fast')['results']
  yield 'reaches 93.42 %', test_results.percents(
      [mean(each['evaluations'][0]['correct'] for each in fast)])
  yield '94.15 % with `--tta`, in 8.3 minutes', [
      mean(each['evaluations'][1]['correct'] for each in fast) / 100,
      mean(each['minutes of training'] for each in fast)
  ]
  best = raw('best')['results']
  plain, with_tta = test_results.evaluated_in_the_mean('best')
  yield 'reaches 94.68 %', [plain]
  yield '95.17 % with `--tta`, in 40.6 minutes: means of two', [
      with_tta, mean(run['minutes of training'] for run in best)
  ]
  plain, with_tta = test_results.evaluated_in_the_mean('better')
  yield 'reaches 89.06 %', [plain]
  yield '90.02 % with `--tta`', [with_tta]
  yield 'training is 1.63 times as fast', [of_onednn()]
  for what in ('conv2 forward', 'conv2 forward, backward'):
    assert round(ratios('benchmark', what, 'winograd')[0]) == 2
  yield "Winograd's convolutions are about twice as fast", []


def test_larger_clusters_are_predicted_by_the_command(monkeypatch, capsys):
  page = test_korean_pages.read(CLUSTERS)
  command = re.search('python .*predict_scaling.py .*', page).group()
  monkeypatch.setattr('sys.argv', shlex.split(command)[1:])
  with pytest.raises(SystemExit):
    predict_scaling.main()
  for table in capsys.readouterr().out.strip().split('\n\n'):
    assert table in page


PAGES = {
    'docs/distributed.md': distributed,
    CLUSTERS: clusters,
    'docs/tf1_on_tf2.md': tf1_on_tf2,
    'docs/departures.md': departures,
    'docs/predict_export_report.md': predict_export_report,
    'docs/search.md': search,
    'docs/reliability.md': reliability,
    'docs/questions.md': questions,
    'docs/troubleshooting.md': troubleshooting,
    'docs/datasets.md': datasets,
    'CHANGELOG.md': changes
}


@pytest.mark.parametrize('page', PAGES)
def test_pages_show_the_raw_numbers(page):
  text, wrong = ' '.join(test_korean_pages.read(page).split()), []
  for part, values in PAGES[page]():
    is_sentence = isinstance(part, str)  # Else the cells of a row.
    cells = [part] if is_sentence else part
    if is_sentence and part not in text or not test_results.shows(
        cells, values):
      wrong.append((part, values))
  assert not wrong
