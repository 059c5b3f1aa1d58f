"""Settings that contradict one another, or have no effect."""

import pytest

from cifar10.config import Config
from cifar10.errors import UserError
from cifar10.training import combinations


@pytest.mark.parametrize(
  'settings, problem',
  [
    ({'augment': 'crop,flap'}, "'flap' is unknown; expected some of crop, "),
    ({'schedule': 'piecewise'}, 'found --boundaries= and --rates='),
    ({'adam_beta1': 0.5}, '--adam_beta1=0.5 has no effect with --optimizer'),
    ({'optimizer': 'adam', 'momentum': 0.5}, '--momentum=0.5 has no effect'),
    ({'l2_scale': 0.1}, '--l2_scale=0.1 has no effect with --regularizer=tut'),
    ({'warmup': 0.5}, 'with --schedule=exponential; it is for one_cycle$'),
    ({'staircase': False, 'schedule': 'power'}, '--staircase=False has no'),
    ({'initializer_fan': 'in'}, 'it is for xavier and he and lecun'),
    ({'batch_norm_decay': 0.5}, 'with --normalization=lrn'),
    ({'activation': 'selu', 'max_norm': 2.0}, 'selu keeps.*--max_norm=2 would'),
    ({'activation': 'selu', 'dropout': 0.5}, 'selu keeps.*--dropout=0.5'),
    ({'freeze': 'conv['}, '--freeze=conv.: unterminated .*expected a regular'),
    ({'init_scope': 'conv'}, '--init_scope=conv has no effect without --init'),
    ({'early_stopping': 3}, 'early_stopping needs images to validate on'),
    ({'schedule': 'performance'}, '--schedule=performance needs images'),
    ({'partition_ps': True, 'max_norm': 2.0}, 'leave out --partition_ps'),
    (
      {'partition_ps': True, 'validation_examples': 9},
      '=9 needs variables in one place; leave out --partition_ps',
    ),
    ({'cache_frozen': 2}, '=2 has no effect without --freeze; --freeze=conv '),
    (
      {'cache_frozen': 2, 'freeze': 'conv', 'input': 'tf_data'},
      'found --input=tf_data, expected --input=queues',
    ),
    ({'validation_steps': 9}, '=9 has no effect without --validation_exam'),
    ({'optimizer': 'muon', 'partition_ps': True}, 'out --partition_ps'),
    ({'optimizer': 'muon', 'hold_zeros': True}, 'leave out --hold_zeros'),
    ({'optimizer': 'muon', 'sync': False}, 'leave out --nosync'),
    ({'optimizer': 'muon', 'max_norm': 2.0}, 'leave out --max_norm'),
    ({'optimizer': 'muon', 'top_layers': 'local'}, '--top_layers=local$'),
    ({'optimizer': 'sgd', 'muon_momentum': 0.5}, 'it is for muon$'),
    ({'optimizer': 'ftrl', 'init_from': 'x'}, 'leave out --init_from'),
    ({'max_shift': 0.2}, '--max_shift=0.2 has no effect without shift in --au'),
    ({'augment': 'alternating_flip'}, 'which needs --input=preloaded$'),
    (
      {'augment': 'flip,alternating_flip', 'input': 'preloaded'},
      'leave out one of them',
    ),
    ({'network': 'airbench'}, 'found --normalization=lrn, expected --normal'),
    (
      {'network': 'airbench', 'normalization': 'batch', 'dropout': 0.5},
      '--dropout=0.5 has no effect with --network=airbench; it is for tutori',
    ),
    (
      {'network': 'airbench', 'normalization': 'batch', 'cache_frozen': 2},
      '--cache_frozen=2 is for the layers of the tutorial, not for',
    ),
    (
      {'network': 'airbench', 'normalization': 'batch', 'partition_ps': True},
      'leave out --partition_ps',
    ),
  ],
)
def test_they_are_refused(settings, problem):
  with pytest.raises(UserError, match=problem) as info:
    combinations.check(Config.of(**settings))
  assert '\n' not in str(info.value)


@pytest.mark.parametrize(
  'settings',
  [
    {},
    {'augment': ''},
    {'optimizer': 'adam', 'adam_beta1': 0.5, 'epsilon': 0.1},
    {'schedule': 'piecewise', 'boundaries': '1', 'rates': '0.1,0.2'},
    {'regularizer': 'l1_l2', 'l1_scale': 0.1, 'l2_scale': 0.1},
    {'max_norm': 2.0, 'dropout': 0.5},
    {'activation': 'selu', 'initializer': 'lecun', 'normalization': 'none'},
  ],
)
def test_others_are_let_through(settings, capsys):
  combinations.check(Config.of(**settings))
  assert capsys.readouterr().out == ''


def test_selu_with_normalization_gets_a_warning(capsys):
  combinations.check(Config.of(activation='selu'))
  assert capsys.readouterr().out.startswith('WARNING: --activation=selu')
