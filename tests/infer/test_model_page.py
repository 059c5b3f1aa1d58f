"""The page that runs a model: in its script, and in a browser."""

import base64
import json
import os
import re
import shutil
import subprocess

import numpy as np
from PIL import Image
import pytest
import tensorflow.compat.v1 as tf

from cifar10 import cifar10_export
from cifar10.data import datasets
from cifar10.data import pictures
from cifar10.errors import UserError
from cifar10.infer import export
from cifar10.infer import model_page
from cifar10.settings import Settings
from tests import browser
from tests import graphs
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records
from tests.infer import random_models

NODE = shutil.which('node')
ENGINE = os.path.join(os.path.dirname(model_page.__file__), 'model_engine.js')

needs_browser = pytest.mark.skipif(not browser.CHROMIUM,
                                   reason='needs Chromium')
needs_script = pytest.mark.skipif(not (NODE or browser.CHROMIUM),
                                  reason='needs Node.js or Chromium')


def evaluated(folder, page, expression):
  """The value of JavaScript about the `model` of a page, by its own script."""
  model = re.search('id="model">(.*?)</script>', page, re.DOTALL).group(1)
  with open(ENGINE, encoding='utf-8') as file:
    code = file.read()
  assert '<script id="engine">%s</script>' % code in page
  code += 'const model = load(%s), found = JSON.stringify(%s);' % (
      json.dumps(model), expression)
  if NODE:
    path = folder / 'script.js'
    path.write_text(code + 'console.log(found);')
    return json.loads(subprocess.check_output([NODE, str(path)], timeout=120))
  with browser.Browser(folder / 'profile') as chromium:
    return json.loads(chromium.evaluate(code + 'found'))


def by_page(folder, page, images, values='at(-1)'):
  """What the script finds for uint8 images: the values of an operation."""
  texts = [base64.b64encode(image.tobytes()).decode() for image in images]
  return np.array(
      evaluated(
          folder, page, '%s.map((text) => [...run(model, decode(text, '
          '"uint8")).%s])' % (json.dumps(texts), values)))


def exported(folder, data, **settings):
  """The frozen graph of a random model, and its page."""
  path, _ = random_models.save(folder, data, averages=False, **settings)
  config = Settings(use_moving_averages=False, checkpoint_dir=str(folder),
                    html='x.html', **settings)
  frozen = export.freeze(data, path, config)
  page = model_page.render(frozen, data, 7, config).decode('utf-8')
  return frozen, page


def noise(count, size, depth):
  return np.stack(
      [picture_folders.noise(size, size, depth, i) for i in range(count)])


_MODELS = [
    {}, {'activation': 'tanh'}, {'activation': 'sigmoid'},
    {'activation': 'rrelu', 'columns': 2},
    {'activation': 'prelu', 'hidden_layers': '30,20'},
    {'activation': 'elu', 'normalization': 'batch', 'normalize_logits': True},
    {'activation': 'selu', 'normalization': 'none', 'standardization': 'fixed'},
    {'activation': 'gelu', 'network': 'airbench', 'group_filters': '16,24,32',
     'normalization': 'batch', 'image_size': 32}
]  # yapf: disable


@pytest.mark.slow
@needs_script
@pytest.mark.parametrize('settings', _MODELS, ids=str)
def test_the_page_computes_the_models_probabilities(tmp_path, settings):
  frozen, page = exported(tmp_path, datasets.in_folder('nowhere'), **settings)
  images = noise(3, 32, 3)
  expected = graphs.run_frozen(frozen, {'images': images})
  np.testing.assert_allclose(by_page(tmp_path, page, images), expected,
                             atol=1e-3)


def _strided(x):
  kernel = tf.constant(np.random.RandomState(0).randn(3, 2, 3, 5), tf.float32)
  x = tf.nn.conv2d(x, kernel, [1, 2, 3, 1], 'VALID')
  return tf.nn.lrn(tf.nn.leaky_relu(x, 0.3), 1, 2.0, 0.5, 0.6)


_LAYERS = {
    'convolution': _strided,
    'same': lambda x: tf.nn.conv2d(x,
                                   tf.ones([4, 3, 3, 5]) / 9, [1, 3, 2, 1],
                                   'SAME'),
    'max': lambda x: tf.nn.max_pool(x, 3, 2, 'SAME'),
    'average': lambda x: tf.nn.avg_pool(x, 3, 2, 'SAME'),
    'mean': lambda x: tf.reduce_mean(x, [1, 2]),
    'concatenation': lambda x: tf.concat([x, tf.exp(x),
                                          abs(x) - 1], 3),
    'arithmetic': lambda x: tf.square(x) / 3 * tf.erf(x) - tf.pow(abs(x), 1.5),
}


def of_layer(build):
  """A frozen graph of a layer between an image of 11 x 11 and three classes."""
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [1, 11, 11, 3], 'standardized')
    rows = tf.reshape(build(x), [1, -1])
    weights = np.random.RandomState(1).randn(rows.shape.num_elements(), 3) / 9
    logits = tf.matmul(rows, tf.constant(weights, tf.float32))
    tf.identity(tf.nn.softmax(logits), 'probabilities')
    return graph.as_graph_def()


@needs_script
@pytest.mark.parametrize('name', _LAYERS)
def test_each_operation_is_computed(tmp_path, name):
  config = synthetic_records.make_own_dataset(tmp_path, size=11, channels=3)
  data = datasets.describe(config)._replace(test_files=('none',))
  frozen = of_layer(_LAYERS[name])
  page = model_page.render(frozen, data, 0,
                           Settings(image_size=11)).decode('utf-8')
  given = by_page(tmp_path, page, noise(1, 11, 3), 'at(0)')
  expected = graphs.run_frozen(frozen,
                               {'standardized': given.reshape(1, 11, 11, 3)})
  found = by_page(tmp_path, page, noise(1, 11, 3))
  np.testing.assert_allclose(found, expected, atol=1e-3)


@needs_script
def test_erased_maps_and_receptive_fields(tmp_path):
  frozen, page = exported(tmp_path, datasets.in_folder('nowhere'))
  images = noise(1, 32, 3)
  found = evaluated(
      tmp_path, page, """(() => {
        const [layer, ...others] = lastMaps(model, layersOf(model));
        const pixels = decode("%s", "uint8"), values = run(model, pixels);
        return [layer.name, others.length,
                [...scoresWithout(model, values, layer.number)],
                receptiveField(model, layer.number, [5, 0, 6, 1])];
      })()""" % base64.b64encode(images.tobytes()).decode())
  name, others, scores, box = found
  assert (name, others) == ('conv2', 0)
  # conv2 sees 5 x 5 of pool1, which are 11 x 11 of conv1, 15 x 15 of the image.
  assert box == [4, 0, 19, 9]
  maps = graphs.run_frozen(frozen, {'images': images}, 'conv2/conv2')
  maps = np.where(np.eye(64, dtype=bool)[:, None, None], 0, maps)
  expected = graphs.run_frozen(frozen, {'conv2/conv2': maps},
                               'softmax_linear/softmax_linear')
  np.testing.assert_allclose(np.reshape(scores, [64, 10]), expected,
                             atol=2e-3 * abs(expected).max())


@pytest.mark.slow
@needs_script
@pytest.mark.parametrize('height, width, depth', [(50, 37, 3), (20, 29, 1),
                                                  (32, 32, 3)])
def test_pictures_are_scaled_as_for_predictions(tmp_path, height, width, depth):
  config = synthetic_records.make_own_dataset(tmp_path, size=32, channels=depth)
  data = datasets.describe(config)._replace(test_files=('none',))
  _, page = exported(tmp_path, data)
  image = picture_folders.noise(height, width)
  image = np.concatenate([image, np.full_like(image[..., :1], 255)], 2)
  found = evaluated(
      tmp_path, page, '[...fit(model, decode("%s", "uint8"), %d, %d)]' %
      (base64.b64encode(image.tobytes()).decode(), width, height))
  expected = pictures.fit(Image.fromarray(image).convert('RGB'), 32, depth)
  found = np.reshape(found, expected.shape)
  assert abs(found - expected.astype(int)).max() <= 1 + (depth == 1)


# Drops a file that is no picture, waits until the page says so, and reads it.
_DROP_AND_READ = """new Promise((resolve) => {
  const all = (query, read) => [...document.querySelectorAll(query)].map(read);
  const files = new DataTransfer();
  files.items.add(new File(['no picture'], 'x.png', {type: 'image/png'}));
  document.dispatchEvent(new DragEvent('drop', {dataTransfer: files}));
  const check = () => !problem.textContent ? setTimeout(check, 50) : resolve([
    all('#bars span:first-child', (span) => span.textContent),
    all('.percent', (span) => parseFloat(span.textContent)),
    all('h3', (head) => head.firstChild.textContent).join(' '),
    [all('#evidence figure', String).length, all('img', String).length],
    problem.textContent]);
  check();
})"""


@pytest.mark.slow
@needs_browser
def test_the_page_in_a_browser(tmp_path):
  hostile = '</script><img src=x onerror="document.title=1"><!--'
  folder = synthetic_records.make_three_classes(tmp_path, size=40, channels=1)
  data = datasets.describe(Settings(data_dir=folder))
  data = data._replace(classes=(hostile, '$script', '고양이'))
  frozen, page = exported(tmp_path, data)
  path = tmp_path / 'x.html'
  path.write_text(page, encoding='utf-8')
  profile = tmp_path / 'profile'
  with browser.Browser(profile, '--lang=en', '--accept-lang=en') as chromium:
    chromium.open(
        path.as_uri(), 'document.querySelector("#evidence figure") &&'
        '!document.body.classList.contains("busy")')
    names, shares, layers, counts, problem = chromium.evaluate(_DROP_AND_READ)
    assert chromium.messages == []  # No errors, nothing forbidden.
  assert names == list(data.classes) and counts == [8, 0]
  image = synthetic_records.images_of(data.test_records()[:1], data.layout)
  (expected,) = graphs.run_frozen(frozen, {'images': image})
  np.testing.assert_allclose(shares, 100 * expected, atol=0.16)
  assert layers == ('conv1 pool1 norm1 conv2 norm2 pool2 local3 local4 '
                    'softmax_linear')
  assert problem == 'This file is not a picture that the browser can read.'


def test_an_unknown_operation_is_refused(tmp_path):
  data = datasets.in_folder('nowhere')
  path, _ = random_models.save(tmp_path, data, top_layers='local')
  target = tmp_path / 'made' / 'x.html'
  config = Settings(checkpoint=path, top_layers='local', html=str(target),
                    frozen_graph=str(tmp_path / 'x.pb'))
  before = sorted(os.listdir(str(tmp_path)))
  with pytest.raises(UserError) as info:
    cifar10_export.export(config)
  assert re.fullmatch(
      '--html=%s: the page cannot compute local3/transpose, of type Transpose; '
      'expected Abs, .*' % re.escape(str(target)), str(info.value))
  assert sorted(os.listdir(str(tmp_path))) == before


@needs_script
@pytest.mark.slow
@pytest.mark.parametrize('name, tolerance', [('tutorial', 2e-5),
                                             ('fast', 3e-3)])
def test_models_of_the_package(tmp_path, monkeypatch, name, tolerance):
  data = datasets.describe(Settings(dataset='sample'))
  images = synthetic_records.images_of(data.test_records()[:100])
  picture_folders.write_pngs(tmp_path / 'images', images)
  model = '--checkpoint_dir=pretrained:' + name
  out = short_runs.output('cifar10_predict', model, '--json',
                          '--precision=float32', tmp_path / 'images',
                          errors=processes.ANY)
  expected = {
      int(os.path.basename(answer['file'])[:-4]): answer['probabilities']
      for answer in map(json.loads, out.splitlines())
  }
  expected = [[expected[i][c] for c in data.classes] for i in range(100)]
  target, frozen = tmp_path / 'x.html', tmp_path / 'x.pb'
  out = short_runs.output('cifar10_export', model, '--html=%s' % target,
                          '--frozen_graph=%s' % frozen)
  assert 'Web page: %s' % target in out
  found = by_page(tmp_path, target.read_text(encoding='utf-8'), images)
  np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
  if name == 'fast':  # Only its rounded weights make a difference.
    monkeypatch.setattr(model_page, '_WEIGHTS', np.float32)
    settings = Settings(html='x.html', image_size=32, standardization='fixed')
    page = model_page.render(graphs.read_frozen(frozen), data, 7, settings)
    found = by_page(tmp_path, page.decode('utf-8'), images)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)
