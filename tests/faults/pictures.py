"""Pictures that are damaged, and names that are no good on a terminal."""

import io
import os
import re
import struct
import zlib

from tests.faults import damage
from tests.faults import invariants
from tests.faults import trained
from tests.faults.invariants import expect
from tests.faults.sandbox import Kind

_FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'PNG', 'JPEG', 'TIFF', 'WEBP', 'ICO')
_EXTENSIONS = ('.png', '.jpg', '.jpeg', '.gif', '.bmp', '.PNG')
_ODD = ('', '', ' ', '\n', '\r', '\t', '\x1b[2J', '\x1b]0;title\x07', '\x9b31m',
        '\u202e', '\udcff\udcfe', '\u00e4\u4e2d\U0001f600', "'; rm -rf ~ '",
        '%s%d{}', '-' * 200, '\u2028', '\x7f')
_CONTROL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]')


def _encoded(random):
  """The bytes of a picture, in any of several formats."""
  image = trained.picture(random, random.choice((1, 8, 33, 200)))
  mode = random.choice(('RGB', 'RGB', 'L', 'P', '1', 'RGBA', 'CMYK', 'I;16'))
  stream = io.BytesIO()
  try:
    image.convert(mode).save(stream, random.choice(_FORMATS))
  except (OSError, KeyError, ValueError):  # Not in this mode.
    stream = io.BytesIO()
    image.save(stream, 'PNG')
  return stream.getvalue()


def _of_other_size(random):
  """A PNG whose header claims another size, with a right checksum."""
  stream = io.BytesIO()
  trained.picture(random, 8).save(stream, 'PNG')
  content = bytearray(stream.getvalue())
  sizes = [random.choice((0, 1, 9, 5000, 70000, 2**31 - 1)) for _ in 'ab']
  content[16:24] = struct.pack('>II', *sizes)
  content[29:33] = struct.pack('>I', zlib.crc32(bytes(content[12:29])))
  return bytes(content)


def _write(folder, number, random):
  """Writes a picture with an odd name; returns its path."""
  name = 'p%d-%s%s' % (number, random.choice(_ODD), random.choice(_EXTENSIONS))
  path = os.path.join(folder, name)
  kind = random.random()
  if kind < 0.05:
    os.symlink(random.choice(('nowhere', name, 'no/where')), path)
    return path
  content = _of_other_size(random) if kind < 0.15 else _encoded(random)
  if kind > 0.5:
    content = random.choice(damage.OF_ANY)(content, random)
  with open(path, 'wb') as file:
    file.write(content)
  return path


def predicted(sandbox, sources):
  """Each picture has an answer or one line, whatever the others are."""
  trained.copy(sandbox, 'train')
  folder = sandbox.path('odd')
  os.mkdir(folder)
  paths = [_write(folder, n, source) for n, source in enumerate(sources)]
  before = invariants.Unchanged(folder, sandbox.path('train'))
  flags = ['--checkpoint_dir=' + sandbox.path('train')]
  if sources[0].random() < 0.3:
    flags.append('--json')
  if sources[0].random() < 0.2:
    flags.append('--grid=' + sandbox.path('sheet.png'))
  run = sandbox.start('cifar10_predict', *flags, *paths)
  problems = _check_lines(run, len(paths), summary=1)
  before.check()
  return problems


def made_into_records(sandbox, sources):
  """Broken pictures are named and skipped, and the others make a data set."""
  trained.copy(sandbox, 'pictures')
  folder = sandbox.path('pictures/cat')
  for number, source in enumerate(sources):
    _write(folder, number, source)
  before = invariants.Unchanged(sandbox.path('pictures'))
  run = sandbox.start('make_dataset', sandbox.path('pictures'),
                      '--out=' + sandbox.path('out'))
  expect(run.wait(invariants.START_SECS) == 0, '%s: %s', run.name, run.status)
  problems = _check_lines(run, len(sources), summary=0, answers=False)
  before.check()
  invariants.no_leftovers(sandbox.path('out'))
  return problems


def _check_lines(run, count, summary, answers=True):
  """Checks the lines about each picture.

  Args:
    run: sandbox.Run.
    count: how many pictures there are.
    summary: how many lines of error output follow if some are bad.
    answers: whether each good one has a line of output.

  Returns:
    List of a message for each picture, None where all is well.
  """
  run.wait(invariants.START_SECS)
  invariants.no_traceback(run)
  outputs = {'out': run.out.split('\n')[:-1], 'err': run.err.split('\n')[:-1]}
  lines = {  # About each picture.
      stream: [[line
                for line in outputs[stream]
                if '/p%d-' % number in line]
               for number in range(count)] for stream in outputs
  }
  _check_rest(run, outputs, lines, summary)
  return [
      _problem(lines['out'][number] if answers else [], lines['err'][number])
      if answers or lines['err'][number] else None for number in range(count)
  ]


def _check_rest(run, outputs, lines, summary):
  """Checks the status, and the lines that are about no picture."""
  num_bad = sum(map(bool, lines['err']))
  expected = 1 if summary and num_bad else 0
  expect(run.status == expected, '%s: status %s', run.name, run.status)
  for stream in outputs:
    about = set(sum(lines[stream], []))
    rest = [line for line in outputs[stream] if line not in about]
    for line in rest:
      expect(not _CONTROL.search(line), '%s: %r', run.name, line)
    if stream == 'out' and summary:
      expect(not rest, '%s: answers %r', run.name, rest)
    if stream == 'err':
      expect(
          len(rest) == expected and
          all('could not be read' in line for line in rest), '%s: lines %r',
          run.name, rest)


def _problem(answers, errors):
  """What is wrong with the lines about a picture; None if nothing is."""
  if len(answers) + len(errors) != 1:
    return 'expected one line; found %r' % (answers + errors)
  (line,) = answers + errors
  return 'printed as it is: %r' % line if _CONTROL.search(line) else None


KINDS = (Kind('picture', predicted, 10,
              batch=8), Kind('picture', made_into_records, 4, batch=8))
