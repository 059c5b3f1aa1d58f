"""Models that come with the package."""

import hashlib
import json
import os

import pytest

from cifar10 import zoo
from cifar10.errors import UserError
from cifar10.store import checkpoints
from tests import picture_folders
from tests import processes
from tests import short_runs

pytestmark = pytest.mark.slow

# SHA-256 of the variables, and for the test images of the sample, how many are
# labeled right and the mean loss.
MODELS = {
    'fast': ('b5f8999edb755bb432d9c497e47751b10187c542907c45627d2f105980bd1fe5',
             464, 0.30181),
    'tutorial':
        ('91343a46e6f955c878e776d3af3d59b2f3be5b6c1f3123f02ae441e6cc94feb6',
         419, 0.58879)
}

DATA_DIR = '/tmp/cifar10_data'


def test_the_list_is_complete():
  assert zoo.names() == sorted(MODELS)
  assert zoo.DEFAULT[len(zoo.PREFIX):] in MODELS
  with pytest.raises(UserError, match='=pretrained:x: .* pretrained:fast'):
    zoo.directory('pretrained:x', '--init_from')


def evaluation(name, dataset, tmp_path):
  out = processes.output([
      'cifar10/cifar10_eval.py', '--checkpoint_dir=pretrained:' + name,
      '--dataset=' + dataset,
      '--eval_dir=%s' % tmp_path, '--batch_size=500', '--run_once', '--json'
  ], cwd=short_runs.ROOT, errors=processes.MODELS)
  return json.loads(out)


@pytest.mark.parametrize('name', sorted(MODELS))
def test_each_is_the_one_that_was_measured(name, tmp_path):
  checksum, correct, loss = MODELS[name]
  folder = zoo.directory(zoo.PREFIX + name, '--checkpoint_dir')
  data = checkpoints.find(folder) + '.data-00000-of-00001'
  with open(data, 'rb') as variables:
    assert hashlib.sha256(variables.read()).hexdigest() == checksum
  found = evaluation(name, 'sample', tmp_path)
  # Other processors and versions round otherwise.
  assert found['correct'] == pytest.approx(correct, abs=2)
  assert found['loss'] == pytest.approx(loss, rel=2e-4)


@pytest.mark.skipif(
    not os.path.isdir(os.path.join(DATA_DIR, 'cifar-10-batches-bin')),
    reason='needs the images of CIFAR-10')
def test_the_tutorials_has_the_precision_that_was_measured(tmp_path):
  found = evaluation('tutorial', 'cifar10', tmp_path)
  assert found['correct'] == pytest.approx(8584, abs=2)


# A program whose default --checkpoint_dir is its first argument.
_WITH_DEFAULT = """
import runpy
import sys

from cifar10.settings import FIELDS

FIELDS['checkpoint_dir'].default = sys.argv[1]
sys.argv[:] = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name='__main__')
"""


def test_without_a_run_programs_use_the_model_of_the_package(tmp_path):
  script = tmp_path / 'with_default.py'
  script.write_text(_WITH_DEFAULT)
  picture = picture_folders.save(tmp_path / 'noise.png',
                                 picture_folders.noise(40, 40))
  damaged = tmp_path / 'damaged'
  damaged.mkdir()
  (damaged / 'model.ckpt-5.index').write_bytes(b'')
  for default, is_used in ((tmp_path / 'none', True), (damaged, False)):
    outputs = []
    for program, argument in (('cifar10_predict', picture),
                              ('cifar10_export',
                               '--export_dir=%s' % (tmp_path / str(is_used)))):
      status, out, err = processes.run(
          [str(script),
           str(default), 'cifar10.' + program, argument], cwd=str(tmp_path),
          env=dict(os.environ, PYTHONPATH=short_runs.ROOT))
      notice = 'No run in %s: this is pretrained:fast, a model' % default
      assert (notice in err) == is_used
      assert (status == 0) == is_used
      outputs.append(out)
    if is_used:
      assert outputs[0].startswith(picture + ': ')
      assert (tmp_path / str(is_used) / 'saved_model.pb').exists()
    else:  # Whose checkpoint it might be.
      assert 'names no existing checkpoint' in err
