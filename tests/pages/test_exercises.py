"""The checks of the exercises: solved they pass, unfilled they fail."""

import glob
import inspect
import os
import sys

import pytest

from tests import short_runs

FOLDER = os.path.join(short_runs.ROOT, 'docs', 'exercises')
NUMBERS = range(1, 1 + len(glob.glob(os.path.join(FOLDER, 'exercise_*.py'))))


def check(number, folder, request, monkeypatch):
  """Runs the check of an exercise with the file in `folder`."""
  name = 'exercise_%d' % number
  exercise = short_runs.module_at(os.path.join(folder, name + '.py'))
  monkeypatch.setitem(sys.modules, name, exercise)
  tests = vars(short_runs.module_at(os.path.join(FOLDER, f'test_{number}.py')))
  found = [tests[key] for key in tests if key.startswith('test_')]
  assert found
  for test in found:
    test(
        **{
            key: request.getfixturevalue(key)
            for key in inspect.signature(test).parameters
        })


@pytest.mark.parametrize('number', NUMBERS)
def test_the_answer_passes(number, request, monkeypatch):
  check(number, os.path.join(FOLDER, 'answers'), request, monkeypatch)


@pytest.mark.parametrize('number', NUMBERS)
def test_the_unfilled_file_fails_with_its_message(number, request, monkeypatch):
  with pytest.raises(pytest.fail.Exception) as failure:
    check(number, FOLDER, request, monkeypatch)
  # One line, of an `expect`: not just any error.
  assert not failure.value.pytrace and '\n' not in failure.value.msg
