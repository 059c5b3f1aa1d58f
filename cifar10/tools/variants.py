"""Runs of variants, for searches and comparisons: one program, other flags."""

from concurrent import futures
import contextlib
import os
import subprocess
import sys
import tempfile
import threading

import cifar10
from cifar10.errors import DivergedError
from cifar10.errors import UserError
from cifar10.util import processes

POLL_SECS = 0.5


def command(program, *flags):
  """The command that runs a program of the package, or a script by its path."""
  folder = os.path.dirname(os.path.abspath(cifar10.__file__))
  return [sys.executable, os.path.join(folder, program), *flags]


class Runner:
  """Runs programs from several threads, until all is done or one fails.

  Ctrl-C, or the first error in a thread, tells the programs that are running to
  end; trainers save. `lock` guards what the threads share.
  """

  def __init__(self):
    self.lock = threading.Lock()
    self.stopping = threading.Event()  # While it is set, nothing is started.

  def run_missing(self, variants, results, work, save, jobs=1):
    """Runs each variant, a dict, that has no result yet, `jobs` at a time.

    Its result is a dict of the variant and of what `work(variant)` returns. It
    is appended to `results`; then `save(result)` is called. An 'error' in it
    that is no divergence is a UserError: it may be gone the next time.
    """

    def run(variant, thread):
      del thread
      result = dict(variant, **work(variant))
      error = result.get('error', DivergedError.MARK)
      if DivergedError.MARK not in error:
        raise UserError(f'{variant["name"]}: {error}')
      if not self.stopping.is_set():  # Else it may have been cut short.
        with self.lock:
          results.append(result)
          save(result)

    missing = [v for v in variants if not results_of(v, results)]
    self.run_all(run, missing, jobs)

  def run_all(self, work, items, jobs):
    """Calls `work(item, thread)` for each item, in threads 0 to `jobs` - 1.

    One thread at a time advances the iterable `items`. Raises the first error
    of a thread.
    """
    items = iter(items)
    self.stopping.clear()
    with futures.ThreadPoolExecutor(jobs) as pool:
      threads = [
          pool.submit(self._work_off, work, items, i) for i in range(jobs)
      ]
      try:
        for thread in futures.as_completed(threads):
          thread.result()
      finally:
        self.stopping.set()

  def _work_off(self, work, items, thread):
    while not self.stopping.is_set():
      with self.lock:
        item = next(items, None)
      if item is None:
        return
      work(item, thread)

  def run(self, command, watch=lambda: False, **popen):
    """Runs a program to its end, or until it is given up or all is stopped.

    Calls `watch()` now and then, and after the end; gives up if that returns
    True. `popen` are arguments of subprocess.Popen. Returns the status, or None
    if the program was told to end.
    """
    # In a session of its own: Ctrl-C is for this process, which ends it.
    process = subprocess.Popen(processes.ending_with_parent(command),
                               stdin=subprocess.DEVNULL, start_new_session=True,
                               **popen)
    try:
      while process.poll() is None and not self.stopping.is_set():
        if watch():
          return None
        with contextlib.suppress(subprocess.TimeoutExpired):
          process.wait(POLL_SECS)
      watch()
      return process.poll()
    finally:
      process.terminate()
      process.wait()

  def answer(self, command):
    """Runs a program to its end; returns the last line of its output.

    Raises UserError if it fails; its own error is on the console.
    """
    with tempfile.TemporaryFile() as output:
      status = self.run(command, stdout=output)
      if status != 0:
        program = os.path.basename(command[1])
        raise UserError(f'{program} ended with status {status}')
      return last_line(output)

  def error(self, command):
    """Runs a program; returns None if it succeeds, else its last error line."""
    with tempfile.TemporaryFile() as errors:
      status = self.run(command, stdout=subprocess.DEVNULL, stderr=errors)
      return None if status == 0 else last_line(errors) or 'no message'


def results_of(variant, results):
  """The results, dicts, that have all items of a variant."""
  return [result for result in results if variant.items() <= result.items()]


def last_line(file):
  """The last line that a program has written into a binary file, or ''."""
  file.seek(0)
  text = file.read().decode('utf-8', 'replace').strip()
  return text.splitlines()[-1] if text else ''


def table(heads, rows, right=()):
  """A table in Markdown, a str; numbers are in the columns `right`."""
  rules = ['---:' if i in right else '---' for i in range(len(heads))]
  head, *lines = ('| %s |' % ' | '.join(row) for row in [heads, *rows])
  return '\n'.join([head, '|%s|' % '|'.join(rules), *lines])
