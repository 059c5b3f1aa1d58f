"""The numbers of the tables of results, from the raw files in docs/results.

The function NAME returns those of the table that pages call NAME: see
tables.py.
"""

import csv
import functools
import json
from pathlib import Path
import re
from statistics import mean
from statistics import median
from statistics import stdev
import sys

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / 'scripts' / 'benchmarks'
sys.path[:0] = [str(ROOT), str(BENCHMARKS)]

import compare
import comparison
import predict_scaling
import recipe_times
import tuning

NUMBER = re.compile(r'(`[^`]*`|\]\([^)]*\))|(?<![\w.])[+-]?[\d,]*\.?\d+')


@functools.lru_cache(maxsize=None)
def raw(name):
  """The content of a JSON file of docs/results."""
  path = ROOT / 'docs' / 'results' / f'{name}.json'
  return json.loads(path.read_text(encoding='utf-8'))


def percents(counts, total=10000):
  """Shares of `total` in percent, a list."""
  return [100 * count / total for count in counts]


def spread(values):
  """The mean and the range of several runs; of one run, its value."""
  return [mean(values), min(values), max(values)] if values[1:] else values


def times_as_fast(ours, theirs):
  """The median and the range of the ratios of all rounds."""
  found = [x / y for x, y in zip(ours, theirs)]
  return [median(found), min(found), max(found)]


def ratios(name, what, form):
  """The ratio of a row of benchmark.py, and its range."""
  (row,) = [
      row for row in raw(name)['rows']
      if (row['what'], row['form']) == (what, form)
  ]
  return [row[key] for key in ('ratio', 'lowest', 'highest')]


def rates(name, what='training, batch 128'):
  """The values of all rounds of a measurement, a list by form."""
  return {
      row['form']: row['values']
      for row in raw(name)['rows']
      if row['what'] == what
  }


def evaluated(run):
  """The precision of a run of repeat.py, and with --tta, in percent."""
  return percents(e['correct'] for e in run['evaluations'][:2])


def runs(name):
  """The precisions of compare.py by variant and step, a list over the seeds."""
  found = {}
  for result in raw(name)['results']:
    for point in result.get('points', ()):
      key = result['name'], point['step']
      found.setdefault(key,
                       []).append(100 * point['averaged'] / result['total'])
  return found


def compared():
  """The rows of the comparison of techniques, by name."""
  found = raw('techniques')
  rows = comparison.compared(comparison.experiments_of(found['results']),
                             found['results'], found['times'])
  return {row['name']: row for row in rows}


def compared_when_tuned():
  """The rows of the comparison of tuned techniques, by name."""
  experiments = compare.load_experiments(
      str(BENCHMARKS / 'experiments' / 'tuning.json'))
  found = raw('tuning')
  rows = tuning.compared(tuning.comparison_of(experiments, found), found,
                         raw('techniques'))
  return {row['name']: row for row in rows}


def numbers(text):
  """The numbers in a text, without those in code and links, as text."""
  return [m.group() for m in NUMBER.finditer(text) if not m.group(1)]


def printed(table):
  """The numbers of a table in Markdown that a program prints, as text."""
  return [
      numbers(row.split('|', 2)[2])
      for row in table.splitlines()
      if row.startswith('| ')
  ][1:]


def printed_by_flags(rows, table):
  """As `printed`, by the flags of the rows."""
  return {
      ' '.join(row['flags']): numbers
      for row, numbers in zip(rows, printed(table(rows)))
  }


# The tables.


def precision():
  shown = 5000, 10000, 15000, 20000, 40000, 60000, 80000, 100000
  points = [{
      p['step']: p for p in raw(name)['points']
  } for name in ('bfloat16', 'float32')]
  return [[
      value
      for p in points
      for value in (p[step]['minutes'],
                    *percents([p[step]['averaged'], p[step]['plain']]))
  ]
          for step in shown]


def techniques():
  return printed_by_flags(compared().values(), comparison.table)


def tuned():
  return printed_by_flags(compared_when_tuned().values(), tuning.table)


def recipes():
  (tutorial,) = raw('tutorial')['results']
  ends = {'tutorial': [*evaluated(tutorial), tutorial['minutes of training']]}
  for name in ('better', 'fast', 'best'):
    found = raw(name)['results']
    ends[name] = [mean(values) for values in zip(*map(evaluated, found))]
    if name != 'better':  # Its runs are of another machine.
      ends[name].append(mean(run['minutes of training'] for run in found))
  return [[*ends[name],
           recipe_times.steps(name) * median(seconds) / 60]
          for name, seconds in raw('recipe_times')['seconds of a step'].items()]


def times_of_recipes():
  return printed(recipe_times.table(raw('recipe_times')['seconds of a step']))


def _seeds(name):
  """The runs of a recipe, their mean, and of three or more the deviation."""
  times = 'minutes of training', 'minutes to first step'
  found = [[*evaluated(run), *(run[time]
                               for time in times)]
           for run in raw(name)['results']]
  columns = list(zip(*found))
  return [*found, [*map(mean, columns)]
         ] + [[*map(stdev, columns)]] * (len(found) > 2)


better, fast, best = (
    functools.partial(_seeds, name) for name in ('better', 'fast', 'best'))


def models():
  ends = (evaluated(raw(name)['results'][0]) for name in ('fast', 'tutorial'))
  alone, with_tta = zip(*ends)
  counts = [number for each in alone for number in (each, 100 * each, 10000)]
  return [[], [], [], counts, with_tta, [], [], [], [], []]


def _in_both_types(what):
  """The ratios of a row of benchmark.py, in float32 and in bfloat16."""
  return ratios('benchmark', what, 'float32') + ratios('benchmark', what,
                                                       'bfloat16')


def _on_both_versions(what, form):
  """The ratios of a row of benchmark.py, on TensorFlow 2.21 and on 1.15.5."""
  return ratios('benchmark', what, form) + ratios('benchmark_1.15.5', what,
                                                  form)


def speed_of_readme():
  return [
      _in_both_types(what) + ratios('benchmark_1.15.5', what, 'float32')
      for what in ('training, batch 128', 'evaluation of 10000')
  ] + [_on_both_versions('input', 'ours')]


def speed():
  training, evaluation, of_input = speed_of_readme()
  return [
      training,
      _in_both_types('step, batch 128'), evaluation,
      _in_both_types('first batch of the session'),
      _in_both_types('first step of the process'),
      _in_both_types('peak memory, 300 steps'), of_input,
      _on_both_versions('LRN forward and backward', 'ours'),
      _on_both_versions('conv2 forward', 'winograd'),
      _on_both_versions('conv2 forward, backward', 'winograd')
  ]


def parts_of_speed():
  rows = speed()
  return [rows[number][:1] for number in (6, 7, 9, 0)]


def frameworks():
  found = rates('benchmark')
  ours = [found[form] for form in ('float32', 'bfloat16')]
  others = ('Keras', 'Keras bfloat16', 'PyTorch', 'PyTorch compiled',
            'PyTorch bfloat16', 'PyTorch compiled bfloat16')
  return [[median(values)] for values in ours] + [[
      median(found[form]), *times_as_fast(ours[0], found[form]),
      *times_as_fast(ours[1], found[form])
  ] for form in others]


def onednn():
  found = rates('onednn')
  first, ours = found['classical'], found['float32, oneDNN']
  ends = times_as_fast(ours, first)
  between = [[
      median(values), *times_as_fast(values, first),
      *times_as_fast(ours, values)
  ] for values in (found['classical, oneDNN'], found['float32'])]
  return [[median(first), *ends], *between, [median(ours), *ends]]


def inputs():
  keys = 'median', 'ratio', 'lowest', 'highest'
  return {
      form: [
          row[key]
          for row in raw('inputs')['rows']
          if row['form'] == form
          for key in (keys[:1] if form == 'queues' else keys)
      ] for form in ('queues', 'preloaded', 'tf_data')
  }


def gradients():
  return [[norms[0]
           for norms in run['norms'].values()]
          for run in raw('gradients')['runs']]


def ensembles():
  alone, *several = raw('ensembles')
  rows = [[100 * alone['precision @ 1'], alone['seconds']]]
  for graph, process in zip(several[:3], several[3:]):
    highest = max(each['correct'] for each in graph['networks'])
    rows.append([
        *percents([graph['correct'], highest]), graph['seconds'],
        process['seconds']
    ])
  return rows


_TRANSFER = {
    'transfer_150': 2000,
    'transfer_20': 1000,
    'transfer_pictures': 500
}
_WAYS = 'default', 'fine-tuned', 'frozen', 'frozen, computed once'


def transfer():
  rows = []
  for name, end in _TRANSFER.items():
    found = runs(name)
    scratch, *others = (spread(found[way, end]) for way in _WAYS)
    rows.append(scratch + [mean(found['default', 2 * end])] + sum(others, []))
  return rows


def transfer_in_short():
  of_time = {}
  for time in raw('transfer_150')['times']:
    of_time.setdefault(len(time['flags']), []).append(time['ratio'])
  times = [median(of_time[flags]) for flags in sorted(of_time)]
  return [[
      *(mean(runs(name)[way, end]) for name, end in _TRANSFER.items()), time
  ] for way, time in zip(_WAYS, times)]


def transfer_choice():
  few = runs('hundred_labels')
  rows = [[
      mean(few['distorted_pairs' + name, 500])
      for name in (', convolutions frozen', '')
  ]]
  for name, end in reversed(_TRANSFER.items()):
    found = (mean(runs(name)[way, end]) for way in _WAYS[1:3])
    rows.append(sorted(found, reverse=True))
  return rows


_TOPS = [
    'pretrained, frozen' + name
    for name in ('', ', local4 dropped', ', local5 added')
]


def other_layers():
  return [spread(runs('transfer_pictures')[name, 500]) for name in _TOPS]


def other_layers_by_steps():
  found = runs('transfer_pictures')
  return [[3 * mean(found[name, step])
           for step in range(100, 501, 100)]
          for name in _TOPS]


def few_labels():
  found = runs('few_labels')
  return [
      found[name, 200] + found[name, 1000]
      for name in ('default', 'autoencoder', 'rbm', 'corrupted', 'max_margin',
                   'pairs', 'distorted_pairs')
  ]


def hundred_labels():
  found = runs('hundred_labels')
  return [
      spread(found[trained, 500]) +
      spread(found[f'{frozen}, convolutions frozen', 500])
      for trained, frozen in (('default', 'random'), ('corrupted', 'corrupted'),
                              ('pairs', 'pairs'), ('distorted_pairs',
                                                   'distorted_pairs'))
  ]


def sparse():
  return [[
      100 * result['own_zeros'],
      *percents(p['averaged']
                for p in result['dense_points'][-1:] + result['points'])
  ]
          for result in raw('sparse')['results']]


def sparse_longer():
  steps = range(5000, 10001, 1000)
  rows = [[runs('techniques')['default', step][0] for step in steps]]
  for result in raw('sparse_longer').values():
    rights = {p['step']: p['averaged'] for p in result['points']}
    rows.append(percents(rights[step] for step in steps))
  return rows


def activations():
  rows = compared()

  def of(*names):
    return [
        value for name in names
        for value in (100 * rows[name]['averaged'], rows[name]['time'])
    ]

  return [
      of('ELU'),
      of('leaky ReLU', 'PReLU', 'RReLU'),
      [None, 100 * rows['default']['averaged']], [None, None, *of('tanh')],
      of('sigmoid')[:1], []
  ]


def clusters():
  found = {}
  for result in raw('exercise_10')['results']:
    limit = 'secs' if 'secs' in result else 'steps'
    found.setdefault((result['way'], limit), []).append(result)

  def ends(way, limit):
    results = found[way, limit]
    return [
        mean(r['evaluation']['step'] for r in results),
        median(rate for r in results for rate in r['rates']),
        *(100 * r['evaluation']['precision @ 1'] for r in results)
    ]

  return [
      ends(way, 'steps')[1:] + ends(way, 'secs')
      for way in ('synchronous', 'asynchronous', 'filters', 'columns')
  ]


def larger_clusters(number=0):
  tables = list(predict_scaling.tables(step_secs=0.096, update_secs=0.012))
  return printed(tables[number])


larger_async_clusters = functools.partial(larger_clusters, 1)


def search():
  trials = raw('search')['trials']
  complete = sorted((t for t in trials if t['precision'] is not None),
                    key=lambda trial: -trial['precision'])
  rows = [[100 * trial['precision'], *list(trial['params'].values())[:-1]]
          for trial in complete[:5]]
  others = [trial['precision'] for trial in complete[5:]]
  given_up = [t['validations'][-1][1] for t in trials if t['precision'] is None]
  ends = [percents([min(each), max(each)], 1) for each in (others, given_up)]
  return rows + ends


def search_on_a_cluster():
  found = raw('exercise_8_9')
  right = found['right of 10,000 test images']
  trials = sorted(found['trials'], key=lambda trial: -trial['precision'])
  return [[100 * trial['precision'], right[trial['folder']] / 100]
          for trial in trials[:3]] + [[right['ensemble of the three'] / 100]]


def faults():
  found = {}
  for column, version in enumerate(('2.21', '1.15.5')):
    path = ROOT / 'docs' / 'results' / f'faults_{version}.csv'
    with open(path, newline='', encoding='utf-8') as file:
      for fault in csv.DictReader(file):
        for key in (fault['fault'].partition('.')[0], ''):
          found.setdefault(key, ([], []))[column].append(fault)

  def counted(of_class):
    seconds = [float(fault['seconds']) for fault in of_class]
    failed = sum(bool(fault['problem']) for fault in of_class)
    return [len(of_class), failed, mean(seconds), max(seconds)]

  return {key: counted(new) + counted(old) for key, (new, old) in found.items()}
