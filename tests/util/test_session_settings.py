"""The session's settings, and what is said of the precision."""

import subprocess
import sys

import pytest

from cifar10.config import Config
from cifar10.util import session_settings
from tests import short_runs


def test_memory_of_gpus_grows_on_demand_and_placement_is_soft():
  proto = session_settings.config_proto(Config())
  assert proto.allow_soft_placement
  assert proto.gpu_options.allow_growth
  assert proto.gpu_options.per_process_gpu_memory_fraction == 0
  assert not proto.log_device_placement
  assert 'GPU' not in proto.device_count


def test_settings_reach_the_session():
  config = Config.of(
    gpu_memory_fraction=0.3,
    log_device_placement=True,
    intra_op_threads=3,
    inter_op_threads=5,
  )
  proto = session_settings.config_proto(config, use_gpu=False)
  fraction = proto.gpu_options.per_process_gpu_memory_fraction
  assert fraction == pytest.approx(0.3)
  assert proto.log_device_placement
  assert proto.device_count['GPU'] == 0
  assert proto.intra_op_parallelism_threads == 3
  assert proto.inter_op_parallelism_threads == 5


# Counts the threads of a process before and after its first big product.
COUNT_THREADS = """
import os, sys
from cifar10.util import session_settings
from cifar10.config import Config
import tensorflow.compat.v1 as tf
count = lambda: len(os.listdir('/proc/self/task'))
config = Config.of(intra_op_threads=int(sys.argv[1]))
before = count()
session_settings.start(config)
with tf.Session(config=session_settings.config_proto(Config())) as session:
  session.run(tf.matmul(tf.ones([500, 500]), tf.ones([500, 500])))
print(count() - before)
"""


def test_the_first_session_decides_on_the_threads():
  counts = []
  for threads in (1, 9):
    out = subprocess.run(
      [sys.executable, '-c', COUNT_THREADS, str(threads)],
      cwd=short_runs.ROOT,
      stdout=subprocess.PIPE,
      check=True,
    ).stdout
    counts.append(int(out))
  assert counts[1] >= counts[0] + 8


def cpu_with(features, tmp_path, monkeypatch):
  info = tmp_path / 'cpuinfo'
  info.write_text('processor\t: 0\nflags\t\t: fpu sse2 %s avx2\n' % features)
  monkeypatch.setattr(session_settings, '_CPU_INFO', str(info))
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: False)


@pytest.mark.parametrize('features', ['avx512_bf16', 'amx_bf16 amx_tile'])
def test_bfloat16_is_fast_where_the_processor_has_it(
  tmp_path, monkeypatch, capsys, features
):
  cpu_with(features, tmp_path, monkeypatch)
  monkeypatch.setattr(session_settings.tf, '__version__', '2.21.0')
  session_settings.warn_of_slow_precision(Config.of(precision='bfloat16'))
  session_settings.warn_of_slow_precision(Config.of(precision='float32'))
  assert capsys.readouterr().out == ''
  monkeypatch.setattr(session_settings.tf, '__version__', '1.15.5')
  session_settings.warn_of_slow_precision(Config.of(precision='bfloat16'))
  assert '--precision=bfloat16' in capsys.readouterr().out


@pytest.mark.parametrize('precision', ['bfloat16', 'float16'])
def test_a_slow_precision_is_told(tmp_path, monkeypatch, capsys, precision):
  config = Config.of(precision=precision)
  cpu_with('avx512f', tmp_path, monkeypatch)
  session_settings.warn_of_slow_precision(config)
  warning = capsys.readouterr().out
  assert warning.startswith('WARNING: --precision=%s is slower' % precision)
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: True)
  session_settings.warn_of_slow_precision(config)
  assert capsys.readouterr().out == ''
  session_settings.warn_of_slow_precision(config, use_gpu=False)
  assert capsys.readouterr().out == warning
