"""Command lines of the programs that are not trainers, read by argparse."""

import argparse
import contextlib
import math
import sys

from cifar10.util import console


def number(kind, least, most):
  """A type for argparse: an int or float, as `kind` is, within limits."""

  def parse(text):
    with contextlib.suppress(ValueError):
      if least <= kind(text) <= most:
        return kind(text)
    raise argparse.ArgumentTypeError(
        f'found {text}; expected {least} to {most}')

  return parse


class Parser(argparse.ArgumentParser):
  """A parser that prints its description as it is, and defaults after helps.

  A default that is a number gives the type of its argument.
  """

  def __init__(self, description, **optional):
    super().__init__(description=description,
                     formatter_class=argparse.RawDescriptionHelpFormatter,
                     **optional)

  def add_argument(self, *names, **about):
    default = about.get('default')
    if isinstance(default, (int, float)):
      about.setdefault('type', type(default))
    if default not in (None, '', argparse.SUPPRESS):
      about['help'] += ' (default %(default)s)'
    return super().add_argument(*names, **about)

  def run(self, work, **limits):
    """Parses the command line, calls `work(args)`, and exits.

    The status is that of `console.guarded`, or 2 for a number beyond its
    `limits`: a pair of the least and the largest value, or None for no largest.
    SIGTERM and SIGHUP end `work` as an error does.
    """
    console.open_streams()
    console.exit_on_signals()
    args = self.parse_args()
    for name, (least, most) in limits.items():
      value = getattr(args, name)
      if value is not None and not least <= value <= (most or math.inf):
        expected = f'{least} to {most}' if most else f'at least {least}'
        self.error(f'--{name}={value}: expected {expected}')
    sys.exit(console.guarded(lambda: work(args)))
