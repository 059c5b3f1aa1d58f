"""The command lines: ways to start, flags, and mistakes in them."""

import os
import re
import signal
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10
from cifar10 import cifar10_eval
from cifar10 import flags as flags_lib
from cifar10 import settings as settings_lib
from cifar10.settings import Settings
from cifar10.util import session_settings
from tests import processes
from tests import short_runs

ROOT = short_runs.ROOT


def call(arguments, cwd=ROOT, **environment):
  """Runs Python; returns status, output and error output."""
  # The programs find their package by themselves.
  inherited = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
  environment = dict(inherited, **environment)
  if arguments[0] != '-c':
    return processes.run(arguments, cwd=cwd, env=environment)
  process = subprocess.run([sys.executable] + arguments, check=False, cwd=cwd,
                           env=environment, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True,
                           timeout=120)
  return process.returncode, process.stdout, process.stderr


def flags_in(text):
  """The flags that --help lists, with the text of their defaults."""
  found = {}
  for entry in re.split(r'^  --', text, flags=re.MULTILINE)[1:]:
    name = re.match(r'(\[no\])?(\w+):', entry).group(2)
    default = re.search(r"\(default:\s+(?:\"\[)?'(.*)'(?:\]\")?\)", entry)
    found[name] = default and default.group(1)
  return found


def as_absl_says(value):
  if isinstance(value, bool):
    return str(value).lower()
  return None if value is None else str(value)


@pytest.mark.parametrize('arguments, cwd, groups', [
    (['cifar10_train.py', '-h'], os.path.join(ROOT, 'cifar10'),
     flags_lib.TRAINER_GROUPS),
    (['cifar10/cifar10_multi_gpu_train.py', '--help'], ROOT,
     flags_lib.TRAINER_GROUPS + ('towers',)),
    (['-m', 'cifar10.cifar10_train', '--help'], ROOT, flags_lib.TRAINER_GROUPS),
    ([os.path.join(ROOT, 'cifar10', 'cifar10_eval.py'), '--help'], '/',
     cifar10_eval.GROUPS),
], ids=['inside', 'root', 'module', 'elsewhere'])  # yapf: disable
def test_every_way_to_start_lists_the_flags_with_their_defaults(
    arguments, cwd, groups):
  status, out, err = call(arguments, cwd)
  assert (status, err) == (1, '')  # absl's status for --help.
  assert 'CIFAR-10 model' in out
  assert '--batch_size: Images in a batch' in out
  assert flags_in(out) == {
      name: as_absl_says(default(name))
      for name in settings_lib.flag_names(*groups)
  }


def default(name):
  """The default of a flag; that of some is a constant of the tutorial."""
  field = settings_lib.FIELDS[name]
  return vars(cifar10).get(field.metadata['constant'], field.default)


@pytest.mark.parametrize('program, flags, message', [
    ('train', '--bach_size=4', 'there is no flag --bach_size; see --help'),
    ('train', '--num_gpus=2', '--num_gpus; cifar10_multi_gpu_train has it'),
    ('train', '--summary_steps=2', '--summary_steps; see --help'),
    ('eval', '--num_examples=100', 'num_examples; cifar10_eval takes each'),
    ('train', '--use_fp16', '--use_fp16; --precision=float16 took its'),
    ('train', '--batch_size=0', '--batch_size=0'),
    ('multi_gpu_train', '--learning_rate=fast', '=fast: expected a number'),
    ('train', '--seed=one', '--seed=one: expected an integer'),
    ('train', '--max_shift=nan', '--max_shift=nan: expected an ordinary'),
    ('train', '--max_steps=9223372036854775808', '=9223372036854775808'),
    ('train', '--recipe=fast --optimizer=sgd --momentum=0.9',
     'it needs momentum, nesterov, rmsprop or muon (with'),
    ('pretrain', '--softmax_rate=1', '=1 has no effect in pretraining'),
    ('train', '--train_dir=pretrained:fast',
     'fast: is the name of a model that comes with the package; expected a '),
    ('train', '--dataset=mnist', '--dataset=mnist'),
    ('train', '--optimizer=adam --epsilon=0',
     '--epsilon=0: expected a number in the range [1e-16,'),
    ('eval', '--norun_once=3', '--norun_once=3 does not take an argument'),
    ('eval', '--run_once False', "unexpected argument 'False'"),
    ('eval', '--eval_data=tests', '--eval_data=tests'),
    ('eval', '--dataset=sample --data_url=x', '=x has no effect with --datas'),
    ('export', '--checkpoint=/a/model.ckpt-3 --checkpoint_dir=/b',
     '--checkpoint=/a/model.ckpt-3: is not in --checkpoint_dir=/b;'),
])  # yapf: disable
def test_mistakes_are_named_and_nothing_is_done(tmp_path, program, flags,
                                                message):
  name = 'cifar10/cifar10_%s.py' % program
  kind = program if program in ('eval', 'export') else 'train'
  directory = '--%s_dir=%s' % (kind, tmp_path / 'out')
  status, out, err = call([name, directory, *flags.split()])
  assert status == 1
  assert message in err and err.count('\n') == 1
  assert err.startswith('cifar10_%s: error: ' % program)
  assert out == ''
  assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize('takes_arguments', [True, False])
def test_a_slow_precision_is_told_apart_from_answers(capsys, monkeypatch,
                                                     takes_arguments):
  config = Settings(precision='float16')
  monkeypatch.setattr(flags_lib, '_settings', lambda names, has_model: config)
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: False)
  extra = ['x.png'] if takes_arguments else []
  assert flags_lib._run_guarded(
      lambda settings, *rest: print('answer', settings is config, *rest), (),
      ['program', *extra], takes_arguments) == 0
  out, err = capsys.readouterr()
  warned = err if takes_arguments else out
  assert warned.startswith('WARNING: --precision=float16 is slower')
  assert out.endswith(f"answer True{' ' * bool(extra)}{extra or ''}\n")
  assert (out + err).count('\n') == 2


BUSY_AT_ITS_END = """
import threading
import time
from cifar10 import flags
import tensorflow.compat.v1 as tf

def work(config):
  session, one = tf.Session(), tf.constant(1)

  def run():
    while True:
      session.run(one)

  for _ in range(8):
    threading.Thread(target=run, daemon=True).start()
  time.sleep(0.5)
  print('done')

flags.run(work, ('session',), '')
"""


@pytest.mark.slow
def test_threads_that_run_tensorflow_at_the_end_do_no_harm():
  assert call(['-c', BUSY_AT_ITS_END]) == (0, 'done\n', '')


@pytest.mark.slow
def test_tensorflow_is_quiet_unless_asked():
  program = 'import cifar10, tensorflow as tf; tf.compat.v1.Session()'
  assert call(['-c', program], TF_CPP_MIN_LOG_LEVEL='2') == (0, '', '')
  _, _, err = call(['-c', program], TF_CPP_MIN_LOG_LEVEL='0')
  assert 'CPU' in err


def test_ctrl_c_during_the_imports_is_quiet(tmp_path):
  process = subprocess.Popen(
      [sys.executable, short_runs.script('cifar10_train')],
      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
  # TensorFlow is being imported when its libraries are mapped.
  maps = '/proc/%d/maps' % process.pid
  processes.wait_until(
      lambda: process.poll() is not None or 'tensorflow' in open(maps).read())
  process.send_signal(signal.SIGINT)
  assert process.communicate(timeout=60) == (b'', b'')
  assert process.returncode == -signal.SIGINT


def test_the_versions_are_told():
  status, out, err = call(['cifar10/cifar10_eval.py', '--version'])
  assert (status, err) == (0, '')
  assert out.startswith('cifar10-tutorial ') and tf.__version__ in out
