"""A web server that misbehaves."""

import http.server
import socket
import socketserver
import struct
import threading
import time

_PIECE = 1 << 14
_ENDLESS_BYTES = 2 << 30  # At full speed; then slowly.

# What a server may do to a request; see _Handler.
BEHAVIORS = ('good', 'no ranges', 'cut', 'cut without length',
             'length too small', 'length too large', 'length is no number',
             '206 with all', '206 without a range', 'endless',
             'endless after length', 'to /itself', 'to file:///etc/hostname',
             'status 403', 'status 404', 'status 416', 'status 429',
             'status 500', 'status 503', 'slow', 'wrong bytes', 'empty',
             'reset', 'no HTTP', 'long header')


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
  """Serves `content`; a context manager.

  Attributes:
    content: bytes.
    behaviors: one of BEHAVIORS for each of the first requests; the server then
      goes on with `after`.
    at: after how many bytes what goes wrong goes wrong.
    asked: the Range header of each request, or None; 'CONNECT' for what asks a
      proxy, which it refuses.
    url: its address.
  """

  daemon_threads = True

  def __init__(self, content, behaviors=(), at=0, after='good'):
    super().__init__(('127.0.0.1', 0), _Handler)
    self.content, self.at, self.after = content, at, after
    self.behaviors = list(behaviors)
    self.ended = threading.Event()
    self.asked = []
    self.url = 'http://127.0.0.1:%d/archive.tar.gz' % self.server_port

  def __enter__(self):
    threading.Thread(target=self.serve_forever, args=(0.05,),
                     daemon=True).start()
    return self

  def __exit__(self, *error):
    self.ended.set()
    self.shutdown()
    self.server_close()

  def handle_error(self, request, client_address):
    pass  # Clients that are killed, and the like.


class _Handler(http.server.BaseHTTPRequestHandler):
  """Answers a request in the way that is next."""

  def do_GET(self):  # noqa: N802 The library's name.
    server, asked = self.server, self.headers.get('Range')
    server.asked.append(asked)
    how = server.behaviors.pop(0) if server.behaviors else server.after
    start = int(asked[len('bytes='):-1]) if asked else 0
    if how.startswith('status '):
      self.send_error(int(how.split()[1]))
    elif how.startswith('to '):
      self.send_response(302)
      self.send_header('Location', how[len('to '):])
      self.send_header('Content-Length', '0')
      self.end_headers()
    elif how == 'reset':
      linger = struct.pack('ii', 1, 0)
      self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    elif how == 'no HTTP':
      self.wfile.write(b'\x1b[2J220 ready\r\n' + bytes(range(256)))
    elif how in ('no ranges', '206 with all', 'long header'):
      self._answer(how, 0)
    elif start >= len(server.content):
      self.send_error(416)
    else:
      self._answer(how, start)

  def do_CONNECT(self):  # noqa: N802 The library's name.
    self.server.asked.append('CONNECT')
    self.send_error(403)

  def _answer(self, how, start):
    """Sends the content from `start` on, if nothing goes wrong."""
    body = self.server.content[start:]
    at, total = min(self.server.at, len(body)), len(self.server.content)
    partial = start or how.startswith('206')
    self.send_response(206 if partial else 200)
    if how not in ('cut without length', 'endless'):
      self.send_header(
          'Content-Length', {
              'empty': '0',
              'length too small': str(at),
              'length too large': str(len(body) + 1 + at),
              'length is no number': 'many'
          }.get(how, str(len(body))))
    if partial and not how.startswith('206'):
      self.send_header('Content-Range',
                       'bytes %d-%d/%d' % (start, total - 1, total))
    if how == 'long header':
      self.send_header('X', 'x' * 70000)
    self.end_headers()
    if how == 'wrong bytes':
      body = body[:at] + bytes(255 - b for b in body[at:at + 9]) + body[at + 9:]
    elif how in ('cut', 'cut without length', 'length too small'):
      body = body[:at]
    elif how == 'empty':
      body = b''
    for i in range(0, len(body), _PIECE):
      if how == 'slow' and i >= at:
        self.server.ended.wait(0.1)
      self.wfile.write(body[i:i + _PIECE])
    sent = 0
    while how.startswith('endless') and not self.server.ended.is_set():
      sent += self.wfile.write(bytes(1 << 20))
      if sent > _ENDLESS_BYTES:
        time.sleep(0.5)

  def log_message(self, *args):
    pass
