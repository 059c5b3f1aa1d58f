"""What a worker makes of the chief's end."""

import pytest

from cifar10.cluster import cluster_spec
from cifar10.cluster import ending
from cifar10.cluster import membership
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


class Observer:
  """What is known of the chief's end."""

  ending = None


def wait(notice, stall_secs=60):
  """Waits, as worker 1 after its last step, for the save of the chief."""
  chief, worker = clusters.free_addresses(2)
  task = cluster_spec.Task('worker', 1, ('a:1',), (chief, worker))
  observer = Observer()
  observer.ending = notice
  ending.wait_until_saved(
    task,
    Settings(connect_timeout_secs=1, stall_secs=stall_secs),
    membership.Agreement(Settings(), None, chief_start=2, steps_before=0),
    observer,
  )


def test_a_chief_that_has_saved_is_waited_for_no_longer():
  wait({'chief_start': 2, 'problem': None})
  wait({'chief_start': 3, 'problem': None})  # Started again since.


def test_the_error_of_the_chief_is_told():
  with pytest.raises(UserError, match=r'^the chief \(.*ended .*: disk full$'):
    wait({'chief_start': 2, 'problem': 'disk full'})


@pytest.mark.parametrize('notice', [None, {'chief_start': 1, 'problem': None}])
def test_a_chief_that_is_gone_is_named(notice):
  with pytest.raises(UserError, match=r'^the chief 127.* may not be saved$'):
    wait(notice)


def test_a_chief_that_does_not_save_is_named(monkeypatch):
  monkeypatch.setattr(cluster_spec, 'unreachable', lambda address: None)
  with pytest.raises(UserError, match='has not saved .* within 1 s'):
    wait(None, stall_secs=1)
