"""Shared by the checks of all exercises."""

import pytest


def expect(condition, message):
  """Fails with one line, which says what is expected, and no traceback."""
  if not condition:
    pytest.fail(message, pytrace=False)
