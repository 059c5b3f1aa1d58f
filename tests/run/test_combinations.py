"""Settings that contradict one another, or have no effect."""

import dataclasses

import pytest

from cifar10 import settings as settings_lib
from cifar10.data import distortions
from cifar10.errors import UserError
from cifar10.run import combinations
from cifar10.settings import Settings
from cifar10.store import config

AIRBENCH = 'network=airbench normalization=batch'


def settings_of(text):
  """The Settings that a text of names and values says."""
  values = dict(pair.split('=', 1) for pair in text.split())
  for name, value in values.items():
    kind = config.types(settings_lib.FIELDS[name])[0]
    values[name] = value == 'True' if kind is bool else kind(value)
  return Settings(**values)


@pytest.mark.parametrize('settings, problem', [
    # Names and numbers within a setting.
    ('augment=crop,flap', "'flap' is unknown; expected some of crop, "),
    ('schedule=piecewise', 'found --boundaries= and --rates='),
    ('freeze=conv[', '--freeze=conv.: unterminated .*expected a regular'),
    ('group_filters=64,256', '64,256: expected three numbers of filters'),
    # One that another one leaves without effect.
    ('adam_beta1=0.5', '--adam_beta1=0.5 has no effect with --optimizer=sgd'),
    ('optimizer=adam momentum=0.5', '--momentum=0.5 has no effect'),
    ('warmup=0.5', 'with --schedule=exponential; it needs one_cycle$'),
    ('staircase=False schedule=power', '--nostaircase has no effect'),
    ('initializer_fan=in', 'it needs xavier, he or lecun$'),
    ('init_scope=conv', '--init_scope=conv has no effect without --init_from'),
    ('cache_frozen=2', '=2 has no effect without --freeze$'),
    ('max_shift=0.2', '--max_shift=0.2 has no effect without shift in --aug'),
    ('top_layers=local hidden_layers=384', 'with --top_layers=local; it needs'),
    ('hidden_layers= dropout=0.5', 'without a layer in --hidden_layers$'),
    (f'{AIRBENCH} columns=2', '--columns=2 has no effect with --network=airb'),
    # Two that contradict each other.
    ('network=airbench', 'made with --norm.*go with --normalization=lrn$'),
    (f'{AIRBENCH} freeze=conv cache_frozen=2', 'with --cache_frozen=2$'),
    (f'{AIRBENCH} normalize_logits=True', 'with --normalize_logits$'),
    (f'{AIRBENCH} partition_ps=True', 'one place.* with --network=airbench$'),
    ('partition_ps=True validation_examples=9', '--validation_examples=9$'),
    ('partition_ps=True clip_norm_each=1', '--clip_norm_each=1'),
    ('columns=2 top_layers=local', '^--columns=2 divides.*--top_layers=local$'),
    (f'{AIRBENCH} model_parallelism=filters', '=filters div.*with --network='),
    ('cache_frozen=2 freeze=conv input=tf_data', 'with --input=tf_data$'),
    ('cache_frozen=2 freeze=conv activation=rrelu', '--activation=rrelu$'),
    ('activation=selu max_norm=2', 'selu keeps.*with --max_norm=2.0$'),
    ('optimizer=muon partition_ps=True', 'with --partition_ps$'),
    ('optimizer=muon sync=False', 'with --nosync$'),
    ('optimizer=muon top_layers=local', 'with --top_layers=local$'),
    # What else they need.
    ('early_stopping=3', '--early_stopping needs images to validate on'),
    ('schedule=performance', '--schedule=performance needs images'),
    ('augment=alternating_flip', 'which needs --input=preloaded$'),
    ('augment=flip,alternating_flip input=preloaded', 'leave out one of them'),
    ('batch_size=1 normalization=batch', '^--batch_size=1: .* at least 2$'),
    ('batch_size=1 normalization=batch normalize_logits=True top_layers=local',
     '^--batch_size=1: '),
])  # yapf: disable
def test_they_are_refused(settings, problem):
  with pytest.raises(UserError, match=problem):
    combinations.check(settings_of(settings))


@pytest.mark.parametrize('settings', [
    '', 'augment=', 'optimizer=adam adam_beta1=0.5 epsilon=0.1',
    'schedule=piecewise boundaries=1 rates=0.1,0.2',
    'regularizer=l1_l2 l1_scale=0.1 l2_scale=0.1', 'batch_size=1',
    'batch_size=1 normalization=batch top_layers=local',
    f'batch_size=1 {AIRBENCH}', 'max_norm=2 dropout=0.5', 'hidden_layers=',
    'model_parallelism=layers top_layers=local',
    'activation=selu initializer=lecun normalization=none',
])
def test_others_are_let_through(settings, capsys):
  combinations.check(settings_of(settings))
  assert capsys.readouterr().out == ''


@pytest.mark.parametrize('settings, name, problem', [
    ('', 'muon_momentum', '=0.6 has no effect with --optimizer=sgd; it needs'),
    ('schedule=constant', 'staircase', '--staircase has no effect'),
    ('', 'validation_steps', '=1000 has no effect without --validation_exam'),
    ('', 'max_shift', '=0.125 has no effect without shift in --augment$'),
    ('top_layers=local', 'hidden_layers', '=384,192 has no effect with --top_'),
])
def test_what_is_given_at_its_default_is_refused_too(settings, name, problem):
  found = settings_of(settings)
  combinations.check(found)
  with pytest.raises(UserError, match=problem):
    combinations.check(dataclasses.replace(found, given=frozenset([name])))


def test_the_data_set_of_a_run_is_refused_only_as_a_flag():
  found = settings_of('dataset=sample cifar100_labels=coarse warmup=0.5')
  combinations.check_use(found)
  found = dataclasses.replace(found, given=frozenset(['cifar100_labels']))
  with pytest.raises(UserError, match='=coarse has no effect with --dataset=s'):
    combinations.check_use(found)


@pytest.mark.parametrize(
    'settings, names',
    [
        # Off, and given as off.
        (AIRBENCH, 'dropout'),
        ('', 'init_scope init_map ftrl_l1 boundaries cache_frozen'),
        ('sync=False', 'sync backup_workers'),
        # They have an effect.
        ('optimizer=muon', 'optimizer momentum muon_momentum muon_decay'),
        ('validation_examples=9', 'validation_examples validation_steps'),
        ('augment=flip,shift', 'augment max_shift'),
    ])
def test_what_is_given_may_be_off_or_have_an_effect(settings, names):
  combinations.check(
      dataclasses.replace(settings_of(settings),
                          given=frozenset(names.split())))


def test_what_a_setting_needs_exists():
  for name, (owner, choices) in settings_lib.with_policy('needs').items():
    field = settings_lib.FIELDS[owner]
    known = field.metadata.get('choices', distortions.NAMES)
    assert set(choices or ()) <= set(known), name


def test_selu_with_normalization_gets_a_warning(capsys):
  combinations.check(Settings(activation='selu'))
  assert capsys.readouterr().out.startswith('WARNING: --activation=selu')
