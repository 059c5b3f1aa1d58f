"""The space of a search: what is searched, and what is refused."""

import json

import pytest

from cifar10.errors import UserError
from cifar10.tools.search import space as space_lib

pytest.importorskip('optuna')

FLAGS = ['--max_steps=20', '--validation_examples=100']
RATES = {'learning_rate': {'low': 0.01, 'high': 0.1}}


def load(tmp_path, flags, space):
  path = tmp_path / 'space.json'
  path.write_text(json.dumps({'flags': flags, 'space': space}))
  return space_lib.load(str(path))


def test_lists_are_choices_and_limits_are_ranges(tmp_path):
  space = load(tmp_path, FLAGS, {
      'optimizer': ['sgd', 'adam'],
      'staircase': [True, False],
      'batch_size': {'low': 32, 'high': 96, 'step': 32},
      'learning_rate': {'low': 0.001, 'high': 1, 'log': True},
      'clip_norm': {'low': 0, 'high': 3}
  })  # yapf: disable
  assert space.flags == tuple(FLAGS)
  kinds = space_lib.optuna().distributions
  assert space.distributions == {
      'optimizer': kinds.CategoricalDistribution(['sgd', 'adam']),
      'staircase': kinds.CategoricalDistribution([True, False]),
      'batch_size': kinds.IntDistribution(32, 96, step=32),
      'learning_rate': kinds.FloatDistribution(0.001, 1, log=True),
      'clip_norm': kinds.FloatDistribution(0, 3)
  }


@pytest.mark.parametrize('flags, space, problem', [
    (FLAGS[:1], RATES, 'without --validation_examples, there are no images'),
    (FLAGS + ['--validation_examples=0'], RATES, 'without --validation_exampl'),
    (FLAGS[1:], RATES, 'without --max_steps, a trial has no end'),
    (FLAGS + ['--max_steps=0'], RATES, 'without --max_steps, a trial has no'),
    (FLAGS[1:] + ['--max_steps', 20], RATES, 'found 20; expected --name=value'),
    (FLAGS, {}, 'expected "flags", a list of flags of all trials, and "spac'),
    (FLAGS, {'learning_rat': [1]}, 'cifar10_train has no flag --learning_rat'),
    (FLAGS + ['--eval_data=test'], RATES, 'has no flag --eval_data'),
    (FLAGS, {'max_steps': [1, 2]}, '--max_steps is the same for all trials'),
    (FLAGS, {'train_dir': ['a']}, '--train_dir is the same for all trials'),
    (FLAGS + ['--nostaircase'], {'staircase': [True, False]},
     '--staircase is the same for all trials'),
    (FLAGS + ['--overwrite'], RATES, 'a search sets --overwrite itself'),
    (FLAGS + ['--nooverwrite'], RATES, 'a search sets --overwrite itself'),
    (FLAGS, {'dropout': 3}, '"dropout": .*expected a list'),
    (FLAGS, {'dropout': {'low': 0.5}}, '"dropout": \'high\'; expected a list'),
    (FLAGS, {'dropout': {'low': 0.5, 'high': 0}}, '"dropout": .*a list of v'),
    (FLAGS, {'dropout': {'low': 0, 'high': 1}}, 'dropout is 1; expected a val'),
    (FLAGS, {'optimizer': ['sgd', 'adm']}, 'optimizer is "adm"; expected one'),
    (FLAGS, {'learning_rate': [None, 0.1]}, '"learning_rate": found null; '),
    (FLAGS, {'staircase': {'low': 0, 'high': 1}}, 'its values are not numbers')
])  # yapf: disable
def test_what_makes_no_sense_is_refused(tmp_path, flags, space, problem):
  with pytest.raises(UserError, match=problem) as info:
    load(tmp_path, flags, space)
  assert '\n' not in str(info.value)
  assert str(tmp_path / 'space.json') in str(info.value)


def test_of_a_flag_that_is_there_twice_the_last_one_counts(tmp_path):
  flags = ['--max_steps=0', *FLAGS]
  assert load(tmp_path, flags, RATES).flags == tuple(flags)


def test_values_become_flags():
  values = {'learning_rate': 1e-05, 'batch_size': 32, 'optimizer': 'adam'}
  values.update(staircase=False, hold_zeros=True)
  assert space_lib.as_flags(values) == [
      '--learning_rate=1e-05', '--batch_size=32', '--optimizer=adam',
      '--nostaircase', '--hold_zeros'
  ]
