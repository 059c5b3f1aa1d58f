"""Parts of one model: which devices there are."""

import pytest

from cifar10.errors import UserError
from cifar10.optim import model_parallelism
from cifar10.settings import Settings
from cifar10.util import session_settings


@pytest.mark.parametrize('kind, num_gpus, columns, tasks, problem', [
    ('layers', 3, 1, (), 'found 3 GPUs or workers; expected 2$'),
    ('layers', 1, 1, ('/job:worker/task:0',), 'found 1 GPUs'),
    ('filters', 1, 1, (), 'found 1 GPUs or workers; expected 2 or more, see -'),
    ('filters', 2, 4, (), 'found 2 .* expected 4, one for each of --columns$'),
])
def test_devices_that_do_not_fit_are_refused(kind, num_gpus, columns, tasks,
                                             problem):
  settings = Settings(model_parallelism=kind, num_gpus=num_gpus,
                      columns=columns)
  with pytest.raises(UserError,
                     match=f'^--model_parallelism={kind}: {problem}'):
    model_parallelism.with_devices(settings, tasks)


def test_devices_are_gpus_or_tasks_or_parts_of_the_processor(monkeypatch):
  parts = Settings(model_parallelism='filters', num_gpus=2)
  assert model_parallelism.with_devices(Settings(num_gpus=2)).devices == ()
  tasks = model_parallelism.with_devices(
      parts, ['/job:worker/task:%d' % i for i in range(3)])
  assert tasks.devices == tuple(
      '/job:worker/task:%d/gpu:0' % i for i in range(3))
  for has_gpu, kind in ((True, 'gpu'), (False, 'cpu')):
    monkeypatch.setattr(session_settings, 'has_gpu', lambda has=has_gpu: has)
    devices = model_parallelism.with_devices(parts).devices
    assert devices == tuple('/%s:%d' % (kind, i) for i in range(2))
  assert session_settings.config_proto(parts).device_count['CPU'] == 2
  # Towers take one batch each, the parts of a model one together.
  assert parts.examples_per_machine == parts.batch_size
  assert Settings(num_gpus=2).examples_per_machine == 2 * parts.batch_size
