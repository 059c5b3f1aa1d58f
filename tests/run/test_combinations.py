"""Settings that contradict one another, or have no effect."""

import dataclasses

import pytest

from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.run import combinations
from cifar10.settings import Settings


@pytest.mark.parametrize('settings, problem', [
    ({
        'augment': 'crop,flap'
    }, "'flap' is unknown; expected some of crop, "),
    ({
        'schedule': 'piecewise'
    }, 'found --boundaries= and --rates='),
    ({
        'adam_beta1': 0.5
    }, '--adam_beta1=0.5 has no effect with --optimizer'),
    ({
        'optimizer': 'adam',
        'momentum': 0.5
    }, '--momentum=0.5 has no effect'),
    ({
        'l2_scale': 0.1
    }, '--l2_scale=0.1 has no effect with --regularizer=tut'),
    ({
        'warmup': 0.5
    }, 'with --schedule=exponential; it needs one_cycle$'),
    ({
        'staircase': False,
        'schedule': 'power'
    }, '--staircase=False has no'),
    ({
        'initializer_fan': 'in'
    }, 'it needs xavier, he or lecun'),
    ({
        'batch_norm_decay': 0.5
    }, 'with --normalization=lrn'),
    ({
        'activation': 'selu',
        'max_norm': 2.0
    }, 'selu keeps.*--max_norm=2 would'),
    ({
        'activation': 'selu',
        'dropout': 0.5
    }, 'selu keeps.*--dropout=0.5'),
    ({
        'freeze': 'conv['
    }, '--freeze=conv.: unterminated .*expected a regular'),
    ({
        'init_scope': 'conv'
    }, '--init_scope=conv has no effect without --init'),
    ({
        'early_stopping': 3
    }, 'early_stopping needs images to validate on'),
    ({
        'schedule': 'performance'
    }, '--schedule=performance needs images'),
    ({
        'partition_ps': True,
        'max_norm': 2.0
    }, 'leave out --partition_ps'),
    ({
        'partition_ps': True,
        'validation_examples': 9
    }, '=9 needs variables in one place; leave out --partition_ps'),
    ({
        'cache_frozen': 2
    }, '=2 has no effect without --freeze; --freeze=conv '),
    ({
        'cache_frozen': 2,
        'freeze': 'conv',
        'input': 'tf_data'
    }, 'found --input=tf_data, expected --input=queues'),
    ({
        'cache_frozen': 2,
        'freeze': 'conv',
        'input_dropout': 0.1
    }, '=2 keeps the outputs of layers, and --input_dropout=0.1 changes'),
    ({
        'cache_frozen': 2,
        'freeze': 'conv',
        'activation': 'rrelu'
    }, '=2 keeps the outputs of layers, and --activation=rrelu changes'),
    ({
        'validation_steps': 9
    }, '=9 has no effect without --validation_exam'),
    ({
        'optimizer': 'muon',
        'partition_ps': True
    }, 'out --partition_ps'),
    ({
        'optimizer': 'muon',
        'hold_zeros': True
    }, 'leave out --hold_zeros'),
    ({
        'optimizer': 'muon',
        'sync': False
    }, 'leave out --nosync'),
    ({
        'optimizer': 'muon',
        'max_norm': 2.0
    }, 'leave out --max_norm'),
    ({
        'optimizer': 'muon',
        'top_layers': 'local'
    }, '--top_layers=local$'),
    ({
        'top_layers': 'local',
        'hidden_layers': '384'
    }, '--hidden_layers=384 has no effect with --top_layers=local; it needs'),
    ({
        'batch_size': 1,
        'normalization': 'batch'
    }, '^--batch_size=1: --normalization=batch .* expected at least 2$'),
    ({
        'batch_size': 1,
        'normalization': 'batch',
        'normalize_logits': True,
        'top_layers': 'local'
    }, '^--batch_size=1: '),
    ({
        'hidden_layers': '',
        'dropout': 0.5
    }, '--dropout=0.5 has no effect without a layer in --hidden_layers$'),
    ({
        'hidden_layers': '384,'
    }, '--hidden_layers=384,: expected the size of each layer'),
    ({
        'group_filters': '64,256'
    }, '--group_filters=64,256: expected three numbers of filters'),
    ({
        'group_filters': '8,8,8'
    }, '--group_filters=8,8,8 has no effect with --network=tutorial'),
    ({
        'network': 'airbench',
        'normalization': 'batch',
        'hidden_layers': '384'
    }, '=384 has no effect with --network=airbench; it needs tutorial$'),
    ({
        'optimizer': 'sgd',
        'muon_momentum': 0.5
    }, 'it needs muon$'),
    ({
        'max_shift': 0.2
    }, '--max_shift=0.2 has no effect without shift in --au'),
    ({
        'dataset': 'sample',
        'data_url': 'file:///x'
    }, '--data_url=file:///x has no effect with --dataset=sample; it needs'),
    ({
        'dataset': 'sample',
        'data_sha256': 'f'
    },
     '--data_sha256=f has no effect with --dataset=sample; it needs cifar10,'),
    ({
        'augment': 'alternating_flip'
    }, 'which needs --input=preloaded$'),
    ({
        'augment': 'flip,alternating_flip',
        'input': 'preloaded'
    }, 'leave out one of them'),
    ({
        'network': 'airbench'
    }, 'found --normalization=lrn, expected --normal'),
    ({
        'network': 'airbench',
        'normalization': 'batch',
        'dropout': 0.5
    }, '--dropout=0.5 has no effect with --network=airbench; it needs tutoria'),
    ({
        'network': 'airbench',
        'normalization': 'batch',
        'cache_frozen': 2
    }, '--cache_frozen=2 is for the layers of the tutorial, not for'),
    ({
        'normalize_logits': True
    }, '=True has no effect with --normalization=lrn; it needs batch$'),
    ({
        'network': 'airbench',
        'normalization': 'batch',
        'normalize_logits': True
    }, '--normalize_logits=True is for the layers of the tutorial, not for'),
    ({
        'network': 'airbench',
        'normalization': 'batch',
        'partition_ps': True
    }, 'leave out --partition_ps'),
    ({
        'columns': 2,
        'network': 'airbench',
        'normalization': 'batch'
    }, '--columns=2 has no effect with --network=airbench'),
    ({
        'model_parallelism': 'filters',
        'network': 'airbench',
        'normalization': 'batch'
    }, '^--model_parallelism=filters divides .* leave out --network=airbench'),
    ({
        'columns': 2,
        'top_layers': 'local'
    }, '^--columns=2 divides .* leave out --top_layers=local$'),
    ({
        'columns': 2,
        'normalization': 'batch'
    }, 'leave out --normalization=batch$'),
    ({
        'columns': 2,
        'activation': 'prelu'
    }, 'leave out --activation=prelu$'),
    ({
        'model_parallelism': 'filters',
        'freeze': 'conv',
        'cache_frozen': 2
    }, 'leave out --cache_frozen=2$')
])
def test_they_are_refused(settings, problem):
  with pytest.raises(UserError, match=problem) as info:
    combinations.check(Settings(**settings))
  assert '\n' not in str(info.value)


@pytest.mark.parametrize('settings', [{}, {
    'augment': ''
}, {
    'optimizer': 'adam',
    'adam_beta1': 0.5,
    'epsilon': 0.1
}, {
    'schedule': 'piecewise',
    'boundaries': '1',
    'rates': '0.1,0.2'
}, {
    'regularizer': 'l1_l2',
    'l1_scale': 0.1,
    'l2_scale': 0.1
}, {
    'batch_size': 1
}, {
    'batch_size': 1,
    'normalization': 'batch',
    'top_layers': 'local'
}, {
    'batch_size': 1,
    'normalization': 'batch',
    'network': 'airbench'
}, {
    'max_norm': 2.0,
    'dropout': 0.5
}, {
    'hidden_layers': ''
}, {
    'model_parallelism': 'layers',
    'top_layers': 'local'
}, {
    'activation': 'selu',
    'initializer': 'lecun',
    'normalization': 'none'
}])
def test_others_are_let_through(settings, capsys):
  combinations.check(Settings(**settings))
  assert capsys.readouterr().out == ''


@pytest.mark.parametrize('settings, name, problem', [
    ({
        'optimizer': 'rmsprop'
    }, 'muon_momentum', '; it needs muon$'),
    ({}, 'muon_momentum',
     '--muon_momentum=0.6 has no effect with --optimizer=sgd; it needs'),
    ({
        'optimizer': 'sgd'
    }, 'adam_beta1', '--adam_beta1=0.9 has no effect'),
    ({
        'schedule': 'constant'
    }, 'staircase', '--staircase=True has no effect'),
    ({}, 'warmup', 'with --schedule=exponential; it needs one_cycle$'),
    ({}, 'l2_scale', '--l2_scale=0.001 has no effect with --regularizer=tut'),
    ({}, 'batch_norm_decay', 'with --normalization=lrn; it needs batch$'),
    ({}, 'initializer_fan', 'it needs xavier, he or lecun$'),
    ({}, 'validation_steps', '=1000 has no effect without --validation_exam'),
    ({}, 'max_shift', '=0.125 has no effect without shift in --augment$'),
    ({}, 'cifar100_labels', 'with --dataset=cifar10; it needs cifar100$'),
    ({
        'network': 'airbench',
        'normalization': 'batch'
    }, 'top_layers', '--top_layers=full has no effect with --network=airbench'),
    ({
        'top_layers': 'local'
    }, 'hidden_layers', '--hidden_layers=384,192 has no effect with --top_la')
])
def test_what_is_given_at_its_default_is_refused_too(settings, name, problem):
  config = Settings(**settings)
  combinations.check(config)
  with pytest.raises(UserError, match=problem) as info:
    combinations.check(dataclasses.replace(config, given=frozenset([name])))
  assert '\n' not in str(info.value)


@pytest.mark.parametrize(
    'settings, names',
    [
        # Off, and given as off.
        ({
            'network': 'airbench',
            'normalization': 'batch'
        }, ['dropout']),
        ({},
         ['init_scope', 'init_map', 'ftrl_l1', 'boundaries', 'cache_frozen']),
        ({
            'sync': False
        }, ['sync', 'backup_workers']),
        # They have an effect.
        ({
            'optimizer': 'muon'
        }, ['optimizer', 'momentum', 'muon_momentum', 'muon_decay']),
        ({
            'validation_examples': 9
        }, ['validation_examples', 'validation_steps']),
        ({
            'augment': 'flip, shift'
        }, ['augment', 'max_shift'])
    ])
def test_what_is_given_may_be_off_or_have_an_effect(settings, names):
  combinations.check(
      dataclasses.replace(Settings(**settings), given=frozenset(names)))


def test_what_a_setting_needs_exists():
  for name, (owner, choices) in settings_lib.with_policy('needs').items():
    field = settings_lib.FIELDS[owner]
    known = field.metadata.get('choices', distortions.NAMES)
    assert set(choices or ()) <= set(known), name


def test_selu_with_normalization_gets_a_warning(capsys):
  combinations.check(Settings(activation='selu'))
  assert capsys.readouterr().out.startswith('WARNING: --activation=selu')
