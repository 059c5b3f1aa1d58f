"""Runs of variants: threads that share the work, programs that are ended."""

import signal
import sys
import threading

import pytest

from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.tools import variants


def python(code):
  """The command that runs some lines of Python, without site packages."""
  return [sys.executable, '-S', '-E', '-c', code]


def test_each_item_is_worked_off_once_and_as_many_at_a_time_as_there_are_jobs():
  runner, done, meeting = variants.Runner(), [], threading.Barrier(3)

  def items():
    for i in range(30):  # Raises ValueError if two threads advance it.
      threading.Event().wait(0.001)
      yield i

  def work(item, thread):
    meeting.wait(20)  # Fails unless three are here.
    done.append((item, thread))

  runner.run_all(work, items(), 3)
  assert sorted(item for item, _ in done) == list(range(30))
  assert {thread for _, thread in done} == set(range(3))
  assert runner.stopping.is_set() and not runner.lock.locked()


def test_the_first_error_of_a_thread_is_raised_and_nothing_more_is_started():
  runner, begun, told = variants.Runner(), [], []

  def work(item, thread):
    begun.append(item)
    if item == 2:
      raise UserError('broken')
    if item == 3:  # Begun meanwhile in the other thread.
      told.append(runner.stopping.wait(5))
      raise OSError('later')

  with pytest.raises(UserError, match='^broken$'):
    runner.run_all(work, iter([0, 1, 2, 3, 4, 5]), 1)
  assert begun == [0, 1, 2]
  del begun[:]
  with pytest.raises(UserError, match='^broken$'):
    runner.run_all(work, iter([3, 2, 4, 5]), 2)
  assert (sorted(begun), told) == ([2, 3], [True])


def test_a_program_that_ends_tells_its_status_and_is_looked_at_once_more(
    tmp_path, monkeypatch):
  monkeypatch.setattr(variants, 'POLL_SECS', 60)
  path, looks = tmp_path / 'last', []
  code = 'open(%r, "w").close(); raise SystemExit(7)' % str(path)
  status = variants.Runner().run(python(code),
                                 watch=lambda: looks.append(path.exists()))
  assert status == 7 and looks[-1]
  code = 'import os; os.kill(os.getpid(), %d)' % signal.SIGKILL
  assert variants.Runner().run(python(code)) == -signal.SIGKILL


def test_only_variants_without_a_result_are_run_and_each_is_saved():
  results = [{'a': 1, 'b': 'x', 'precision': 0.5}]
  wanted = [{'a': a, 'b': b} for a in (1, 2) for b in 'xy']
  saved, asked = [], []

  def work(variant):
    asked.append(dict(variant))
    return {'precision': variant['a'] / 10}

  runner = variants.Runner()
  for _ in range(2):
    runner.run_missing(wanted, results, work, saved.append)
    assert asked == wanted[1:]
    assert saved == results[1:] == [
        dict(variant, precision=variant['a'] / 10) for variant in asked
    ]


def test_only_a_run_that_is_whole_or_diverges_has_a_result():
  runner, results = variants.Runner(), []
  diverged = {'error': str(DivergedError('loss is nan'))}
  runner.run_missing([{'seed': 1}], results, lambda _: diverged, id)
  assert results == [{'seed': 1, **diverged}]
  with pytest.raises(UserError, match='^b: no such flag$'):
    runner.run_missing([{
        'name': 'b'
    }], results, lambda _: {'error': 'no such flag'}, id)

  def work(variant):
    runner.stopping.set()  # Another thread has failed meanwhile.
    return {'precision': 0.1}

  runner.run_missing([{'seed': 2}, {'seed': 3}], results, work, id)
  assert len(results) == 1


def test_a_program_answers_with_its_last_line_or_its_last_error_line():
  runner = variants.Runner()
  assert runner.answer(python('print("much"); print("42")')) == '42'
  with pytest.raises(UserError, match='^-S ended with status 3$'):
    runner.answer(python('print("42"); raise SystemExit(3)'))
  failing = 'import sys; sys.stderr.write(%r); sys.exit(1)'
  assert runner.error(python('import sys; sys.stderr.write("warning")')) is None
  assert runner.error(python(failing % 'trace\nbad flag\n')) == 'bad flag'
  assert runner.error(python(failing % '')) == 'no message'
