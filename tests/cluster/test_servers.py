"""Servers of tasks, and the devices that their sessions see."""

import socket
from unittest import mock

import pytest
import tensorflow.compat.v1 as tf

from cifar10.cluster import cluster_spec
from cifar10.cluster import servers
from cifar10.errors import UserError
from cifar10.settings import Settings
from tests import clusters


def test_a_taken_port_is_named():
  with socket.socket() as taken:
    taken.bind(('127.0.0.1', 0))
    taken.listen(1)
    address = '127.0.0.1:%d' % taken.getsockname()[1]
    task = cluster_spec.Task('ps', 0, (address,), ('127.0.0.1:1',))
    with pytest.raises(UserError, match='port .* Address already in use'):
      servers.Server(task, Settings())


@pytest.mark.parametrize('number, devices', [(0, {'GPU': 0}), (1, {})])
def test_only_workers_see_gpus(monkeypatch, number, devices):
  found = []
  monkeypatch.setattr(
      tf.train, 'Server',
      lambda *_, config, **__: found.append(config) or mock.Mock())
  servers.Server(clusters.new_tasks(1)[number], Settings())
  assert dict(found[0].device_count) == devices


def test_a_server_that_only_begins_to_speak_is_given_up(monkeypatch):
  with socket.socket() as silent:
    silent.bind(('127.0.0.1', 0))
    silent.listen(5)
    ps = '127.0.0.1:%d' % silent.getsockname()[1]
    task = clusters.new_tasks(1)[1]._replace(ps=(ps,))
    server = servers.Server(task, Settings(connect_timeout_secs=1))
    with pytest.raises(UserError,
                       match=f'^{ps}: no answer within 1 s .*secs.$'):
      with server.side_session():
        pass
