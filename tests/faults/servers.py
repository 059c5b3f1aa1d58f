"""A web server that misbehaves."""

import http.server
import socket
import socketserver
import struct
import threading
import time

_PIECE = 1 << 14
_ENDLESS_BYTES = 2 << 30  # At full speed; then slowly.

# What a server may do to a request; see Handler.
BEHAVIORS = ('good', 'no ranges', 'cut', 'cut without length',
             'length too small', 'length too large', 'length is no number',
             '206 with all', '206 without a range', 'endless',
             'endless after length', 'to itself', 'to a loop', 'to a file',
             'status 403', 'status 404', 'status 416', 'status 429',
             'status 500', 'status 503', 'slow', 'wrong bytes', 'all wrong',
             'empty', 'reset', 'no HTTP', 'long header')


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
  """Serves `content`; a context manager.

  Attributes:
    content: bytes.
    behaviors: one of BEHAVIORS for each of the first requests; the server then
      goes on with `after`.
    at: after how many bytes what goes wrong goes wrong.
    after: what it does with all later requests.
    hold: threading.Event; `slow` ends when it is set.
    asked: the Range header of each request, or None; 'CONNECT' for what asks a
      proxy, which it refuses.
    url: its address.
  """

  daemon_threads = True

  def __init__(self, content, behaviors=(), at=0, after='good'):
    super().__init__(('127.0.0.1', 0), Handler)
    self.content = content
    self.behaviors = list(behaviors)
    self.at = at
    self.after = after
    self.ended = threading.Event()
    self.asked = []
    self.url = 'http://127.0.0.1:%d/archive.tar.gz' % self.server_port
    self._thread = threading.Thread(target=self.serve_forever, args=(0.05,),
                                    daemon=True)

  def __enter__(self):
    self._thread.start()
    return self

  def __exit__(self, *error):
    self.ended.set()
    self.shutdown()
    self.server_close()

  def handle_error(self, request, client_address):
    pass  # Clients that are killed, and the like.


class Handler(http.server.BaseHTTPRequestHandler):
  """Answers a request in the way that is next."""

  def do_GET(self):  # noqa: N802 The library's name.
    server = self.server
    asked = self.headers.get('Range')
    server.asked.append(asked)
    how = server.behaviors.pop(0) if server.behaviors else server.after
    start = int(asked[len('bytes='):-1]) if asked else 0
    if how.startswith('status '):
      self.send_error(int(how.split()[1]))
    elif how.startswith('to '):
      self._redirect(how)
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

  def _redirect(self, how):
    self.send_response(302)
    where = {
        'to itself': self.path,
        'to a loop': '/%d' % len(self.server.asked),
        'to a file': 'file:///etc/hostname'
    }
    self.send_header('Location', where[how])
    self.send_header('Content-Length', '0')
    self.end_headers()

  def _answer(self, how, start):
    """Sends the content from `start` on, if nothing goes wrong."""
    body = self.server.content[start:]
    at = min(self.server.at, len(body))
    length = {
        'cut without length': None,
        'endless': None,
        'empty': 0,
        'length too small': at,
        'length too large': len(body) + 1 + at,
        'length is no number': 'many'
    }.get(how, len(body))
    partial = start or how.startswith('206')
    self.send_response(206 if partial else 200)
    if length is not None:
      self.send_header('Content-Length', str(length))
    if partial and how not in ('206 without a range', '206 with all'):
      total = len(self.server.content)
      self.send_header('Content-Range',
                       'bytes %d-%d/%d' % (start, total - 1, total))
    if how == 'long header':
      self.send_header('X', 'x' * 70000)
    self.end_headers()
    if how == 'wrong bytes':
      body = (body[:at] + bytes([255 - b for b in body[at:at + 9]]) +
              body[at + 9:])
    elif how == 'all wrong':
      body = bytes(len(body))
    elif how in ('cut', 'cut without length', 'length too small'):
      body = body[:at]
    elif how == 'empty':
      body = b''
    self._send(body, slowly=how == 'slow', after=at)
    if how.startswith('endless'):
      self._send_endlessly()

  def _send(self, body, slowly, after):
    for i in range(0, len(body), _PIECE):
      if slowly and i >= after:
        self.server.ended.wait(0.1)
      self.wfile.write(body[i:i + _PIECE])

  def _send_endlessly(self):
    sent, piece = 0, bytes(1 << 20)
    while not self.server.ended.is_set():
      self.wfile.write(piece)
      sent += len(piece)
      if sent > _ENDLESS_BYTES:
        time.sleep(0.5)

  def log_message(self, *args):
    pass
