"""A link between tasks that can be cut and mended, without root.

All tasks of a cluster are given the same addresses, of which one is that of a
Proxy here. The task behind it listens at another port than its flags say:

    python proxy.py PORT cifar10_distributed_train.py FLAGS
"""

import contextlib
import runpy
import socket
import socketserver
import struct
import sys
import threading


class Proxy(socketserver.ThreadingTCPServer):
  """Passes on what is sent to a port of this machine to another one.

  Attributes:
    flows: an Event; while it is not set, nothing is passed on, neither what is
      sent nor new connections: a cut cable.
  """

  allow_reuse_address = daemon_threads = True

  def __init__(self, port, target):
    super().__init__(('127.0.0.1', port), None)
    self.flows = threading.Event()
    self.flows.set()
    self._target = '127.0.0.1', target
    self._open = []  # Both ends of all connections.
    threading.Thread(target=self.serve_forever, daemon=True).start()

  def drop(self):
    """Resets all connections; new ones are welcome."""
    ends, self._open = self._open, []
    for end in ends:
      with contextlib.suppress(OSError):
        linger = struct.pack('ii', 1, 0)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        end.shutdown(socket.SHUT_RD)
        end.close()

  def close(self):
    """Ends the proxy; its connections are reset."""
    self.shutdown()
    self.socket.close()
    self.flows.set()
    self.drop()

  def finish_request(self, near, address):
    """Serves a connection, in a thread of its own, to its end."""
    self.flows.wait()
    with contextlib.suppress(OSError):
      with socket.create_connection(self._target) as far:
        self._open += [near, far]
        back = threading.Thread(target=self._pass_on, args=(far, near),
                                daemon=True)
        back.start()
        self._pass_on(near, far)
        back.join()

  def _pass_on(self, source, target):
    """Sends to `target` what `source` receives, to its end."""
    with contextlib.suppress(OSError):
      for chunk in iter(lambda: source.recv(1 << 16), b''):
        self.flows.wait()
        target.sendall(chunk)
      target.shutdown(socket.SHUT_WR)


def _move(port):
  """Has tf.train.Server listen at `port`, whatever the cluster says."""
  import tensorflow.compat.v1 as tf
  original = tf.train.Server

  def server(cluster, job_name, task_index, **options):
    jobs = tf.train.ClusterSpec(cluster).as_dict()
    jobs[job_name][task_index] = '127.0.0.1:%d' % port
    return original(tf.train.ClusterSpec(jobs), job_name=job_name,
                    task_index=task_index, **options)

  tf.train.Server = server


if __name__ == '__main__':
  _move(int(sys.argv[1]))
  sys.argv = sys.argv[2:]
  runpy.run_path(sys.argv[0], run_name='__main__')
