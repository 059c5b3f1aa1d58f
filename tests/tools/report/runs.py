"""Runs to report on, made without training."""

from cifar10.tools.report import page


def make_run(**changes):
  """A page.Content that has nothing but `changes`."""
  nothing = page.Content(name='run', settings=None, files=[], starts=(),
                         durations=[], throughput=[], precisions={},
                         predictions=None, filters=None, left_out=[])
  return nothing._replace(**changes)
