"""Labeling pictures: the evaluator's answers, and the output."""

import json
import os

import numpy as np
from PIL import Image
import pytest

from cifar10 import cifar10_export
from cifar10 import cifar10_predict
from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.data.records import layout_for
from cifar10.errors import UserError
from tests import picture_folders
from tests import processes
from tests import short_runs
from tests import synthetic_records

COUNT = 100  # Test images of the sample that are labeled.


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
  """A directory with a short run on the sample."""
  folder = tmp_path_factory.mktemp('trained')
  short_runs.trained(folder)
  return folder


@pytest.fixture(scope='module')
def exported(tmp_path_factory):
  """A folder with the first COUNT test images of the sample as PNG files."""
  folder = tmp_path_factory.mktemp('exported')
  for index, image in enumerate(short_runs.sample_images(COUNT)):
    picture_folders.save(folder / ('%03d.png' % index), image)
  return folder


def predict(folder, capsys, names, **changes):
  """Labels pictures; returns the lines of the output and the error output."""
  capsys.readouterr()
  config = short_runs.small_config(folder, **changes)
  cifar10_predict.predict(config, [str(name) for name in names])
  out, err = capsys.readouterr()
  assert 'Model: ' in err
  return out.splitlines(), processes.without_model(err).splitlines()


@pytest.mark.parametrize('averages', [True, False])
def test_answers_are_those_of_the_evaluator(trained, exported, capsys,
                                            averages):
  changes = {'batch_size': COUNT, 'use_moving_averages': averages}
  config = short_runs.small_config(trained, **changes)
  correct, expected = short_runs.evaluated(config)
  for batch_size in (7, COUNT):
    changes['batch_size'] = batch_size
    lines, err = predict(trained, capsys, [exported], json=True, **changes)
    answers = [json.loads(line) for line in lines]
    assert err == []
    assert [a['file'] for a in answers
           ] == [str(exported / ('%03d.png' % i)) for i in range(COUNT)]
    found = np.array([list(a['probabilities'].values()) for a in answers])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert list(answers[0]['probabilities']) == list(datasets.CLASSES)
    classes = [datasets.CLASSES.index(a['class']) for a in answers]
    assert classes == expected.argmax(axis=1).tolist()
  data = short_runs.prepared(config)
  labels = np.fromfile(data.test_files[0], np.uint8)[::3073][:COUNT]
  np.testing.assert_array_equal(labels == classes, correct)
  assert 0 < correct.sum() < COUNT


@pytest.mark.parametrize('top_k, shown', [(1, 1), (None, 3), (99, 10)])
def test_a_line_names_the_most_probable_classes(trained, exported, capsys,
                                                top_k, shown):
  names = [exported / '005.png', exported / '002.png']
  lines, _ = predict(trained, capsys, names, top_k=top_k)
  objects, _ = predict(trained, capsys, names, json=True)
  assert len(lines) == len(objects) == 2
  for name, line, answer in zip(names, lines, map(json.loads, objects)):
    ordered = sorted(answer['probabilities'].items(), key=lambda item: -item[1])
    assert ordered[0][0] == answer['class']
    expected = ['%s %.1f %%' % (n, 100 * p) for n, p in ordered[:shown]]
    assert line == '%s: %s' % (name, ', '.join(expected))


def test_broken_pictures_are_named_and_the_others_are_labeled(
    trained, exported, capsys):
  names = ['gone.png', exported / '001.png', __file__, exported / '002.png']
  expected, _ = predict(trained, capsys, names[1::2])
  for batch_size in (1, 128):
    with pytest.raises(UserError, match='^2 of 4 pictures could not be read$'):
      predict(trained, capsys, names, batch_size=batch_size)
    out, err = capsys.readouterr()
    assert out.splitlines() == expected
    assert [line.split(':')[0] for line in err.splitlines()
           ] == ['Model', 'gone.png', __file__]


def test_a_sheet_shows_the_pictures_that_could_be_read(trained, exported,
                                                       tmp_path, capsys):
  path = tmp_path / 'sheet.png'
  names = [exported / ('%03d.png' % i) for i in range(5)] + [__file__]
  with pytest.raises(UserError, match='^1 of 6'):
    predict(trained, capsys, names, grid=str(path))
  sheet = np.asarray(Image.open(str(path)))
  assert 3 * 128 < sheet.shape[1] < 3.5 * 128
  assert 2 * (128 + 4 * 10) < sheet.shape[0] < 2 * (128 + 5 * 20)
  # The sixth place is empty.
  place = sheet[sheet.shape[0] // 2 + 10:, 2 * sheet.shape[1] // 3 + 10:]
  assert (place == 255).all()


def test_a_name_cannot_forge_an_answer(trained, exported, tmp_path, capsys):
  name = 'x\nfake.png: cat 99.9 %\x1b[2J'
  content = (exported / '001.png').read_bytes()
  (tmp_path / (name + '.png')).write_bytes(content)
  (tmp_path / (name + '.jpg')).write_bytes(b'')
  escaped = '%s/x\\nfake.png: cat 99.9 %%\\x1b[2J' % tmp_path
  for json_too in (False, True):
    with pytest.raises(UserError, match='^1 of 2'):
      predict(trained, capsys, [tmp_path], json=json_too)
    out, err = capsys.readouterr()
    err = processes.without_model(err)
    assert out.count('\n') == err.count('\n') == 1
    assert err.startswith(escaped + '.jpg: not a picture')
    if json_too:
      assert json.loads(out)['file'] == '%s/%s.png' % (tmp_path, name)
    else:
      assert out.startswith(escaped + '.png: ')


def test_an_export_answers_like_its_run(trained, exported, tmp_path):
  model = tmp_path / 'model'
  cifar10_export.export(short_runs.small_config(trained, export_dir=str(model)))
  # Without the run's settings: what it knows is in the export.
  names = [str(exported / ('%03d.png' % i)) for i in range(9)]
  answers = {}
  for folder in (model, trained / 'train'):
    status, out, err = call(['--json', '--checkpoint_dir=%s' % folder, *names])
    assert (status, err) == (0, '')
    answers[folder.name] = [json.loads(line) for line in out.splitlines()]
  for found, expected in zip(answers['model'], answers['train']):
    assert list(found['probabilities']) == list(expected['probabilities'])
    np.testing.assert_allclose(list(found['probabilities'].values()),
                               list(expected['probabilities'].values()),
                               rtol=1e-4, atol=1e-6)
    assert found['file'] == expected['file']


def test_the_warning_about_missing_averages_is_not_in_the_output(
    trained, exported, tmp_path, capsys):
  short_runs.copy_without_averages(trained / 'train', tmp_path / 'train')
  lines, err = predict(tmp_path, capsys, [exported])
  assert len(err) == 1 and 'holds no moving averages' in err[0]
  plain = predict(trained, capsys, [exported], use_moving_averages=False)
  assert (lines, []) == plain


def call(arguments, stdin=os.devnull):
  """Runs the program; returns its status, output and errors."""
  with open(str(stdin), 'rb') as content:
    status, out, err = processes.run(
        [short_runs.script('cifar10_predict'), *arguments], stdin=content)
  return status, out, processes.without_model(err)


def test_a_process(trained, exported, tmp_path):
  flag = '--checkpoint_dir=%s' % (trained / 'train')
  stdin = exported / '001.png'
  odd = os.fsencode(str(tmp_path)) + b'/no text \xff.png'
  with open(odd, 'wb') as picture:
    picture.write(stdin.read_bytes())
  (tmp_path / 'z.jpg').write_bytes(b'\xff\xd8\xff' + bytes(99))
  # Flags may follow names.
  status, out, err = call(['-', flag, str(tmp_path), '--top_k=2'], stdin)
  assert status == 1
  piped, named = out.splitlines()
  assert piped.startswith('-: ') and piped.count('%') == 2
  assert named == '%s/no text \\udcff.png%s' % (tmp_path, piped[1:])
  broken, summary = err.splitlines()
  assert broken.startswith('%s: ' % (tmp_path / 'z.jpg'))
  assert summary == (
      'cifar10_predict: error: 1 of 3 pictures could not be read')


@pytest.mark.parametrize('arguments, problem', [
    ([], 'error: no arguments: no pictures found; expected files, '),
    (['--network=tutorial', '--columns=2', 'a.png'],
     'with --normalization=batch'),
])  # yapf: disable
def test_a_process_says_what_it_expects(arguments, problem):
  status, out, err = call(['--checkpoint_dir=pretrained:fast', *arguments])
  assert (status, out, err.count('\n')) == (1, '', 1)
  assert problem in err


@pytest.mark.slow
def test_the_data_set_is_that_of_the_run_unless_a_flag_names_another(
    tmp_path, exported):
  data_dir = synthetic_records.make_three_classes(tmp_path, 16, 1)
  config = short_runs.small_config(tmp_path, dataset='cifar10',
                                   data_dir=data_dir, max_steps=2)
  cifar10_train.train(config)
  layout = layout_for(16, 1, 'abc')
  records = np.fromfile(os.path.join(data_dir, 'test.bin'), np.uint8)
  records = records.reshape(-1, layout.record_bytes)[:16]
  flag = '--checkpoint_dir=%s' % config.train_dir
  picture_folders.write_pngs(tmp_path / 'in',
                             synthetic_records.images_of(records, layout))
  names = [str(tmp_path / 'in' / ('%d.png' % i)) for i in range(16)]
  status, out, err = call([flag, '--json', *names])
  assert (status, err) == (0, '')
  answers = [json.loads(line) for line in out.splitlines()]
  for answer in answers:
    assert list(answer['probabilities']) == ['a', 'b', 'c']
  # As the evaluator finds for gray images of 16 x 16 pixels.
  _, expected = short_runs.evaluated(config)
  found = [list(answer['probabilities'].values()) for answer in answers]
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
  picture = str(exported / '001.png')
  status, out, err = call([flag, picture, '--dataset=sample'])
  assert (status, out) == (1, '')
  assert 'the model was trained on a, b, c' in err
  assert err.count('\n') == 1
