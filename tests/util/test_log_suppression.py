"""Log suppression: discarded lines, and lines that explain an error."""

import logging
import os

import pytest

from cifar10.util import log_suppression
from cifar10.util import processor


@pytest.fixture(autouse=True)
def level(monkeypatch):
  """Suppresses, even if the tests run with another log level."""
  monkeypatch.setattr(log_suppression, '_LEVEL', '2')


def test_lines_of_native_code_are_discarded_unless_an_error_follows(capfd):
  before = sorted(os.listdir('/proc/self/fd'))
  with log_suppression.stderr_held_back():
    os.write(2, b'chatter\n')
    os.write(1, b'output\n')
  os.write(2, b'later\n')
  assert capfd.readouterr() == ('output\n', 'later\n')
  with pytest.raises(KeyboardInterrupt):
    with log_suppression.stderr_held_back():
      os.write(2, b'reason\n')
      raise KeyboardInterrupt
  assert capfd.readouterr() == ('', 'reason\n')
  assert sorted(os.listdir('/proc/self/fd')) == before


def test_all_lines_are_shown_on_a_processor_that_tensorflow_refuses(
    capfd, monkeypatch, tmp_path):
  (tmp_path / 'cpuinfo').write_text('flags : fpu sse2 sse4_1')
  monkeypatch.setattr(processor, '_CPU_INFO', str(tmp_path / 'cpuinfo'))
  with log_suppression.stderr_held_back():
    os.write(2, b'no AVX\n')
  assert capfd.readouterr().err == 'no AVX\n'


@pytest.mark.parametrize('chosen, shown', [('0', 4), ('1', 3), ('2', 2),
                                           ('3', 1), ('chatty', 4)])
def test_python_lines_have_the_levels_of_native_ones(monkeypatch, chosen,
                                                     shown):
  monkeypatch.setattr(log_suppression, '_LEVEL', chosen)
  logger, lines = logging.Logger('of a test'), []
  logger.addFilter(log_suppression.is_shown)
  handler = logging.Handler()
  handler.emit = lines.append
  logger.addHandler(handler)
  for log in (logger.info, logger.warning, logger.error, logger.critical):
    log('a line')
  assert len(lines) == shown
