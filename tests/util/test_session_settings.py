"""Settings of sessions, and the warning about slow precisions."""

import pytest

from cifar10.settings import Settings
from cifar10.util import processor
from cifar10.util import session_settings
from tests import processes
from tests import short_runs


def test_settings_reach_the_session():
  settings = Settings(gpu_memory_fraction=0.3, log_device_placement=True,
                      intra_op_threads=3, inter_op_threads=5)
  proto = session_settings.config_proto(settings, use_gpu=False)
  fraction = proto.gpu_options.per_process_gpu_memory_fraction
  assert fraction == pytest.approx(0.3)
  assert proto.log_device_placement
  assert proto.device_count['GPU'] == 0
  assert proto.intra_op_parallelism_threads == 3
  assert proto.inter_op_parallelism_threads == 5


def test_only_on_a_server_convolutions_in_bfloat16_are_not_joined():
  for precision in ('bfloat16', 'float16', 'float32'):
    for on_server in (False, True):
      options = session_settings.config_proto(
          Settings(precision=precision),
          on_server=on_server).graph_options.rewrite_options
      is_off = options.remapping == options.OFF
      assert is_off == (on_server and precision == 'bfloat16')


# Counts the threads that a process starts up to its first large product.
COUNT_THREADS = """
import os
import sys

from cifar10.settings import Settings
from cifar10.util import session_settings
import tensorflow.compat.v1 as tf


def num_threads():
  return len(os.listdir('/proc/self/task'))


before = num_threads()
session_settings.start_threads(Settings(intra_op_threads=int(sys.argv[1])))
proto = session_settings.config_proto(Settings())
with tf.Session(config=proto) as session:
  session.run(tf.matmul(tf.ones([500, 500]), tf.ones([500, 500])))
print(num_threads() - before)
"""


@pytest.mark.slow
def test_the_first_session_sets_the_number_of_threads(tmp_path):
  script = tmp_path / 'count_threads.py'
  script.write_text(COUNT_THREADS)
  counts = []
  for threads in (1, 9):
    status, out, err = processes.run([str(script), str(threads)],
                                     cwd=short_runs.ROOT)
    assert (status, err) == (0, '')
    counts.append(int(out))
  assert counts[1] >= counts[0] + 8


def test_starting_threads_prints_nothing(capfd):
  # Nor does it log the placement of its one operation.
  session_settings.start_threads(Settings(log_device_placement=True))
  assert capfd.readouterr() == ('', '')


def cpu_with(features, tmp_path, monkeypatch):
  info = tmp_path / 'cpuinfo'
  info.write_text('processor\t: 0\nflags\t\t: fpu sse2 %s avx2\n' % features)
  monkeypatch.setattr(processor, '_CPU_INFO', str(info))
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: False)


@pytest.mark.parametrize('features', ['avx512_bf16', 'amx_bf16 amx_tile'])
def test_bfloat16_is_fast_if_the_processor_has_instructions_for_it(
    tmp_path, monkeypatch, capsys, features):
  cpu_with(features, tmp_path, monkeypatch)
  monkeypatch.setattr(session_settings.tf, '__version__', '2.21.0')
  session_settings.warn_of_slow_type('bfloat16')
  session_settings.warn_of_slow_type('float32')
  assert capsys.readouterr().out == ''
  monkeypatch.setattr(session_settings.tf, '__version__', '1.15.5')
  session_settings.warn_of_slow_type('bfloat16')
  assert '--precision=bfloat16' in capsys.readouterr().out


@pytest.mark.parametrize('precision', ['bfloat16', 'float16'])
def test_a_slow_precision_prints_a_warning(tmp_path, monkeypatch, capsys,
                                           precision):
  cpu_with('avx512f', tmp_path, monkeypatch)
  session_settings.warn_of_slow_type(precision)
  warning = capsys.readouterr().out
  assert warning == (
      'WARNING: --precision=%s is slower than float32 on this processor, which '
      'has no instructions for it.\n' % precision)
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: True)
  session_settings.warn_of_slow_type(precision)
  assert capsys.readouterr().out == ''
  session_settings.warn_of_slow_type(precision, use_gpu=False)
  assert capsys.readouterr().out == warning


@pytest.mark.parametrize('known, expected', [
    ('*', {'no_proxy': '*'}),
    ('x', {'http_proxy': 'http://p', 'no_proxy': 'localhost,ps,x',
           'no_grpc_proxy': 'localhost,ps,x'})])  # yapf: disable
def test_servers_are_reached_without_a_proxy(monkeypatch, known, expected):
  environment = {'http_proxy': 'http://p', 'no_proxy': known}
  monkeypatch.setattr(session_settings.os, 'environ', environment)
  session_settings.bypass_proxies('ps:2222')
  assert environment == expected
