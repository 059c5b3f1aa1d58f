"""Chromium without a window, driven through a pipe, for tests of pages."""

import json
import os
import shutil
import subprocess

CHROMIUM = shutil.which('chromium') or shutil.which('google-chrome')


class Browser:
  """A page in a Chromium of its own, with the DevTools protocol; a context."""

  def __init__(self, folder, *flags):
    """`folder`, a pathlib.Path, is new and for the profile."""
    given, questions = os.pipe()
    taken, answers = os.pipe()
    # Chromium reads 3 and writes 4.
    command = 'exec "$@" 3<&%d 4>&%d' % (given, answers)
    self._process = subprocess.Popen([
        'bash', '-c', command, 'bash', CHROMIUM, '--headless=new',
        '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
        '--user-data-dir=%s' % folder, *flags
    ], pass_fds=(given, answers), stderr=subprocess.DEVNULL)
    os.close(given)
    os.close(answers)
    self._to, self._from = os.fdopen(questions, 'wb'), os.fdopen(taken, 'rb')
    self._count, self._session = 0, {}
    self.messages = []  # Of the console, and errors.
    target = self.call('Target.createTarget', url='about:blank')['targetId']
    session = self.call('Target.attachToTarget', targetId=target, flatten=True)
    self._session = {'sessionId': session['sessionId']}
    for domain in 'Page', 'Runtime', 'Log':
      self.call(domain + '.enable')

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._process.kill()
    self._process.wait()
    self._to.close()
    self._from.close()

  def _read(self):
    content = bytearray()
    while content[-1:] != b'\0':
      byte = self._from.read(1)
      assert byte, 'Chromium has ended'
      content += byte
    return json.loads(content[:-1].decode())

  def call(self, method, **parameters):
    """Calls a method of the protocol; returns its result, a dict."""
    self._count += 1
    message = dict(id=self._count, method=method, params=parameters,
                   **self._session)
    self._to.write(json.dumps(message).encode() + b'\0')
    self._to.flush()
    while True:
      answer = self._read()
      if answer.get('id') == self._count:
        assert 'result' in answer, answer
        return answer['result']
      if answer.get('method') in ('Runtime.exceptionThrown', 'Log.entryAdded',
                                  'Runtime.consoleAPICalled'):
        self.messages.append(answer['params'])

  def evaluate(self, expression):
    """The value of JavaScript in the page, a promise's when it is kept."""
    found = self.call('Runtime.evaluate', expression=expression,
                      awaitPromise=True, returnByValue=True)
    assert 'exceptionDetails' not in found, found
    return found['result'].get('value')

  def open(self, url, until='true'):
    """Opens a page, and waits until a condition in JavaScript holds."""
    self.call('Page.navigate', url=url)
    self.evaluate("""new Promise((resolve) => {
      const check = () => (document.readyState === 'complete' && (%s)) ?
        resolve() : setTimeout(check, 50);
      check();
    })""" % until)
