"""Facts and tables of a page; test_report.py has the page of a real run."""

import pytest

from cifar10.infer import precision
from cifar10.settings import Settings
from cifar10.store.run_state import Start
from cifar10.tools.report import events
from cifar10.tools.report import page
from tests.tools.report.parsed_page import Page
from tests.tools.report.runs import make_run

pytest.importorskip('jinja2')
pytest.importorskip('matplotlib')

TEST = precision.tag()
TRAIN = precision.tag(eval_data='train_eval')
TOP_5 = precision.tag(top_k=5)


def page_of(**changes):
  return Page(page.render(make_run(**changes)))


def points(*pairs):
  return [events.Point(step, 50.0, value) for step, value in pairs]


@pytest.mark.parametrize('tags, name, fact', [
    ((TEST, TRAIN, TOP_5), 'Best evaluation',
     ('50.00\u00a0%', 'step 2,000; evaluations: 3')),
    ((TRAIN, TOP_5), 'Best evaluation, training images',
     ('87.50\u00a0%', 'step 100; evaluations: 1')),
    ((TOP_5,), 'Best evaluation, @ 5, test images',
     ('100.00\u00a0%', 'step 7; evaluations: 1'))
])  # yapf: disable
def test_the_best_evaluation_is_of_test_images(tags, name, fact):
  precisions = {
      TEST: points((100, 0.25), (2000, 0.5), (3000, 0.375)),
      TRAIN: points((100, 0.875)),
      TOP_5: points((7, 1.0))
  }
  found = page_of(precisions={tag: precisions[tag] for tag in tags})
  assert found.facts == {name: fact}


@pytest.mark.parametrize('durations, fact',
                         [([3600.0, 125.4], ('1:02:05', 'starts: 2')),
                          ([3600.0, None],
                           ('1:00:00', 'starts: 2, of unknown length: 1')),
                          ([None],
                           ('unknown', 'starts: 1, of unknown length: 1'))])
def test_training_time_is_that_of_all_starts(durations, fact):
  assert page_of(durations=durations).facts == {'Training time': fact}


def test_starts_are_listed_with_their_changes():
  changes = (
      ('precision', 'float32', 'bfloat16'),
      ('seed', None, 3),
      ('summary_steps', 100, 50)  # Not a flag.
  )
  begins = Start(0, 1e9), Start(1200, 1e9 + 60, changes)
  found = page_of(starts=begins, durations=[None, 30.0])
  assert found.headings == ['Starts']
  (table,) = found.tables
  _, first, second = table
  dates = [row.pop(1) for row in (first, second)]
  assert first == ['0', '–', '']
  assert second == [
      '1,200', '0:00:30', '--precision float32 -> bfloat16--seed none -> 3'
      'summary_steps 100 -> 50'
  ]
  assert [len(date) for date in dates] == [len('2001-09-09 01:46')] * 2
  assert dates[0][:6] == '2001-0' and dates[0] < dates[1]


def flags_of(**settings):
  (table,) = page_of(settings=Settings(**settings)).tables
  return {row[0]: row[1:] for row in table[1:]}


def test_settings_are_the_flags_that_the_run_used():
  flags = flags_of(batch_size=64, summary_steps=2, learning_rate=0.5)
  assert list(flags.items())[:3] == [('--batch_size', ['64', '128']),
                                     ('--learning_rate', ['0.5', '0.1']),
                                     ('--dataset', ['cifar10', 'cifar10'])]
  assert not [name for name in flags if 'summary_steps' in name]
  assert not {'--num_gpus', '--ps_hosts', '--sync'} & set(flags)
  assert flags_of(num_gpus=2)['--num_gpus'] == ['2', '1']
  flags = flags_of(worker_hosts='a:1,b:1')
  assert flags['--sync'] == ['True', 'True'] and '--num_gpus' not in flags


def test_an_empty_run_has_a_page_with_its_name_escaped():
  found = page_of(name='R&D <b> {{ 7 * 7 }}')
  assert (found.facts, found.charts, found.tables) == ({}, [], [])
  assert found.title == 'Run report: R&D <b> {{ 7 * 7 }}'
