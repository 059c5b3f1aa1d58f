"""Recipes: whole sets of settings, from the command line to a prediction."""

import json

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import networks
from cifar10 import settings as settings_lib
from cifar10.run import combinations
from cifar10.run import recipes
from cifar10.settings import Settings
from tests import processes
from tests import short_runs
from tests import synthetic_records
from tests.pages import read

pytestmark = pytest.mark.slow


def train(tmp_path, *flags, trainer='train'):
  return processes.run([
      'cifar10/cifar10_%s.py' % trainer, '--dataset=sample',
      '--train_dir=%s' % (tmp_path / 'run'), '--log_frequency=1', *flags
  ], cwd=short_runs.ROOT)


@pytest.mark.parametrize('name',
                         settings_lib.FIELDS['recipe'].metadata['choices'])
def test_each_is_consistent(name):
  settings = recipes.settings(name)
  combinations.check(Settings(**settings))
  # It says nothing that the defaults say already.
  settings.pop('precision', None)  # The processor's.
  for setting, value in settings.items():
    assert value != settings_lib.FIELDS[setting].default, setting


@pytest.mark.parametrize('name, parameters', [
    ('tutorial', '1,068,298'),
    ('better', '1,757,130'),
    ('fast', '1,971,352'),
    ('best', '4,604,440')
])  # yapf: disable
def test_pages_say_how_many_parameters_are_trained(name, parameters):
  settings = Settings(**recipes.settings(name))
  networks.inference(tf.zeros([1, *2 * [settings.image_size or 24], 3]),
                     settings)
  count = sum(v.shape.num_elements() for v in tf.trainable_variables())
  assert f'{count:,}' == parameters
  for page in ('README.md', 'docs/recipes.md'):
    assert parameters in read(page)


# Settings that suit one optimizer and network.
RATES = {'learning_rate', 'bias_rate', 'softmax_rate'}
OF_MUON = {'muon_momentum', 'muon_decay'}


@pytest.mark.parametrize('recipe, given, left_out', [
    ('fast', {'optimizer': 'adam'}, RATES | OF_MUON | {'momentum'}),
    ('fast', {'optimizer': 'nesterov', 'bias_rate': 2.0}, RATES | OF_MUON),
    ('fast', {'optimizer': 'muon', 'epochs': 1}, set()),
    ('fast', {'schedule': 'constant'}, {'warmup'}),
    ('fast', {'augment': 'crop', 'input': 'queues'}, {'max_shift'}),
    ('fast', {'network': 'tutorial'}, RATES),
    ('better', {'network': 'airbench'}, RATES | {'dropout'}),
    ('better', {'hidden_layers': ''}, {'dropout'}),
    ('better', {'optimizer': 'adam', 'learning_rate': 0.1}, RATES),
    ('tutorial', {'optimizer': 'adam', 'learning_rate': 0.1}, set()),
])  # yapf: disable
def test_given_settings_take_precedence(recipe, given, left_out):
  values = dict(vars(Settings()), recipe=recipe)
  found = recipes.applied(dict(values, **given), given)
  settings = recipes.settings(recipe)
  for name, value in found.items():
    expected = settings.get(name, values[name])
    if name in left_out:
      expected = values[name]
    assert value == given.get(name, expected), name
  combinations.check(Settings(**found))


def test_the_fast_one_trains_on_towers_resumes_on_one_device_and_is_used(
    tmp_path):
  data_dir = synthetic_records.make_three_classes(tmp_path)
  data = ['--dataset=cifar10', '--data_dir=' + data_dir]
  fast = [
      *data, '--recipe=fast', '--batch_size=4', '--learning_rate=0.1',
      '--group_filters=4,8,8'
  ]
  status, out, err = train(tmp_path, *fast, '--max_steps=1', '--num_gpus=2',
                           trainer='multi_gpu_train')
  assert (status, err) == (0, '')
  saved = json.loads((tmp_path / 'run' / 'config.json').read_text())
  expected = dict(recipes.settings('fast'), recipe='fast', batch_size=4,
                  learning_rate=0.1, group_filters='4,8,8')
  assert expected.items() <= saved.items()
  for name in ('recipe=fast', 'network=airbench', 'batch_size=4'):
    assert '--%s ' % name in out
  # It goes on, also on one device, though not as something else.
  status, out, err = train(tmp_path, *fast, '--max_steps=2')
  assert (status, err) == (0, '')
  assert 'Resuming from' in out and 'step 1, loss' in out
  status, _, err = train(tmp_path, *data, '--max_steps=5')
  assert status == 1
  assert '--network=tutorial: the run in' in err
  assert '. Give --recipe=fast as before, another --train_dir, or' in err

  out = processes.output([
      'cifar10/cifar10_eval.py', f'--checkpoint_dir={tmp_path / "run"}',
      '--run_once', '--tta', f'--eval_dir={tmp_path / "e"}'
  ], cwd=short_runs.ROOT, errors=processes.MODELS)
  assert short_runs.PRECISION_LINE.search(out)
  processes.output([
      'cifar10/tools/report/report.py',
      str(tmp_path / 'run'),
      '--out=%s' % (tmp_path / 'report.html')
  ], cwd=short_runs.ROOT, errors=processes.MODELS)
  page = (tmp_path / 'report.html').read_text(encoding='utf-8')
  assert 'No filters: ' in page and 'No predictions' not in page


def test_what_goes_with_no_recipe_is_refused(tmp_path):
  folder = synthetic_records.make_three_classes(tmp_path, size=28)
  for flags, problem in ((['--input=queues'], 'which needs --input=preloaded'),
                         (['--dataset=cifar10',
                           '--data_dir=' + folder], '--image_size=32: ')):
    status, _, err = train(tmp_path, '--recipe=fast', *flags)
    assert status == 1
    assert problem in err and err.endswith('(with --recipe=fast)\n')
    assert not (tmp_path / 'run' / 'config.json').exists()
