"""The numbers of the tables of results.

The function NAME returns those of the table that pages call NAME: see
tables.py.
"""

import csv
import functools
from statistics import mean
from statistics import median
from statistics import stdev

import raw_numbers as raw

import comparison
import predict_scaling
import recipe_times
import tuning


def precision():
  rows = {}
  for name in ('bfloat16', 'float32'):
    for p in raw.read(name)['points']:
      shares = raw.percents([p['averaged'], p['plain']])
      rows.setdefault(p['step'], []).extend([p['minutes'], *shares])
  shown = 5000, 10000, 20000, 40000, 80000, 100000
  return [rows[step] for step in shown]


def techniques():
  return raw.printed_by_flags(raw.compared().values(), comparison.table)


def tuned():
  return raw.printed_by_flags(raw.compared_when_tuned().values(), tuning.table)


def recipes():
  rows = []
  for name, seconds in raw.read('recipe_times')['seconds of a step'].items():
    ends = zip(*map(raw.evaluated, raw.read(name)['results']))
    minutes = recipe_times.steps(name) * median(seconds) / 60
    rows.append([*map(mean, ends), minutes])
  return rows


def times_of_recipes():
  return raw.printed(
      recipe_times.table(raw.read('recipe_times')['seconds of a step']))


def _seeds(name):
  """The runs of a recipe, their mean, and of three or more the deviation."""
  times = 'minutes of training', 'minutes to first step'
  rows = [[*raw.evaluated(run), *map(run.get, times)]
          for run in raw.read(name)['results']]
  measures = [mean, stdev] if len(rows) > 2 else [mean]
  return rows + [[*map(measure, zip(*rows))] for measure in measures]


better, fast, best = (
    functools.partial(_seeds, name) for name in ('better', 'fast', 'best'))


def _heldout(part):
  """Yields flags, a dict, the seed, and the counts with --tta, of each run."""
  for run in raw.read('heldout')[part]:
    _, *right = run['right'].values()  # The first one is without --tta.
    yield dict(flag.split('=') for flag in run['flags']), run['seed'], right


def heldout():
  return [[
      float(flags['--batch_size']),
      float(flags['--learning_rate']), seed, *right
  ] for flags, seed, right in _heldout('runs')]


def heldout_wider():
  runs = raw.read('heldout')['wider']
  return [[*run['right'].values()] for run in runs]


def heldout_best():
  return [[float(flags['--epochs']), 32 * float(flags['--max_shift']), *right]
          for flags, _, right in _heldout('best')]


def models():
  ends = (raw.evaluated(raw.read(name)['results'][0])
          for name in ('fast', 'tutorial'))
  alone, with_tta = zip(*ends)
  counts = [number for each in alone for number in (each, 100 * each, 10000)]
  return [[], [], [], counts, with_tta, [], [], [], [], []]


_ZEN_5 = 'benchmark_zen5'


def speed():
  new, old = 'benchmark', 'benchmark_1.15.5'
  types = (new, 'float32'), (_ZEN_5, 'bfloat16')
  columns = {
      'training, batch 128': (*types, (old, 'float32')),
      'step, batch 128': types,
      'evaluation of 10000': (*types, (old, 'float32')),
      'first batch of the session': types,
      'first step of the process': types,
      'peak memory, 300 steps': types,
      'input': ((new, 'ours'), (old, 'ours')),
      'LRN forward and backward': ((new, 'ours'), (old, 'ours')),
      'conv2 forward': ((new, 'winograd'), (old, 'winograd')),
      'conv2 forward, backward': ((new, 'winograd'), (old, 'winograd'))
  }
  return [
      sum((raw.ratios(name, what, form)
           for name, form in of_row), [])
      for what, of_row in columns.items()
  ]


def speed_of_readme():
  alone, both, *_ = onednn()
  row = speed()[0]
  zen_5 = raw.ratios(_ZEN_5, 'training, batch 128', 'float32') + row[3:6]
  return [alone[1:], both[4:] + row[:3], zen_5]


def parts_of_speed():
  rows = speed()
  return [rows[number][:1] for number in (6, 7, 9, 0)]


def frameworks():
  found, zen_5 = raw.rates('benchmark'), raw.rates(_ZEN_5)
  ours, in_bfloat16 = found['float32'], zen_5['bfloat16']
  return [[median(ours)]] + [[
      median(found[form]), *raw.times_as_fast(ours, found[form]),
      *raw.times_as_fast(in_bfloat16, zen_5[form + ' bfloat16'])
  ] for form in ('Keras', 'PyTorch', 'PyTorch compiled')]


def onednn():
  found = raw.rates('onednn')
  first, ours = found['classical'], found['float32, oneDNN']
  ends = raw.times_as_fast(ours, first)
  between = [[
      median(values), *raw.times_as_fast(values, first),
      *raw.times_as_fast(ours, values)
  ] for values in (found['classical, oneDNN'], found['float32'])]
  return [[median(first), *ends], *between, [median(ours), *ends]]


def inputs():
  keys, found = ('median', 'ratio', 'lowest', 'highest'), {}
  for row in raw.read('inputs')['rows']:
    shown = keys[:1] if row['form'] == 'queues' else keys
    found.setdefault(row['form'], []).extend(row[key] for key in shown)
  return found


def gradients():
  runs = raw.read('gradients')['runs']
  return [[norms[0] for norms in run['norms'].values()] for run in runs]


def ensembles():
  alone, *several = raw.read('ensembles')
  rows = [[100 * alone['precision @ 1'], alone['seconds']]]
  for graph, process in zip(several[:3], several[3:]):
    highest = max(each['correct'] for each in graph['networks'])
    rows.append([
        *raw.percents([graph['correct'], highest]), graph['seconds'],
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
    found = raw.runs(name)
    scratch, *others = (raw.spread(found[way, end]) for way in _WAYS)
    rows.append(scratch + [mean(found['default', 2 * end])] + sum(others, []))
  return rows


def transfer_in_short():
  of_time = {}
  for time in raw.read('transfer_150')['times']:
    of_time.setdefault(len(time['flags']), []).append(time['ratio'])
  times = [median(of_time[flags]) for flags in sorted(of_time)]
  return [[
      *(mean(raw.runs(name)[way, end]) for name, end in _TRANSFER.items()), time
  ] for way, time in zip(_WAYS, times)]


def transfer_choice():
  few = raw.runs('hundred_labels')
  rows = [[
      mean(few['distorted_pairs' + name, 500])
      for name in (', convolutions frozen', '')
  ]]
  for name, end in reversed(_TRANSFER.items()):
    found = (mean(raw.runs(name)[way, end]) for way in _WAYS[1:3])
    rows.append(sorted(found, reverse=True))
  return rows


_TOPS = [
    'pretrained, frozen' + name
    for name in ('', ', local4 dropped', ', local5 added')
]


def other_layers():
  found = raw.runs('transfer_pictures')
  return [raw.spread(found[name, 500]) for name in _TOPS]


def other_layers_by_steps():
  found, steps = raw.runs('transfer_pictures'), range(100, 501, 100)
  return [[3 * mean(found[name, step]) for step in steps] for name in _TOPS]


def few_labels():
  found = raw.runs('few_labels')
  return [
      found[name, 200] + found[name, 1000]
      for name in ('default', 'autoencoder', 'rbm', 'corrupted', 'max_margin',
                   'pairs', 'distorted_pairs')
  ]


def hundred_labels():
  found = raw.runs('hundred_labels')
  names = 'corrupted', 'pairs', 'distorted_pairs'
  return [
      raw.spread(found[trained, 500]) +
      raw.spread(found[f'{frozen}, convolutions frozen', 500])
      for trained, frozen in (('default', 'random'), *zip(names, names))
  ]


def sparse():
  rows = []
  for result in raw.read('sparse')['results']:
    points = result['dense_points'][-1:] + result['points']
    shares = raw.percents(p['averaged'] for p in points)
    rows.append([100 * result['own_zeros'], *shares])
  return rows


def sparse_longer():
  steps = range(5000, 10001, 1000)
  rows = [[raw.runs('techniques')['default', step][0] for step in steps]]
  for result in raw.read('sparse_longer').values():
    rights = {p['step']: p['averaged'] for p in result['points']}
    rows.append(raw.percents(rights[step] for step in steps))
  return rows


def activations():
  rows = raw.compared()

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
  for result in raw.read('exercise_10')['results']:
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
  return raw.printed(tables[number])


larger_async_clusters = functools.partial(larger_clusters, 1)


def search():
  trials = raw.read('search')['trials']
  complete = sorted((t for t in trials if t['precision'] is not None),
                    key=lambda trial: -trial['precision'])
  rows = [[100 * trial['precision'], *list(trial['params'].values())[:-1]]
          for trial in complete[:5]]
  others = [trial['precision'] for trial in complete[5:]]
  given_up = [t['validations'][-1][1] for t in trials if t['precision'] is None]
  ends = [
      raw.percents([min(each), max(each)], 1) for each in (others, given_up)
  ]
  return rows + ends


def search_on_a_cluster():
  found = raw.read('exercise_8_9')
  right = found['right of 10,000 test images']
  trials = sorted(found['trials'], key=lambda trial: -trial['precision'])
  return [[100 * trial['precision'], right[trial['folder']] / 100]
          for trial in trials[:3]] + [[right['ensemble of the three'] / 100]]


def faults():
  found = {}
  for column, version in enumerate(('2.21', '1.15.5')):
    path = raw.ROOT / 'docs' / 'results' / f'faults_{version}.csv'
    with open(path, newline='', encoding='utf-8') as file:
      for fault in csv.DictReader(file):
        for key in (fault['fault'].partition('.')[0], ''):
          found.setdefault(key, ([], []))[column].append(fault)

  def counted(of_class):
    seconds = [float(fault['seconds']) for fault in of_class]
    failed = sum(bool(fault['problem']) for fault in of_class)
    return [len(of_class), failed, mean(seconds), max(seconds)]

  return {key: counted(new) + counted(old) for key, (new, old) in found.items()}
