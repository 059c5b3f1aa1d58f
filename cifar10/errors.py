"""Errors whose message is for the person at the terminal."""


def printable(text):
  """Any object as text in one line that is safe to print on a terminal.

  Names of files, answers of servers and damaged files may hold line breaks,
  escape sequences of the terminal, and bytes that are not text. They appear as
  Python writes them in a string: \\n, \\x1b, \\udcff.
  """
  return ''.join(c if c.isprintable() else c.encode('unicode_escape').decode()
                 for c in str(text))


def first_line(error):
  """The first line of an exception's message; the name of its type if empty."""
  return (str(error).splitlines() or [type(error).__name__])[0]


class UserError(Exception):
  """A mistake or a fault, in one line, for the person at the terminal.

  The line names the file, flag or host, what was found and what was expected.
  The programs print it without a traceback and exit with status 1.
  """

  def __str__(self):
    return printable(super().__str__())


class DivergedError(UserError):
  """The loss or a variable is no longer a finite number."""

  MARK = 'expected a finite number'  # cifar10_search recognizes it by this.

  def __init__(self, problem):
    """`problem` says what is not finite, and at which step."""
    super().__init__(
        f'{problem}; {self.MARK}. The newest checkpoint was saved before that; '
        'try a smaller learning rate or a --clip_norm')


class Stopped(Exception):  # noqa: N818  It is not an error.
  """A signal has ended the program before there was anything to save."""


class SaveError(UserError):
  """A checkpoint cannot be written."""
