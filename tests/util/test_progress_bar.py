"""The progress bar: what it prints on a terminal, and elsewhere."""

import io
import sys

from cifar10.util import progress_bar


class Terminal(io.StringIO):
  def isatty(self):
    return True


def test_a_file_gets_a_line_for_every_tenth(capsys):
  bar = progress_bar.Bar('Pictures', 50)
  for done in range(51):
    bar.show(done)
  bar.clear()
  bar.end()
  assert capsys.readouterr().out.splitlines() == [
    'Pictures %3d %% [%-25s] %d' % (10 * i, '#' * (10 * i // 4), 5 * i)
    for i in range(11)
  ]


def test_amounts_are_in_units(capsys):
  bar = progress_bar.Bar('Fetching x', 3 * 10**6, 10**6, '%.1f MB')
  bar.show(1500000)
  assert capsys.readouterr().out == (
    'Fetching x  50 % [############             ] 1.5 MB\n'
  )


def test_without_a_total_a_line_for_every_16_units(capsys):
  bar = progress_bar.Bar('Fetching x', None, 10**6, '%.1f MB')
  for done in range(0, 40 * 10**6, 10**6):
    bar.show(done)
  assert capsys.readouterr().out.splitlines() == [
    'Fetching x  0.0 MB',
    'Fetching x  16.0 MB',
    'Fetching x  32.0 MB',
  ]


def test_a_terminal_gets_one_live_line(monkeypatch):
  terminal = Terminal()
  monkeypatch.setattr(sys, 'stdout', terminal)
  bar = progress_bar.Bar('Pictures', 3)
  for done in range(4):
    bar.show(done)
    bar.show(done)  # Not printed again.
  bar.end()
  assert terminal.getvalue() == (
    '\rPictures   0 % [                         ] 0'
    '\rPictures  33 % [########                 ] 1'
    '\rPictures  66 % [################         ] 2'
    '\rPictures 100 % [#########################] 3\n'
  )


def test_a_terminal_without_a_total(monkeypatch):
  terminal = Terminal()
  monkeypatch.setattr(sys, 'stdout', terminal)
  bar = progress_bar.Bar('Fetching x', None, 10, '%d')
  for done in (0, 5, 10):
    bar.show(done)
  assert terminal.getvalue() == '\rFetching x  0\rFetching x  1'


def test_a_bar_that_is_not_shown_ends_without_a_line(monkeypatch):
  terminal = Terminal()
  monkeypatch.setattr(sys, 'stdout', terminal)
  bar = progress_bar.Bar('Pictures', 100)
  bar.end()
  assert terminal.getvalue() == ''
  bar.show(8)
  bar.clear()
  bar.end()
  assert terminal.getvalue().endswith('\r\033[K')


def test_a_cleared_bar_is_shown_again(monkeypatch):
  terminal = Terminal()
  monkeypatch.setattr(sys, 'stdout', terminal)
  bar = progress_bar.Bar('Pictures', 100)
  bar.show(8)
  bar.clear()
  bar.show(8)
  line = '\rPictures   8 % [##                       ] 8'
  assert terminal.getvalue() == line + '\r\033[K' + line
