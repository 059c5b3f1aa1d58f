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
from tests.faults.sandbox import Kind
from tests.faults.servers import BEHAVIORS
from tests.faults.servers import Server

_FETCH_SECS = 60  # With all attempts of the program.
_FOLDER = 'cifar-10-batches-bin'


class Download:
  """An archive to fetch, and the data folder that it is to be unpacked in."""

  def __init__(self, sandbox, random):
    self.sandbox = sandbox
    source = synthetic_records.make_folder(pathlib.Path(sandbox.path('source')),
                                           per_file=random.choice((3, 40)))
    path = pathlib.Path(sandbox.path('archive.tar.gz'))
    self.sha256 = synthetic_records.make_archive(path, source)
    self.content = path.read_bytes()
    self.source = source
    self.data_dir = sandbox.path('data')
    os.mkdir(self.data_dir)
    mine = os.path.join(self.data_dir, 'mine.part')
    with open(mine, 'wb') as file:
      file.write(b'mine')
    self.mine = invariants.Unchanged(mine)

  def start(self, server):
    """Starts to fetch."""
    return self.sandbox.start('fetch_data', '--data_dir=' + self.data_dir,
                              '--data_url=' + server.url,
                              '--data_sha256=' + self.sha256)

  def check(self, run, server):
    """Checks that fetching ends with the data or with one line."""
    status = run.wait(_FETCH_SECS)
    if status:
      invariants.ended_with_error(run, 0)
    else:
      self.check_complete(run)
    invariants.no_process(self.sandbox)
    self.mine.check()
    return status

  def check_complete(self, run):
    """Checks that the data is there, and nothing else."""
    invariants.ended_clean(run, _FETCH_SECS)
    for path in self.source.iterdir():
      found = pathlib.Path(self.data_dir, _FOLDER, path.name)
      expect(found.is_file() and _sha256(found) == _sha256(path),
             '%s is not what was sent', found)
    invariants.no_leftovers(self.data_dir)
    left = glob.glob(os.path.join(self.data_dir, '*.tar.gz*.part'))
    expect(not left, '%s is left', left)
    self.mine.check()

  def check_again(self):
    """Checks that fetching from a good server succeeds now."""
    with Server(self.content) as server:
      run = self.start(server)
      self.check_complete(run)
      return server.asked


def _sha256(path):
  return hashlib.sha256(path.read_bytes()).hexdigest()


def one_answer(sandbox, random):
  """A server that misbehaves once or twice, or always."""
  download = Download(sandbox, random)
  count = random.choice((1, 1, 2))
  behaviors = [random.choice(BEHAVIORS) for _ in range(count)]
  after = behaviors[-1] if random.random() < 0.15 else 'good'
  at = random.randrange(len(download.content))
  sandbox.note('%s, then %s; at byte %d', behaviors, after, at)
  with Server(download.content, behaviors, at, after) as server:
    if download.check(download.start(server), server) == 0:
      return
  download.check_again()


def damaged_archive(sandbox, random):
  """An archive that is damaged, although its checksum is right."""
  download = Download(sandbox, random)
  change = random.choice((damage.flip, damage.cut, damage.nul, _members))
  content = change(download.content, random)
  download.sha256 = hashlib.sha256(content).hexdigest()
  sandbox.note('archive: %s', change.__name__)
  with Server(content) as server:
    run = download.start(server)
    status = invariants.ended_either_way(run, _FETCH_SECS)
  unpacked = os.path.join(download.data_dir, _FOLDER)
  expect(os.path.isdir(unpacked) == (status == 0), '%s is there', unpacked)
  expect(not os.path.exists(sandbox.path('outside')), 'it wrote outside')
  invariants.no_leftovers(download.data_dir)
  download.mine.check()


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
  download = Download(sandbox, random)
  at = random.randrange(len(download.content))
  with Server(download.content, ['slow'] * 9, at) as server:
    for _ in range(random.choice((1, 1, 2, 3))):
      run = download.start(server)
      delay = random.uniform(0.2, 1.5)
      sandbox.note('slow from byte %d; SIGKILL after %.2f s', at, delay)
      time.sleep(delay)
      run.process.kill()
      run.wait(5, 'SIGKILL')
  invariants.no_process(sandbox)
  parts = glob.glob(os.path.join(download.data_dir, '*.tar.gz*.part'))
  have = sum(os.path.getsize(part) for part in parts)
  asked = download.check_again()
  if have:
    expect(asked == ['bytes=%d-' % have], '%s was asked for; had %d', asked,
           have)


def links(sandbox, random):
  """Links in the data folder do no harm to what they lead to."""
  download = Download(sandbox, random)
  victim = sandbox.path('victim')
  with open(victim, 'wb') as file:
    file.write(b'precious' * 100)
  folder = sandbox.path('victims')
  os.mkdir(folder)
  with open(os.path.join(folder, 'file'), 'wb') as file:
    file.write(b'precious')
  before = invariants.Unchanged(victim, folder)
  archive = 'cifar-10-binary.tar.gz'
  name = random.choice(
      ('.fetch.lock', '%s.%s.part' % (archive, download.sha256[:8]), archive,
       _FOLDER + '.unpacking'))
  kind = random.choice(('link', 'hard link', 'to nothing'))
  if name.endswith('.unpacking'):
    victim, kind = folder, 'link'
  sandbox.note('%s is a %s', name, kind)
  path = os.path.join(download.data_dir, name)
  if kind == 'link':
    os.symlink(victim, path)
  elif kind == 'hard link':
    os.link(victim, path)
  else:
    os.symlink(sandbox.path('made'), path)
  behaviors = random.choice(([], ['cut'], ['no ranges']))
  with Server(download.content, behaviors) as server:
    run = download.start(server)
    invariants.ended_either_way(run, _FETCH_SECS)
  before.check()
  expect(not os.path.exists(sandbox.path('made')),
         'a link was followed to nothing')
  download.mine.check()
  invariants.no_process(sandbox)
  if os.path.lexists(path):  # A lock with another name is made anew.
    os.remove(path) if os.path.islink(path) or kind == 'hard link' else None
  before.check()


KINDS = (Kind('download', one_answer, 8), Kind('download', damaged_archive, 2),
         Kind('download', killed, 2), Kind('download', links, 3))
