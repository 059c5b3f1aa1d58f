"""Folders of other users in /tmp.

Each program is a process with a /tmp of its own. The tests need root, who may
make folders for others; user namespaces make another user of it.
"""

import ctypes
import os
import shutil
import sys

import pytest

from tests import processes
from tests import short_runs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
]

OTHER = 12345  # The user who has made the folders.
PICTURE = os.path.join(short_runs.ROOT, 'docs', 'pictures', 'ship.png')
PRIVATE = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC, of mount(2).
BIND = 1 << 12 | 1 << 14
NO_NAMESPACES = 77
# What a program needs, if it is in /tmp.
NEEDED = [
    path for path in {short_runs.ROOT, sys.prefix, sys.base_prefix}
    if path.startswith('/tmp/')
]

# Runs a program of the package with a folder as its /tmp, as a user: arguments
# are the root of the project, the folder, the user and the program.
AS_USER = """
import runpy
import sys

sys.path[0] = sys.argv.pop(1)

from tests.programs import test_other_users

test_other_users.enter(*sys.argv[1:3])
sys.argv[:] = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name='__main__')
"""


def enter(folder, user):
  """Makes a folder the /tmp of this process, and a user of root."""
  libc = ctypes.CDLL(None, use_errno=True)

  def call(function, *args):
    if function(*args):
      sys.stderr.write('no namespaces: %s' % os.strerror(ctypes.get_errno()))
      os._exit(NO_NAMESPACES)

  call(libc.unshare, 0x20000)  # CLONE_NEWNS
  call(libc.mount, b'none', b'/', None, PRIVATE, None)
  for path in NEEDED:
    inside = folder + path[len('/tmp'):]
    os.makedirs(inside, exist_ok=True)
    call(libc.mount, path.encode(), inside.encode(), None, BIND, None)
  call(libc.mount, folder.encode(), b'/tmp', None, BIND, None)
  if user != '0':
    call(libc.unshare, 0x10000000)  # CLONE_NEWUSER
    for name, content in (('setgroups', 'deny'), ('uid_map', user + ' 0 1'),
                          ('gid_map', user + ' 0 1')):
      with open('/proc/self/' + name, 'w') as file:
        file.write(content)
  os.chdir('/')


@pytest.fixture
def run(tmp_path):
  """Runs a program with a given folder as its /tmp: its status and outputs."""
  script = tmp_path / 'as_user.py'
  script.write_text(AS_USER)

  def run_in(folder, program, *flags, user=1000):
    program = os.path.join(short_runs.ROOT, 'cifar10', program + '.py')
    status, out, err = processes.run(
        [str(script), short_runs.ROOT,
         str(folder),
         str(user), program, *flags], cwd='/')
    if status == NO_NAMESPACES:
      pytest.skip(err)
    return status, out, err

  return run_in


@pytest.fixture
def private(tmp_path):
  """A folder like /tmp, where anybody may make folders."""
  folder = tmp_path / 'private'
  folder.mkdir()
  folder.chmod(0o1777)
  return folder


def made_in(private):
  """The names there, but for those on the way to what a program needs."""
  names = {path.split('/')[2] for path in NEEDED}
  return sorted(set(os.listdir(str(private))) - names)


def theirs(path, mode=0o777):
  path.mkdir()
  path.chmod(mode)
  os.chown(str(path), OTHER, OTHER)
  return path


@pytest.mark.parametrize('user', [0, 1000])
@pytest.mark.parametrize('mode', [0o777, 0o700])
def test_the_model_of_another_user_is_not_loaded(run, private, mode, user):
  folder = theirs(private / 'cifar10_train', mode)
  (folder / 'saved_model.pb').write_bytes(b'harmful')
  theirs(private / 'cifar10_data')
  status, out, err = run(private, 'cifar10_predict', PICTURE, user=user)
  assert (status, out.count('%')) == (0, 3), err
  notice, model = err.splitlines()
  assert notice == ('/tmp/cifar10_train belongs to another user: this is '
                    'pretrained:fast, a model that comes with the package.')
  assert model.startswith('Model: ') and '/zoo/fast/model.ckpt-' in model


@pytest.mark.parametrize('name, flag, command', [
    ('train', 'train_dir', ['cifar10_train', '--dataset=sample']),
    ('train', 'train_dir',
     ['cifar10_distributed_train', '--job_name=worker', '--dataset=sample']),
    ('pretrain', 'train_dir', ['cifar10_pretrain', '--dataset=sample']),
    ('train', 'checkpoint_dir', ['cifar10_eval', '--dataset=sample']),
    ('train', 'checkpoint_dir', ['cifar10_export', '--checkpoint=5']),
    ('eval', 'eval_dir',
     ['cifar10_eval', '--checkpoint_dir=pretrained:fast', '--run_once']),
    ('export', 'export_dir',
     ['cifar10_export', '--checkpoint_dir=pretrained:fast']),
    ('data', 'data_dir', ['cifar10_train', '--train_dir=/tmp/own']),
    ('data', 'data_dir', ['data/fetch_data']),
    ('data', 'data_dir', ['data/fetch_data', '--dataset=svhn']),
    ('cluster_logs', 'log_dir', ['cluster/local_cluster', '--dataset=sample'])
])
def test_a_default_folder_of_another_user_is_refused(run, private, name, flag,
                                                     command):
  folder = theirs(private / ('cifar10_' + name))
  (folder / 'model.ckpt-5.index').write_bytes(b'')
  status, out, err = run(private, *command)
  assert (status, out) == (1, '')
  assert err.count('\n') == 1
  assert err.endswith(
      ' error: /tmp/cifar10_%s: belongs to another user; expected a folder of '
      'your own. Give --%s with another one, or with this one to use it\n' %
      (name, flag))
  assert os.listdir(str(folder)) == ['model.ckpt-5.index']
  assert made_in(private) == [folder.name]


def test_what_is_named_may_be_of_another_user(run, private):
  train = theirs(private / 'cifar10_train')
  theirs(private / 'cifar10_data')
  shutil.copytree(os.path.join(short_runs.ROOT, 'cifar10', 'data', 'sample'),
                  str(private / 'cifar10_data' / 'cifar-10-batches-bin'))
  home = private / 'home'
  home.mkdir()
  (home / 'model.ckpt-1.index').write_text('precious')
  (train / 'best').symlink_to('/tmp/home')
  command = [
      'cifar10_train', '--train_dir=/tmp/cifar10_train', '--overwrite',
      '--dataset=sample', '--batch_size=8', '--max_steps=1'
  ]
  status, _, err = run(private, *command)
  assert (status, err) == (
      1, 'cifar10_train: error: /tmp/cifar10_train/best: is a link; expected '
      'none, or a folder\n')
  assert (home / 'model.ckpt-1.index').read_text() == 'precious'
  (train / 'best').unlink()
  status, out, err = run(private, *command)
  assert (status, err) == (0, ''), out


def test_an_old_program_reads_no_data_of_another_user(run, private):
  theirs(private / 'cifar10_data')
  (private / 'old.py').write_text('import cifar10\ncifar10.distorted_inputs()')
  status, out, err = run(private, '/tmp/old')
  assert (status, out) == (1, '')
  assert 'UserError: /tmp/cifar10_data: belongs to another user;' in err


@pytest.mark.parametrize('owner', [OTHER, 0])  # Of the run.
def test_a_report_has_the_evaluations_of_who_has_the_run(run, private, owner):
  train = theirs(private / 'run')
  os.chown(str(train), owner, owner)
  theirs(private / 'run_eval')
  out = run(private, 'tools/report/report', '/tmp/run', '--out=/tmp/out')[1]
  line = '/tmp/run_eval belongs to another user: its evaluations are left out.'
  assert (line in out) == (owner == 0)
