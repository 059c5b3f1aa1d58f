"""Output that goes away, errors in one line, progress bars."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest
import tensorflow.compat.v1 as tf

from cifar10.errors import UserError
from cifar10.util import console
from tests import processes

PROGRAM = """
import sys
import cifar10
from cifar10.util import console

def work():
  for number in range(3):
    print('line', number)
  with open(sys.argv[2], 'w') as done:
    done.write('done')

console.open_streams(answers=sys.argv[1] == 'answers')
sys.exit(console.guarded(work))
"""

PRINTS_ALL = """
import sys
import cifar10
from cifar10.util import console

console.open_streams(answers=sys.argv[1] == 'answers')
text = '\\tcaf\\u00e9 \\x1b[2J\\x9b31m\\x07\\udcff'
for stream in (sys.stdout, sys.stderr):
  print(text, 'end', sep='\\n', file=stream)
"""


def run(tmp_path, kind, **streams):
  """Runs a program: status, output, error output, whether it got through."""
  program, done = processes.script(tmp_path, PROGRAM), tmp_path / 'done'
  status, out, err = processes.run([program, kind, done], **streams)
  return status, out, err, done.exists()


def broken_pipe():
  reader, writer = os.pipe()
  os.close(reader)
  return writer


def test_no_escape_sequence_reaches_the_terminal(tmp_path):
  program = processes.script(tmp_path, PRINTS_ALL)
  shown = '\tcaf\u00e9 \\x1b[2J\\x9b31m\\x07\\udcff\nend\n'
  for kind in ('run', 'answers'):
    assert processes.run([program, kind]) == (0, shown, shown)


def test_a_run_goes_on_without_a_reader_or_with_a_full_disk(tmp_path):
  with open('/dev/full', 'w') as full:
    for writer in (broken_pipe(), full):
      status, _, _, done = run(tmp_path, 'run', stdout=writer, stderr=writer)
      assert (status, done) == (0, True)


def test_answers_end_quietly_without_a_reader(tmp_path):
  status, _, err, done = run(tmp_path, 'answers', stdout=broken_pipe())
  assert (status, err, done) == (141, '', False)


def test_answers_that_cannot_be_written_are_an_error(tmp_path):
  with open('/dev/full', 'w') as full:
    status, _, err, done = run(tmp_path, 'answers', stdout=full)
  assert (status, done) == (1, False)
  assert err == (
      "program: error: [Errno 28] No space left on device: 'standard output'\n")


@pytest.mark.slow
def test_streams_may_be_closed_from_the_start(tmp_path):
  program, done = processes.script(tmp_path, PROGRAM), tmp_path / 'done'
  command = ['sh', '-c', 'exec "$0" "$@" >&- 2>&-', sys.executable, program]
  subprocess.run([*command, 'run', str(done)], check=True,
                 env=dict(os.environ, PYTHONPATH=os.getcwd()))
  assert done.exists()


@pytest.mark.parametrize('error, status, line', [
    (UserError('a\nb\x1b[2J\udcff'), 1, r'a\nb\x1b[2J\udcff'),
    (OSError(), 1, 'OSError'), (MemoryError(), 1, 'out of memory'),
    (tf.errors.ResourceExhaustedError(None, None, 'no room\nhint'), 1,
     'no room'), (KeyboardInterrupt(), 130, 'interrupted')
])  # yapf: disable
def test_an_error_is_one_line_that_a_terminal_can_show(capsys, error, status,
                                                       line):

  def work():
    raise error

  assert console.guarded(work) == status
  err = capsys.readouterr().err
  assert err.endswith(f': error: {line}\n') and err.count('\n') == 1


def test_a_reader_that_pauses_delays_only_the_first_line(monkeypatch):
  monkeypatch.setattr(console._Lossy, '_wait_secs', 0.2)
  monkeypatch.setattr(console, '_READER_SECS', 0.2)
  reader, writer = os.pipe()
  with open(reader, 'rb', buffering=0) as read:
    with console._Lossy(writer, 'wb') as stream:
      line, started = b'x' * 10000, time.monotonic()
      for _ in range(1000):  # Far more than a pipe holds.
        while line:
          line = line[stream.write(line):]
        line = b'x' * 10000
      assert time.monotonic() - started < 60  # Not 0.2 s for each.
      read.read(1 << 20)
      assert stream.write(b'later') == 5
      assert read.read(5) == b'later'


@pytest.mark.slow
def test_a_pipe_that_does_not_block_ends_nothing():
  reader, writer = os.pipe()
  os.set_blocking(writer, False)
  with open(reader, 'rb', buffering=0):
    with console._Lossy(writer, 'wb') as stream:
      for _ in range(100):
        assert stream.write(b'x' * 4096) == 4096


FILLS_A_FOLDER = """
import sys, time
import cifar10
from cifar10.util import console, files

def work():
  with files.new_folder(sys.argv[1]):
    print('filling')
    while True:  # Python may miss a signal just before a sleep until its end.
      time.sleep(0.1)

console.open_streams()
console.exit_on_signals()
sys.exit(console.guarded(work))
"""


@pytest.mark.parametrize('number, status', [(signal.SIGTERM, 143),
                                            (signal.SIGHUP, 129),
                                            (signal.SIGINT, 130)])
def test_a_signal_leaves_no_temporary_folder(tmp_path, number, status):
  program = processes.script(tmp_path, FILLS_A_FOLDER)
  process = processes.start([program, tmp_path / 'out'], stdout=processes.PIPE)
  assert process.stdout.readline() == 'filling\n'
  process.send_signal(number)
  assert process.wait(timeout=60) == status
  assert os.listdir(str(tmp_path)) == ['program.py']


def terminal(monkeypatch):
  """Has a terminal take the place of standard output; returns the stream."""
  stream = io.StringIO()
  stream.isatty = lambda: True
  monkeypatch.setattr(sys, 'stdout', stream)
  return stream


@pytest.mark.parametrize('beginning', [
    '', 'From /job:ps/replica:0/task:0:\n',
    "Graph execution error:\n\nDetected at node 'x' defined at (most recent "
    "call last):\n    File 'x'\nNode: 'x'\n=====================\n"
    'NOT_FOUND: From /job:worker/replica:0/task:0:\n',
    '=====\nNot found: From /job:ps/replica:0/task:0:\n'
])
def test_an_error_of_an_operation_is_summed_up_by_its_cause(beginning):
  message = beginning + '/a; No such file\n\t [[{{node x}}]]\nAdditional: y'
  error = tf.errors.NotFoundError(None, None, message)
  assert console.summary(error) == '/a; No such file'
  error = tf.errors.NotFoundError(None, None, '')
  assert console.summary(error) == 'NotFoundError'


def test_a_file_gets_a_line_for_every_tenth(capsys):
  bar = console.ProgressBar('Pictures', 50)
  for done in range(51):
    bar.show(done)
  bar.clear()
  bar.end()
  assert capsys.readouterr().out.splitlines() == [
      'Pictures %3d %% [%-25s] %d' % (10 * i, '#' * (10 * i // 4), 5 * i)
      for i in range(11)
  ]


def test_a_terminal_gets_one_live_line(monkeypatch):
  stream = terminal(monkeypatch)
  console.ProgressBar('Pictures', 3).end()
  assert stream.getvalue() == ''  # One that was not shown.
  bar = console.ProgressBar('Pictures', 3)
  for done in range(4):
    bar.show(done)
    bar.show(done)  # Not printed again.
  bar.end()
  assert stream.getvalue() == (
      '\rPictures   0 % [                         ] 0'
      '\rPictures  33 % [########                 ] 1'
      '\rPictures  66 % [################         ] 2'
      '\rPictures 100 % [#########################] 3\n')


def test_a_bar_fits_into_a_narrow_terminal_and_is_cleared(monkeypatch):
  stream, size = terminal(monkeypatch), os.terminal_size((30, 24))
  stream.fileno = lambda: 1
  monkeypatch.setattr(os, 'get_terminal_size', lambda number: size)
  bar = console.ProgressBar('Pictures', 100)
  bar.show(100)
  bar.clear()
  bar.end()
  line = 'Pictures 100 % [#############'
  assert stream.getvalue() == '\r' + line + '\r' + 29 * ' ' + '\r'
