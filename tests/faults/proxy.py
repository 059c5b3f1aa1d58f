"""A link between tasks that can be cut, frozen and mended, without root.

All tasks of a cluster are given the same addresses, of which one is that of a
Proxy here. The task behind it listens at another port than its flags say:

    python proxy.py PORT cifar10_distributed_train.py FLAGS
"""

import contextlib
import runpy
import socket
import struct
import sys
import threading

_CHUNK = 1 << 16
# More than the kernel takes for a listener with a backlog of 0.
_FILLERS = 4
_POLL_SECS = 0.05


class Proxy:
  """Passes on what is sent to a port of this machine to another one."""

  def __init__(self, port, target):
    self._port, self._target = port, target
    self._listener = socket.socket()
    self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    self._listener.bind(('127.0.0.1', port))
    self._listener.listen(0)
    self._listener.settimeout(_POLL_SECS)
    self._flows = threading.Event()
    self._flows.set()
    self._closed = threading.Event()
    self._lock = threading.Lock()
    self._open = set()  # Both ends of all connections.
    self._fillers = []
    threading.Thread(target=self._accept, daemon=True).start()

  def freeze(self):
    """Passes nothing on, and answers no new connection: a cut cable."""
    self._flows.clear()
    for _ in range(_FILLERS):
      filler = socket.socket()
      filler.setblocking(False)
      with contextlib.suppress(BlockingIOError):
        filler.connect(('127.0.0.1', self._port))
      self._fillers.append(filler)

  def thaw(self):
    """Goes on, with all that has been sent meanwhile."""
    for filler in self._fillers:
      filler.close()
    self._fillers = []
    self._flows.set()

  def drop(self):
    """Resets all connections; new ones are welcome."""
    with self._lock:
      for end in self._open:
        with contextlib.suppress(OSError):
          linger = struct.pack('ii', 1, 0)
          end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
          end.shutdown(socket.SHUT_RD)
          end.close()
      self._open.clear()

  def close(self):
    """Ends the proxy; its connections are reset."""
    self._closed.set()
    self._flows.set()
    self._listener.close()
    self.thaw()
    self.drop()

  def _accept(self):
    while not self._closed.is_set():
      if not self._flows.wait(_POLL_SECS):
        continue
      try:
        near, _ = self._listener.accept()
      except socket.timeout:
        continue
      except OSError:  # Closed.
        return
      try:
        far = socket.create_connection(('127.0.0.1', self._target), timeout=5)
      except OSError:
        near.close()
        continue
      with self._lock:
        self._open |= {near, far}
      for ends in ((near, far), (far, near)):
        for end in ends:
          end.settimeout(None)
        threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

  def _pass_on(self, source, target):
    """Sends to `target` what `source` receives, to its end."""
    with contextlib.suppress(OSError):
      while True:
        self._flows.wait()
        chunk = source.recv(_CHUNK)
        self._flows.wait()
        if not chunk:
          break
        target.sendall(chunk)
      target.shutdown(socket.SHUT_WR)


def _move(port):
  """Has tf.train.Server listen at `port`, whatever the cluster says."""
  import tensorflow.compat.v1 as tf
  original = tf.train.Server

  def server(cluster, job_name, task_index, **options):
    jobs = cluster.as_dict()
    jobs[job_name][task_index] = '127.0.0.1:%d' % port
    return original(tf.train.ClusterSpec(jobs), job_name=job_name,
                    task_index=task_index, **options)

  tf.train.Server = server


if __name__ == '__main__':
  _move(int(sys.argv[1]))
  sys.argv = sys.argv[2:]
  runpy.run_path(sys.argv[0], run_name='__main__')
