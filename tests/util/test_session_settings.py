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


# Counts the threads that a process starts up to its first large product.
COUNT_THREADS = """
import os
import sys

from cifar10.settings import Settings
from cifar10.util import session_settings
import tensorflow.compat.v1 as tf

before = os.listdir('/proc/self/task')
session_settings.start_threads(Settings(intra_op_threads=int(sys.argv[1])))
with tf.Session() as session:
  session.run(tf.matmul(tf.ones([500, 500]), tf.ones([500, 500])))
print(len(os.listdir('/proc/self/task')) - len(before))
"""


@pytest.mark.slow
def test_the_first_session_sets_the_number_of_threads(tmp_path):
  script, counts = processes.script(tmp_path, COUNT_THREADS), []
  for threads in (1, 9):
    out = processes.output([script, threads], cwd=short_runs.ROOT)
    counts.append(int(out))
  assert counts[1] >= counts[0] + 8


@pytest.mark.parametrize('precision, features, version, has_gpu, is_slow', [
    ('float32', 'avx512f', '1.15.5', False, False),
    ('bfloat16', 'avx512_bf16', '2.21.0', False, False),
    ('bfloat16', 'amx_bf16 amx_tile', '2.21.0', False, False),
    ('bfloat16', 'avx512_bf16', '1.15.5', False, True),
    ('bfloat16', 'avx512f', '2.21.0', False, True),
    ('float16', 'avx512_bf16', '2.21.0', False, True),
    ('float16', 'avx512f', '2.21.0', True, False)
])  # yapf: disable
def test_a_slow_precision_prints_a_warning(tmp_path, monkeypatch, capsys,
                                           precision, features, version,
                                           has_gpu, is_slow):
  info = tmp_path / 'cpuinfo'
  info.write_text('processor\t: 0\nflags\t\t: fpu sse2 %s avx2\n' % features)
  monkeypatch.setattr(processor, '_CPU_INFO', str(info))
  monkeypatch.setattr(session_settings, 'has_gpu', lambda: has_gpu)
  monkeypatch.setattr(session_settings.tf, '__version__', version)
  warning = 'WARNING: --precision=%s is slower than float32' % precision
  for use_gpu, is_told in ((True, is_slow), (False, is_slow or has_gpu)):
    session_settings.warn_of_slow_type(precision, use_gpu=use_gpu)
    assert capsys.readouterr().out[:len(warning)] == warning * is_told


@pytest.mark.parametrize('known, expected', [
    ('*', {'no_proxy': '*'}),
    ('x', {'http_proxy': 'http://p', 'no_proxy': 'localhost,ps,x',
           'no_grpc_proxy': 'localhost,ps,x'})])  # yapf: disable
def test_servers_are_reached_without_a_proxy(monkeypatch, known, expected):
  environment = {'http_proxy': 'http://p', 'no_proxy': known}
  monkeypatch.setattr(session_settings.os, 'environ', environment)
  session_settings.bypass_proxies('ps:2222')
  assert environment == expected
