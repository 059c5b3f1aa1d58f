"""A trained run, an evaluation of it, pictures and data: made once, copied."""

import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile
import threading

import numpy as np
from PIL import Image

from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records

MAX_STEPS = 12
_LOCK = threading.Lock()


def copy(sandbox, *names):
  """Copies parts of the run into a sandbox, under their names.

  They are `train`, a training directory with the checkpoints of 0, 6 and 12
  steps; `eval`, its evaluation; `pictures`, two folders of pictures; `own`, a
  data set made of them; `data`, a small CIFAR-10.
  """
  with _LOCK:
    made = _made()
  for name in names:
    subprocess.check_call(['cp', '-rT', str(made / name), sandbox.path(name)])


@functools.lru_cache(maxsize=None)
def _made():
  """The folder of what is copied."""
  folder = pathlib.Path(tempfile.mkdtemp(prefix='faults-'))
  atexit.register(shutil.rmtree, str(folder), ignore_errors=True)
  picture_folders.write_noise(folder / 'pictures', {'cat': 6, 'dog': 6}, 40)
  synthetic_records.make_folder(folder / 'data')
  _run('cifar10_train', '--dataset=sample', '--batch_size=8',
       '--max_steps=%d' % MAX_STEPS, '--save_steps=6',
       '--train_dir=%s' % (folder / 'train'))
  _run('cifar10_eval', '--run_once', '--batch_size=100',
       '--checkpoint_dir=%s' % (folder / 'train'),
       '--eval_dir=%s' % (folder / 'eval'))
  _run('make_dataset', str(folder / 'pictures'), '--out=%s' % (folder / 'own'),
       '--size=32')
  return folder


def _run(program, *flags):
  processes.output([short_runs.script(program), *flags], errors=processes.ANY)


def writers(sandbox, run, out):
  """Commands that use a run and write `out`, a file or folder: lists by name.

  Of what `copy` copies they need `pictures`, `eval` and the run. Either path
  may begin like a flag.
  """
  given, pictures = '--checkpoint_dir=' + run, sandbox.path('pictures')
  return {
      'eval': ['cifar10_eval', given, '--run_once', '--batch_size=100',
               '--eval_dir=' + out],
      'export': ['cifar10_export', given, '--export_dir=' + out],
      'frozen': ['cifar10_export', given, '--frozen_graph=' + out],
      'grid': ['cifar10_predict', given, pictures, '--grid=' + out],
      'data': ['make_dataset', pictures, '--out=' + out, '--size=32'],
      'sparse': ['sparsify', '--keep=0.5', '--out=' + out, '--', run],
      'report': ['report', '--eval_dir=' + sandbox.path('eval'),
                 '--out=' + out, '--', run]
  }  # yapf: disable


def picture(random, size=40):
  """A picture of noise, as Pillow has it."""
  source = np.random.RandomState(random.randrange(1 << 32))
  return Image.fromarray(source.randint(0, 256, (size, size, 3), np.uint8))
