"""Exports behind TensorFlow Serving: the REST requests of the page, answers.

A stand-in takes the place of the server. It reads a request as the
documentation of Serving's REST interface says
(https://www.tensorflow.org/tfx/serving/api_rest), and runs the signature that
the request names with TensorFlow's own loader.
"""

import base64
import contextlib
from http import server as http_server
import json
import os
import re
import shutil
import threading
import urllib.request

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import zoo
from tests import picture_folders
from tests import processes
from tests import short_runs

pytestmark = pytest.mark.slow

PAGE = os.path.join(short_runs.ROOT, 'docs', 'predict_export_report.md')
MODELS = [zoo.PREFIX + name for name in ('fast', 'tutorial')]


def programs():
  """The programs of the section on Serving, in their order."""
  with open(PAGE, encoding='utf-8') as page:
    section = page.read().split('\n## Serve\n')[1].split('\n## ')[0]
  return re.findall('^```python\n(.*?)^```', section, re.M | re.S)


@pytest.fixture(scope='module')
def picture(tmp_path_factory):
  """The path of a test image of the sample as PNG."""
  path = tmp_path_factory.mktemp('pictures') / 'ship.png'
  picture_folders.save(path, short_runs.sample_images(1)[0])
  return str(path)


class Model:
  """The newest version of a model, as Serving loads it."""

  def __init__(self, base):
    # Serving takes the folder whose name is the largest number.
    version = max(filter(str.isdecimal, os.listdir(base)), key=int)
    self._session = tf.Session(graph=tf.Graph())
    with self._session.graph.as_default():
      self._signatures = tf.saved_model.loader.load(
          self._session, [tf.saved_model.SERVING],
          os.path.join(base, version)).signature_def

  def run(self, name, columns):
    """Arrays by the names of the outputs; `columns` are those of inputs."""
    signature = self._signatures[name or 'serving_default']
    assert signature.method_name == 'tensorflow/serving/predict'
    assert set(columns) == set(signature.inputs)
    feeds = {
        info.name: np.array(columns[key],
                            tf.as_dtype(info.dtype).as_numpy_dtype)
        for key, info in signature.inputs.items()
    }
    outputs = {key: info.name for key, info in signature.outputs.items()}
    return self._session.run(outputs, feeds)

  def answer(self, request):
    """The JSON object that answers a JSON object."""
    (form,) = set(request) - {'signature_name'}
    given = from_json(request[form])
    if form == 'instances':  # By row: an object for each instance.
      given = {key: [row[key] for row in given] for key in given[0]}
    outputs = self.run(request.get('signature_name'), given)
    lists = {
        key: value.astype(str if value.dtype == object else None).tolist()
        for key, value in outputs.items()
    }
    if form == 'inputs':
      return {'outputs': lists}
    rows = [dict(zip(lists, values)) for values in zip(*lists.values())]
    return {'predictions': rows}


def from_json(value):
  """A value of a request, with bytes for the objects that hold base64."""
  if isinstance(value, list):
    return [from_json(item) for item in value]
  if isinstance(value, dict):
    if set(value) == {'b64'}:
      return base64.b64decode(value['b64'], validate=True)
    return {key: from_json(item) for key, item in value.items()}
  return value


@contextlib.contextmanager
def stand_in(model):
  """Yields the port at which a Model answers."""

  class Handler(http_server.BaseHTTPRequestHandler):

    def do_POST(self):  # noqa: N802
      assert self.path == '/v1/models/cifar10:predict'
      request = self.rfile.read(int(self.headers['Content-Length']))
      answer = json.dumps(model.answer(json.loads(request.decode()))).encode()
      self.send_response(200)
      self.send_header('Content-Length', str(len(answer)))
      self.end_headers()
      self.wfile.write(answer)

    def log_message(self, *args):
      pass

  with http_server.HTTPServer(('127.0.0.1', 0), Handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


@pytest.fixture(scope='module')
def ports(tmp_path_factory):
  """The ports at which two models are served, exported as one version each."""
  with contextlib.ExitStack() as stack:
    found = []
    for i, model in enumerate(MODELS):
      folder = tmp_path_factory.mktemp('models') / 'cifar10'
      processes.output([
          short_runs.script('cifar10_export'), '--checkpoint_dir=' + model,
          '--export_dir=%s' % (folder / str(i + 7))
      ], errors=processes.ANY)
      assert os.listdir(str(folder)) == [str(i + 7)]
      found.append(stack.enter_context(stand_in(Model(str(folder)))))
    yield found


def predicted(picture, *models):
  """The probabilities that cifar10_predict prints, by class."""
  out = processes.output(
      [short_runs.script('cifar10_predict'), '--json', picture] +
      ['--checkpoint_dir=' + model for model in models], errors=processes.ANY)
  return json.loads(out)


@pytest.fixture(scope='module')
def expected(picture):
  """What cifar10_predict says of the picture with the first model."""
  return predicted(picture, MODELS[0])


def run_program(program, tmp_path, picture, replaced):
  """What a program of the page prints, with other ports."""
  for before, after in replaced.items():
    assert before in program
    program = program.replace(before, str(after))
  shutil.copy(picture, str(tmp_path / 'ship.png'))
  path = tmp_path / 'program.py'
  path.write_text(program)
  return processes.output([path], cwd=str(tmp_path),
                          modules=('tensorflow.compat.v1',),
                          errors=processes.ANY)


def test_a_picture(ports, picture, expected, tmp_path):
  out = run_program(programs()[0], tmp_path, picture, {'8501': ports[0]})
  label, probability = out.split()
  assert label == expected['class']
  assert float(probability) == pytest.approx(
      max(expected['probabilities'].values()), abs=1e-4)


def test_images_in_rows_and_in_columns(ports, picture, expected):

  def ask(request):
    with urllib.request.urlopen(
        'http://127.0.0.1:%d/v1/models/cifar10:predict' % ports[0],
        json.dumps(request).encode(), timeout=60) as answer:
      return json.loads(answer.read().decode())

  with open(picture, 'rb') as file:
    content = file.read()
  with tf.Graph().as_default(), tf.Session() as session:
    image = session.run(tf.io.decode_png(content)).tolist()
  rows = ask({'instances': [{'images': image}, {'images': image}]})
  columns = ask({'inputs': {'images': [image]}})['outputs']
  rows = rows['predictions']
  assert len(rows) == 2
  probabilities = list(expected['probabilities'].values())
  for row in [*rows, {key: value for key, (value,) in columns.items()}]:
    assert row['label'] == expected['class']
    assert row['class'] == np.argmax(probabilities)
    np.testing.assert_allclose(row['probabilities'], probabilities, atol=1e-5)


def test_an_ensemble_of_servers_answers_as_one_of_runs(ports, picture, expected,
                                                       tmp_path):
  ports = dict(zip(('8501', '8502'), ports))
  out = run_program(programs()[2], tmp_path, picture, ports)
  both = predicted(picture, *MODELS)['probabilities']
  np.testing.assert_allclose(json.loads(out), list(both.values()), atol=1e-5)
  alone = list(expected['probabilities'].values())
  assert np.abs(np.array(json.loads(out)) - alone).max() > 1e-4
