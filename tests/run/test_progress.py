"""The live line, on pseudo-terminals; and none where there is no terminal."""

import fcntl
import logging
import os
import pty
import re
import struct
import sys
import termios

import pytest

from cifar10.run import progress
from tests import processes
from tests import short_runs

LIVE = re.compile(r'step (\d+) of (\d+), epoch \d+\.\d, loss = (\d+\.\d\d), '
                  r'(\d+\.\d) examples/sec, (?:\d+ days?, )?\d+:\d\d:\d\d left')


class Terminal:
  """A pseudo-terminal, and what a person sees there."""

  def __init__(self, columns):
    self.columns = columns or 80
    self._master, self.slave = pty.openpty()
    size = struct.pack('HHHH', 24, columns, 0, 0)
    fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
    self.written = ''

  def read(self):
    """Reads on; returns whether there was something to read."""
    try:
      content = os.read(self._master, 65536)
    except OSError:  # All writers have closed it.
      content = b''
    self.written += content.decode('utf-8')
    return bool(content)

  def read_to_end(self):
    os.close(self.slave)
    while self.read():
      pass

  def type(self, keys):
    os.write(self._master, keys)

  def lines(self):
    """The lines as they stand at the end; the last one has the cursor."""
    lines, column = [''], 0
    for character in self.written:
      if character == '\r':
        column = 0
      elif character == '\n':
        lines.append('')
      else:
        if column == self.columns:  # The line wraps.
          lines.append('')
          column = 0
        line = lines[-1].ljust(column)
        lines[-1] = line[:column] + character + line[column + 1:]
        column += 1
    return [line.rstrip() for line in lines]


def start(terminal, *flags, program='cifar10_train'):
  """Starts a trainer in `terminal`."""
  command = [short_runs.script(program), '--progress']
  return processes.start(
      command + ['--dataset=sample', '--batch_size=16', *flags],
      stdin=terminal.slave,
      stdout=terminal.slave,
      stderr=terminal.slave,
      controls_terminal=True  # Ctrl-C typed there is a signal to the trainer.
  )


@pytest.mark.slow
def test_a_run_shows_one_line_that_is_written_over(tmp_path):
  terminal = Terminal(200)  # Wide enough for the paths.
  process = start(terminal, '--max_steps=25', '--train_dir=%s' % tmp_path)
  terminal.read_to_end()
  assert process.wait() == 0
  lines = terminal.lines()
  assert lines[0].startswith('Filling queue with 400 CIFAR images')
  assert LIVE.fullmatch(lines[4]).group(1, 2) == ('25', '25')
  assert lines[4].endswith(', 0:00:00 left')
  assert lines[5] == 'Step 25 is saved in %s/model.ckpt-25.' % tmp_path
  assert lines[6].startswith('To evaluate: ')
  assert lines[-1] == ''
  # When there would have been the tutorial's lines, and twice at the end: as
  # it is shown and as it is left.
  steps = [int(m.group(1)) for m in LIVE.finditer(terminal.written)]
  assert steps == [1, 11, 21, 25, 25]


@pytest.mark.slow
def test_ctrl_c_ends_the_line_and_what_does_not_fit_is_cut(tmp_path):
  terminal = Terminal(40)
  process = start(terminal, '--train_dir=%s' % tmp_path, '--log_frequency=3')
  while 'step 4' not in terminal.written:
    assert terminal.read()
  terminal.type(b'\x03')
  terminal.read_to_end()
  assert process.wait() == 0
  lines = terminal.lines()
  at = lines.index('Stopped by SIGINT.')
  match = re.match(r'step (\d+) of 1000000, epoch 0', lines[at - 1])
  assert match, terminal.written
  assert len(lines[at - 1]) <= 39
  # Of all that was shown before, nothing is left.
  assert [line for line in lines if line.startswith('step')] == [lines[at - 1]]
  assert 'Step %s is saved' % match.group(1) in lines[at + 1]


def taken_output(monkeypatch, columns=60):
  """A terminal that this process writes to.

  No fixture: pytest takes the output back between fixtures and tests.
  """
  terminal = Terminal(columns)
  for name in ('stdout', 'stderr'):
    file = open(os.dup(terminal.slave), 'w', buffering=1)
    monkeypatch.setattr(sys, name, file)
  return terminal


def seen(terminal):
  """Ends the output to a terminal of this process; the lines to be seen."""
  sys.stdout.close()
  sys.stderr.close()
  terminal.read_to_end()
  return terminal.lines()


def test_other_output_has_lines_of_its_own(monkeypatch):
  terminal = taken_output(monkeypatch)
  logger = logging.Logger('test')
  logger.addHandler(logging.StreamHandler())
  with progress.LiveLine() as line:
    line.show('step 1 of 9, a longer line')
    line.show('step 2 of 9')
    print('printed')
    print('again')
    line.show('step 3 of 9')
    logger.warning('to stderr')
    line.show('step 4 of 9')
    line.show('step 5 of 9')
  print('end')
  assert seen(terminal) == [
      'step 2 of 9', 'printed', 'again', 'step 3 of 9', 'to stderr',
      'step 5 of 9', 'end', ''
  ]


@pytest.mark.parametrize('columns, width', [(60, 59), (8, 7), (0, 79)])
def test_the_line_fits_however_long_it_is(monkeypatch, columns, width):
  terminal = taken_output(monkeypatch, columns)
  with progress.LiveLine() as line:
    line.show(90 * 'x')
    line.show('z')
    line.show(width * 'y' + 'z')
  assert seen(terminal) == [width * 'y', '']
