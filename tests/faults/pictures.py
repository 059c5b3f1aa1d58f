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

_NUM_PICTURES = 8
_FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'TIFF', 'WEBP', 'ICO')
_MODES = ('RGB', 'RGB', 'L', 'P', '1', 'RGBA', 'CMYK', 'I;16')
_ODD = ('', '', ' ', '\n', '\r', '\x1b[2J', '\x1b]0;title\x07', '\x9b31m',
        '\u202e', '\udcff\udcfe', '\u00e4\u4e2d\U0001f600', "'; rm -rf ~ '",
        '%s%d{}', '-' * 200, '\u2028', '\x7f')
_CONTROL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]')


def _encoded(random):
  """The bytes of a picture, in any of several formats."""
  image = trained.picture(random, random.choice((1, 8, 33, 200)))
  stream = io.BytesIO()
  try:
    image.convert(random.choice(_MODES)).save(stream, random.choice(_FORMATS))
  except (OSError, KeyError, ValueError):  # Not in this mode.
    image.save(stream, 'PNG')
  content = bytearray(stream.getvalue())
  if content.startswith(b'\x89PNG') and random.random() < 0.3:
    # Its header claims another size, with a right checksum.
    sizes = random.choices((0, 1, 9, 5000, 70000, 2**31 - 1), k=2)
    content[16:24] = struct.pack('>II', *sizes)
    content[29:33] = struct.pack('>I', zlib.crc32(bytes(content[12:29])))
  return bytes(content)


def _write(folder, random):
  """Writes pictures with odd names; returns their paths."""
  paths = []
  for number in range(_NUM_PICTURES):
    name = 'p%d-%s%s' % (number, random.choice(_ODD),
                         random.choice(('.png', '.jpg', '.gif', '.PNG')))
    paths.append(os.path.join(folder, name))
    if random.random() < 0.05:
      os.symlink(random.choice(('nowhere', name, 'no/where')), paths[-1])
      continue
    content = _encoded(random)
    if random.random() < 0.5:
      content = random.choice(damage.OF_ANY)(content, random)
    with open(paths[-1], 'wb') as file:
      file.write(content)
  return paths


def predicted(sandbox, random):
  """Each picture has an answer or one line, whatever the others are."""
  trained.copy(sandbox, 'train')
  folder = sandbox.path('odd')
  os.mkdir(folder)
  paths = _write(folder, random)
  flags = random.choice(([], ['--json'], ['--grid=' + sandbox.path('a.png')]))
  with invariants.unchanged(sandbox, folder, sandbox.path('train')):
    run = sandbox.start('cifar10_predict',
                        '--checkpoint_dir=' + sandbox.path('train'), *flags,
                        *paths)
    run.wait(invariants.START_SECS)
  bad, last = _check_lines(run)
  expect(run.status == bool(bad), '%s: status %s', run.name, run.status)
  expect(['could not be read' in line for line in last] == [True] * bool(bad),
         '%s: lines %r', run.name, last)
  answers = [line for line in run.out.splitlines() if re.search(r'/p\d-', line)]
  expect(
      len(answers) == _NUM_PICTURES - bad, '%s: answers %r', run.name, answers)


def _check_lines(run):
  """Checks the error lines: at most one about each picture, all printable.

  Returns how many pictures they are about, and the other lines.
  """
  invariants.no_traceback(run)
  expect(not _CONTROL.search(run.out + run.err), '%s: prints as it is: %r',
         run.name, run.out + run.err)
  lines = run.err.split('\n')[:-1]
  about = [re.search(r'/p(\d)-', line) for line in lines]
  numbers = [found.group(1) for found in about if found]
  expect(len(set(numbers)) == len(numbers), '%s: lines %r', run.name, lines)
  return len(numbers), [x for x, found in zip(lines, about) if not found]


KINDS = {predicted: 1}
