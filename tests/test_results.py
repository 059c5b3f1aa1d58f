"""The tables of the pages hold the numbers of the raw files, rounded."""

import os
import re
from statistics import mean
from statistics import median
from statistics import stdev

import pytest

from tests import short_runs
from tests import test_korean_pages
from tests import test_plot

RESULTS = 'docs/results/README.md'

comparison = short_runs.module_at(
    os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'comparison.py'))

recipe_times = short_runs.module_at(
    os.path.join(short_runs.ROOT, 'scripts', 'benchmarks', 'recipe_times.py'))


def raw(name):
  return test_plot.results(name + '.json')


def row(page, label, after=''):
  """The cells of the first row that begins with `label`, behind `after`."""
  text = test_korean_pages.read(page)
  line = re.compile(r'^\| %s \| (.*)\|$' % re.escape(label), re.M)
  return re.split(r' *\| *', line.search(text, text.index(after)).group(1))


def shows(cells, values):
  """True if the numbers in `cells` are `values`, each rounded as it is shown.

  Names in code and links are not numbers.
  """
  text = re.sub(r'`[^`]*`|\]\([^)]*\)', '', ' '.join(cells))
  found = re.findall(r'-?[\d,]*\.?\d+', text)
  return len(found) == len(values) and all(
      # Halves are rounded either way.
      abs(float(number.replace(',', '')) - value) <= 0.5001 *
      10**-len(number.partition('.')[2])
      for number, value in zip(found, values))


def percents(counts, total=10000):
  return [100 * count / total for count in counts]


def spread(values):
  """The mean and the range of several runs; of one run, its value."""
  return [mean(values), min(values), max(values)] if values[1:] else values


def times_as_fast(ours, theirs):
  """The median and the range of the ratios of all rounds."""
  found = [x / y for x, y in zip(ours, theirs)]
  return [median(found), min(found), max(found)]


def precision():
  of_type = [raw('bfloat16'), raw('float32')]
  for points in zip(*[each['points'] for each in of_type]):
    values = []
    for p in points:
      values += [p['minutes'], *percents([p['averaged'], p['plain']])]
    if points[0]['step'] in (5000, 10000, 15000, 20000, 40000, 60000, 80000,
                             100000):
      yield row(RESULTS, f'{points[0]["step"]:,}'), values


def rows_of_techniques():
  """The rows of `comparison.compared`, a list."""
  found = raw('techniques')
  return comparison.compared(comparison.experiments_of(found['results']),
                             found['results'], found['times'])


def techniques():
  rows = {' '.join(each['flags']): each for each in rows_of_techniques()}
  page = test_korean_pages.read('docs/results/techniques.md')
  page = page[:page.index('## 10,000 steps')]  # Tuned ones have other flags.
  shown = re.findall(r'^\| [^|]* \| `(--[^|]*)` \| (.*) \|$', page, re.M)
  # The default has no flags.
  shown += re.findall(r'^\| the default \| (.*?)\| (.*) \|$', page, re.M)
  assert {flags for flags, _ in shown} == set(rows)
  for flags, cells in shown:
    of = rows[flags]
    if of['errors']:
      (step,) = re.findall(r'step (\d+)', of['errors'][0])
      yield [cells], [int(step)]
      continue
    several = [of['lowest'], of['highest']] if of['runs'] > 1 else []
    values = percents([of['averaged'], *several, of['plain']], 1)
    values.append(of['loss'])
    if not flags:
      values.append(1)
    elif 'time' in of:
      values += [of['time'], *percents([of['at_steps'], of['at_time']], 1)]
    else:
      values.append(100 * of['at_steps'])
    yield [cells.replace('+', '')], values


def evaluated(run):
  """The precision of a run, and with --tta, in percent."""
  return percents(e['correct'] for e in run['evaluations'][:2])


def evaluated_in_the_mean(name):
  """The mean precision of the runs of a recipe, and with --tta, in percent."""
  return list(map(mean, zip(*map(evaluated, raw(name)['results']))))


def recipes():
  seconds_of_step = raw('recipe_times')['seconds of a step']
  for line in recipe_times.table(seconds_of_step).splitlines():
    assert line in test_korean_pages.read(RESULTS).splitlines()
  (tutorial,) = raw('tutorial')['results']
  ends = [(evaluated(tutorial), [tutorial['minutes of training']])]
  page = 'docs/recipes.md'
  times = 'minutes of training', 'minutes to first step'
  for name in ('better', 'fast', 'best'):
    section, of_runs = f'## {name.title()}', []
    for run in raw(name)['results']:
      of_runs.append(evaluated(run) + [run[time] for time in times])
      yield row(page, str(run['seed']), section), of_runs[-1]
    means = list(map(mean, zip(*of_runs)))
    yield row(page, 'mean', section), means
    # The runs of `better` are of another machine.
    ends.append((means[:2], means[2:3] * (name != 'better')))
    if len(of_runs) > 2:
      yield row(page, 'standard deviation',
                section), list(map(stdev, zip(*of_runs)))
  labels = {
      'docs/recipes.md': [
          '`tutorial`, `--max_steps=100000`',
          '[`better`](#better), mean of three runs',
          '[`fast`](#fast), mean of ten runs',
          '[`best`](#best), mean of two runs'
      ],
      'README.md': [
          'the tutorial, `--max_steps=100000`',
          "`--recipe=better`: the tutorial's layers with batch normalization; "
          'mean of three runs',
          '`--recipe=fast`: another network; mean of ten runs',
          '`--recipe=best`: the same with more filters; mean of two runs'
      ]
  }
  for page, of_page in labels.items():
    for label, (precisions,
                with_amx), (name, seconds) in zip(of_page, ends,
                                                  seconds_of_step.items()):
      cells = [
          cell for cell in row(page, label) if re.match(r'[\d.]+ ?%? ?$', cell)
      ]
      minutes = recipe_times.steps(name) * median(seconds) / 60
      yield cells, [*precisions, *with_amx, minutes]


def models():
  page = 'docs/recipes.md'
  fast, tutorial = (
      evaluated(raw(name)['results'][0]) for name in ('fast', 'tutorial'))
  alone, with_tta = zip(fast, tutorial)
  yield row(page, 'precision @ 1'), [
      number for each in alone for number in (each, 100 * each, 10000)
  ]
  yield row(page, 'with `--tta`'), with_tta
  # The test images of each class are equally many.
  recalls = [[float(cell.rstrip(' %'))
              for cell in row(page, name)[::2]]
             for name in ('airplane', 'automobile', 'bird', 'cat', 'deer',
                          'dog', 'frog', 'horse', 'ship', 'truck')]
  yield ['%.2f' % mean(of_model) for of_model in zip(*recalls)], alone


def runs(name):
  """The right answers of each variant by steps, a list over the seeds."""
  found = {}
  for result in raw(name)['results']:
    for point in result.get('points', ()):
      key = result['name'], point['step']
      found.setdefault(key,
                       []).append(100 * point['averaged'] / result['total'])
  return found


def transfer():
  many, few, three = map(runs,
                         ('transfer_150', 'transfer_20', 'transfer_pictures'))
  ratios = {}
  for time in raw('transfer_150')['times']:
    ratios.setdefault(len(time['flags']), []).append(time['ratio'])
  page = 'docs/transfer.md'
  for found, end, choice, label in [
      (many, 2000, '15,000, 100 classes', '150 images a class, 2,000 steps'),
      (few, 1000, '2,000, 100 classes', '20 images a class, 1,000 steps'),
      (three, 500, '450, 3 classes', 'three classes, 500 steps')
  ]:
    tuned, frozen, computed_once = (found[name, end]
                                    for name in ('fine-tuned', 'frozen',
                                                 'frozen, computed once'))
    yield row(page, choice), sorted(map(mean, (tuned, frozen)), reverse=True)
    yield row(RESULTS, label), [
        *spread(found['default', end]),
        mean(found['default', 2 * end]), *spread(tuned), *spread(frozen),
        *spread(computed_once)
    ]
  for label, name, number in [('from scratch', 'default', 2),
                              ('all layers trained', 'fine-tuned', 3),
                              ('`--freeze=conv`', 'frozen', 4),
                              ('`--freeze=conv --cache_frozen=4`',
                               'frozen, computed once', 5)]:
    yield row(page, label), [
        many[name, 2000][0], few[name, 1000][0],
        mean(three[name, 500]),
        median(ratios[number])
    ]
  for label, name in [
      ('`local3` and `local4` taken over', ''),
      ('`--hidden_layers=384`, without `local4`', ', local4 dropped'),
      ('`--hidden_layers=384,192,96`, with `local5`', ', local5 added')
  ]:
    rights = three['pretrained, frozen' + name, 500]
    yield row(page, label), spread(rights)
    yield row(RESULTS, label), [
        3 * mean(three['pretrained, frozen' + name, step])
        for step in range(100, 501, 100)
    ]


def few_labels():
  thousand, hundred = runs('few_labels'), runs('hundred_labels')
  page = 'docs/transfer.md'
  yield row(page, '100'), [
      mean(hundred['distorted_pairs' + name, 500])
      for name in (', convolutions frozen', '')
  ]
  for label, name in [('no pretraining', 'default'),
                      ('`autoencoder`, 1,000 steps a layer', 'autoencoder'),
                      ('`rbm`, 1,000 steps a layer', 'rbm'),
                      ('`corrupted`, 2,000 steps', 'corrupted'),
                      ('`max_margin`, 2,000 steps', 'max_margin'),
                      ('`pairs`, CIFAR-100, 2,000 steps', 'pairs'),
                      ('`distorted_pairs`, 2,400 steps of batch 64',
                       'distorted_pairs')]:
    yield row(page, label), thousand[name, 200] + thousand[name, 1000]
  for label, trained, frozen in [
      ('random, no pretraining', 'default', 'random'),
      ('`corrupted`, 2,000 steps', 'corrupted', 'corrupted'),
      ('`pairs`, CIFAR-100, 2,000 steps', 'pairs', 'pairs'),
      ('`distorted_pairs`, 2,400 steps of batch 64', 'distorted_pairs',
       'distorted_pairs')
  ]:
    yield row(page, label,
              'With 100 labels'), spread(hundred[trained, 500]) + spread(
                  hundred[frozen + ', convolutions frozen', 500])


def gradients():
  labels = 'sigmoid', 'sigmoid, batch normalization', 'ReLU'
  for label, run in zip(labels, raw('gradients')['runs']):
    yield row(RESULTS, label), [norms[0] for norms in run['norms'].values()]


def ensembles():
  alone, *several = raw('ensembles')
  graphs, processes = several[:3], several[3:]
  yield row(RESULTS, '1')[::2], [100 * alone['precision @ 1'], alone['seconds']]
  for graph, process in zip(graphs, processes):
    assert graph['correct'] == process['correct']
    yield row(RESULTS, str(len(graph['networks']))), percents([
        graph['correct'],
        max(each['correct'] for each in graph['networks'])
    ]) + [graph['seconds'], process['seconds']]


def ratios(name, what, form):
  (found,) = [
      each for each in raw(name)['rows']
      if (each['what'], each['form']) == (what, form)
  ]
  return [found[key] for key in ('ratio', 'lowest', 'highest')]


def speed():
  new, old = 'benchmark', 'benchmark_1.15.5'
  for what, label, *forms in [
      ('training, batch 128', 'training, end to end, batch 128', 'float32',
       'bfloat16'),
      ('evaluation of 10000', 'evaluation of 10,000 images', 'float32',
       'bfloat16'), ('input', 'input alone', 'ours')
  ]:
    values = [ratios(new, what, form) for form in forms]
    values = sum(values, []) + ratios(old, what, forms[0])
    yield row('README.md', label), values
    yield row(RESULTS, label), values
  for what, label in [
      ('step, batch 128', 'training step alone, batch 128'),
      ('first batch of the session', 'first batch of a session'),
      ('first step of the process', 'first step of the process'),
      ('peak memory, 300 steps', 'peak memory of 300 steps')
  ]:
    yield row(
        RESULTS,
        label), ratios(new, what, 'float32') + ratios(new, what, 'bfloat16')
  for what, label, form in [
      ('LRN forward and backward', 'local response normalization alone',
       'ours'), ('conv2 forward', 'conv2 alone, against direct', 'winograd'),
      ('conv2 forward, backward', 'conv2 with both gradients, against direct',
       'winograd')
  ]:
    yield row(RESULTS, label), ratios(new, what, form) + ratios(old, what, form)


def frameworks():
  rates = {
      each['form']: each['values']
      for each in raw('benchmark')['rows']
      if each['what'] == 'training, batch 128'
  }
  for label, form in [
      ('this project, float32', 'float32'),
      ('this project, bfloat16', 'bfloat16'), ('Keras', 'Keras'),
      ('Keras, `mixed_bfloat16`', 'Keras bfloat16'), ('PyTorch', 'PyTorch'),
      ('PyTorch, compiled', 'PyTorch compiled'),
      ('PyTorch, `torch.autocast`', 'PyTorch bfloat16'),
      ('PyTorch, compiled, `torch.autocast`', 'PyTorch compiled bfloat16')
  ]:
    values = [median(rates[form])]
    for ours in ('float32', 'bfloat16') if form[0] in 'KP' else ():
      values += times_as_fast(rates[ours], rates[form])
    yield row(RESULTS, label), values


def onednn():
  rates = {each['form']: each['values'] for each in raw('onednn')['rows']}
  ours = 'float32, oneDNN'
  for form, label in [('classical', 'classical form'),
                      ('classical, oneDNN', 'classical form with oneDNN'),
                      ('float32', 'this project without oneDNN'),
                      (ours, 'this project with oneDNN')]:
    values = [median(rates[form])]
    for a, b in ((form, 'classical'), (ours, form)):
      values += times_as_fast(rates[a], rates[b]) * (a != b)
    yield row(RESULTS, label), values


def inputs():
  found = raw('inputs')['rows']
  for form in ('queues', 'preloaded', 'tf_data'):
    values = []
    for each in found:
      if each['form'] == form:
        values += [each['median']] + [
            each[key]
            for key in ('ratio', 'lowest', 'highest')
            if form != 'queues'
        ]
    yield row(RESULTS, '`%s`' % form), values


def sparse():
  page = 'docs/techniques.md'
  labels = ('threshold alone', '`--regularizer=l1 --l1_scale=0.0001`',
            '`--optimizer=ftrl --ftrl_l1=0.02`')
  for label, result in zip(labels, raw('sparse')['results']):
    dense, *with_zeros = result['dense_points'][-1:] + result['points']
    rights = [dense['averaged'], *(p['averaged'] for p in with_zeros)]
    yield row(page, label), [100 * result['own_zeros'], *percents(rights)]
  dense = runs('techniques')
  steps = range(5000, 10001, 1000)
  yield row(page, 'dense'), [dense['default', step][0] for step in steps]
  for name, result in raw('sparse_longer').items():
    rights = {p['step']: p['averaged'] for p in result['points']}
    yield row(page, name, '| dense |'), percents(rights[s] for s in steps)


def exercise_10():
  by_way = {}
  for result in raw('exercise_10')['results']:
    limit = 'secs' if 'secs' in result else 'steps'
    by_way.setdefault((result['way'], limit), []).append(result)
  for label, way in [('synchronous workers', 'synchronous'),
                     ('asynchronous workers', 'asynchronous'),
                     ('`--model_parallelism=filters`', 'filters'),
                     ('`filters` with `--columns=2`', 'columns')]:
    values = []
    for limit in ('steps', 'secs'):
      found = by_way[way, limit]
      steps = [mean(r['evaluation']['step'] for r in found)]
      values += steps * (limit == 'secs')
      values.append(median(rate for r in found for rate in r['rates']))
      values += [100 * r['evaluation']['precision @ 1'] for r in found]
    yield row('docs/results/clusters.md', label), values


@pytest.mark.parametrize('pairs', [
    precision, techniques, recipes, models, transfer, few_labels, sparse,
    gradients, ensembles, speed, frameworks, onednn, inputs, exercise_10
], ids=lambda pairs: pairs.__name__)
def test_tables_show_the_raw_numbers(pairs):
  checked = list(pairs())
  assert checked
  for cells, values in checked:
    assert shows(cells, values), (cells, values)
