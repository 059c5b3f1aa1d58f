"""The one kind of exception that a person is meant to read."""


class UserError(Exception):
  """What went wrong, in one line, for the person at the terminal.

  The line names the file, flag or host, what was found and what was expected.
  The programs print it without a traceback and exit with status 1.
  """


class DivergedError(UserError):
  """The loss or a variable is no longer a finite number."""
