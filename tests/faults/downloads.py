"""Data that is fetched from a server that misbehaves."""

import glob
import hashlib
import io
import os
import pathlib
import tarfile
import time

from tests import synthetic_records
from tests.faults import damage
from tests.faults import invariants
from tests.faults.invariants import expect
from tests.faults.servers import BEHAVIORS
from tests.faults.servers import Server

_FETCH_SECS = 60  # With all attempts of the program.
_FOLDER = 'cifar-10-batches-bin'
_ARCHIVE = 'cifar-10-binary.tar.gz'


class _Download:
  """An archive to fetch, and the data folder that it is to be unpacked in."""

  def __init__(self, sandbox, random):
    self._sandbox = sandbox
    folder = pathlib.Path(sandbox.path('source'))
    self._source = synthetic_records.make_folder(
        folder, per_file=random.choice((3, 40)))
    path = folder / 'archive.tar.gz'
    self.sha256 = synthetic_records.make_archive(path, self._source)
    self.content = path.read_bytes()
    self.data_dir = sandbox.path('data')
    mine = pathlib.Path(self.data_dir, 'mine.part')
    mine.parent.mkdir()
    mine.write_text('mine')
    self._mine = invariants.Unchanged(mine)

  def start(self, server):
    """Starts to fetch."""
    return self._sandbox.start('fetch_data', '--data_dir=' + self.data_dir,
                               '--data_url=' + server.url,
                               '--data_sha256=' + self.sha256)

  def ends(self, server):
    """Checks that fetching ends with one line, or with all data: then True."""
    status = invariants.ended_either_way(self.start(server), _FETCH_SECS)
    invariants.no_process(self._sandbox)
    self._mine.check()
    if status == 0:
      self._check_complete()
    return status == 0

  def _check_complete(self):
    """Checks that the data is there, and nothing else."""
    found = pathlib.Path(self.data_dir, _FOLDER)
    for path in self._source.iterdir():
      expect((found / path.name).read_bytes() == path.read_bytes(),
             '%s is not what was sent', path.name)
    invariants.no_leftovers(self.data_dir)
    left = glob.glob(os.path.join(self.data_dir, '*.tar.gz*.part'))
    expect(not left, '%s is left', left)

  def check_again(self):
    """Checks that fetching from a good server works; returns what it asked."""
    with Server(self.content) as server:
      expect(self.ends(server), 'a good server is of no use')
      return server.asked


def one_answer(sandbox, random):
  """A server that misbehaves once or twice, or always."""
  download = _Download(sandbox, random)
  behaviors = random.choices(BEHAVIORS, k=random.choice((1, 1, 2)))
  after = behaviors[-1] if random.random() < 0.15 else 'good'
  at = random.randrange(len(download.content))
  sandbox.note('%s, then %s; at byte %d', behaviors, after, at)
  with Server(download.content, behaviors, at, after) as server:
    if not download.ends(server):
      download.check_again()


def damaged_archive(sandbox, random):
  """An archive that is damaged, although its checksum is right."""
  download = _Download(sandbox, random)
  change = random.choice((damage.flip, damage.cut, damage.nul, _members))
  content = change(download.content, random)
  download.sha256 = hashlib.sha256(content).hexdigest()
  sandbox.note('archive: %s', change.__name__)
  with Server(content) as server:
    status = invariants.ended_either_way(download.start(server), _FETCH_SECS)
  unpacked = os.path.join(download.data_dir, _FOLDER)
  expect(os.path.isdir(unpacked) == (status == 0), '%s is there', unpacked)
  expect(not os.path.exists(sandbox.path('outside')), 'it wrote outside')
  invariants.no_leftovers(download.data_dir)


def _members(content, random):
  """An archive with members that lead out of its folder."""
  stream = io.BytesIO()
  names = ['../outside', '/tmp/../outside', _FOLDER + '/../../outside']
  names += ['%s/data_batch_%d.bin' % (_FOLDER, n) for n in range(1, 6)]
  with tarfile.open(fileobj=stream, mode='w:gz') as archive:
    for name in random.sample(names, len(names)):
      member = tarfile.TarInfo(name)
      member.type = random.choice(
          (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE))
      member.linkname = random.choice(('../../outside', '/etc/hostname'))
      archive.addfile(member)
  return stream.getvalue()


def killed(sandbox, random):
  """The fetching process is killed; the next one continues."""
  download = _Download(sandbox, random)
  at = random.randrange(len(download.content))
  with Server(download.content, ['slow'] * 9, at) as server:
    for _ in range(random.choice((1, 1, 2, 3))):
      run, delay = download.start(server), random.uniform(0.2, 1.5)
      sandbox.note('slow from byte %d; SIGKILL after %.2f s', at, delay)
      time.sleep(delay)
      run.kill()
  invariants.no_process(sandbox)
  parts = glob.glob(os.path.join(download.data_dir, '*.tar.gz*.part'))
  have = sum(os.path.getsize(part) for part in parts)
  asked = download.check_again()
  expect(not have or asked == ['bytes=%d-' % have], '%s was asked for; had %d',
         asked, have)


def links(sandbox, random):
  """Links in the data folder do no harm to what they lead to."""
  download = _Download(sandbox, random)
  victims = pathlib.Path(sandbox.path('victims'))
  victims.mkdir()
  (victims / 'file').write_text('precious')
  before = invariants.Unchanged(victims)
  name = random.choice(
      ('.fetch.lock', '%s.%s.part' % (_ARCHIVE, download.sha256[:8]), _ARCHIVE,
       _FOLDER + '.unpacking'))
  target = random.choice(('', 'file', 'made', 'hard link'))
  sandbox.note('%s leads to %r', name, target)
  path = os.path.join(download.data_dir, name)
  if target == 'hard link':
    os.link(str(victims / 'file'), path)
  else:
    os.symlink(str(victims / target), path)
  behaviors = random.choice(([], ['cut'], ['no ranges']))
  with Server(download.content, behaviors) as server:
    invariants.ended_either_way(download.start(server), _FETCH_SECS)
  before.check()
  invariants.no_process(sandbox)


KINDS = {one_answer: 8, damaged_archive: 2, killed: 2, links: 3}
