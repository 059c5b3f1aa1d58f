"""The processor's features, and what TensorFlow is told about them."""

import os
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

from cifar10.util import processor

SETTING = 'TF_ENABLE_ONEDNN_OPTS'


@pytest.mark.parametrize('given, features, expected',
                         [(None, 'avx avx2 fma', '1'), (None, 'avx', None),
                          ('0', 'avx avx2', '0'),])
def test_onednn_is_on_with_avx2_unless_the_user_turned_it_off(
    given, features, expected, tmp_path, monkeypatch):
  info = tmp_path / 'cpuinfo'
  info.write_text(f'flags\t\t: {features}\n')
  monkeypatch.setattr(processor, '_CPU_INFO', str(info))
  monkeypatch.setenv(SETTING, given or '')  # Put back at the end.
  if given is None:
    monkeypatch.delenv(SETTING)
  processor.use_onednn()
  assert os.environ.get(SETTING) == expected


def test_an_unknown_processor_has_no_features(tmp_path, monkeypatch):
  monkeypatch.setattr(processor, '_CPU_INFO', str(tmp_path / 'none'))
  assert processor.features() == set()


@pytest.mark.skipif(tf.__version__ < '2', reason='TensorFlow 1 has no oneDNN')
@pytest.mark.skipif('avx2' not in processor.features(), reason='needs AVX2')
@pytest.mark.slow
def test_importing_the_package_turns_onednn_on(monkeypatch):
  monkeypatch.delenv(SETTING, raising=False)
  env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL='0')
  result = subprocess.run([sys.executable, '-c', 'import cifar10'], env=env,
                          check=True, stderr=subprocess.PIPE)
  assert b'oneDNN custom operations are on' in result.stderr
