"""Data sets on disk: files, classes, checks, and what is fetched."""

import dataclasses
import json
import os

import numpy as np
from PIL import Image
import pytest

from cifar10 import cifar10_train
from cifar10.data import datasets
from cifar10.data import download
from cifar10.data import records as records_lib
from cifar10.data.records import Layout
from cifar10.errors import UserError
from cifar10.settings import Settings
from cifar10.store import checkpoints
from cifar10.util import commands
from tests import processes
from tests import short_runs
from tests import synthetic_records


def test_complete_data_is_used_without_a_network(tmp_path):
  folder = synthetic_records.make_folder(tmp_path, per_file=20)
  before = sorted(os.listdir(str(tmp_path)))
  # Nor is anything written.
  for path in (folder, tmp_path):
    path.chmod(0o555)
    os.utime(str(path), (1, 1))
  try:
    data = short_runs.prepared(
        Settings(data_dir=str(tmp_path), data_url='nowhere'))
    assert folder.stat().st_mtime == tmp_path.stat().st_mtime == 1
  finally:
    for path in (tmp_path, folder):
      path.chmod(0o755)
  assert [os.path.basename(f) for f in data.train_files
         ] == ['data_batch_%d.bin' % i for i in range(1, 6)]
  assert data.test_files == (str(folder / 'test_batch.bin'),)
  assert data.count(data.files('train_eval')) == 100
  assert data.count(data.files('test')) == 20
  assert data == datasets.DataSet(data.train_files, data.test_files)
  assert sorted(os.listdir(str(tmp_path))) == before


def test_missing_data_is_fetched_once(tmp_path):
  folder = synthetic_records.make_folder(tmp_path / 'mirror', per_file=3)
  (folder / 'batches.meta.txt').write_text('\n'.join(datasets.CLASSES))
  (folder / 'more.txt').write_text('more')
  archive = tmp_path / 'mirror.tar.gz'
  config = Settings(data_dir=str(tmp_path / 'data'),
                    data_url='file://%s' % archive,
                    data_sha256=synthetic_records.make_archive(archive, folder))
  data = short_runs.prepared(config)
  (folder / 'more.txt').unlink()  # Not one of CIFAR-10's files.
  made = tmp_path / 'data' / 'cifar-10-batches-bin'
  assert data.test_files == (str(made / 'test_batch.bin'),)
  assert sorted(os.listdir(str(made))) == sorted(os.listdir(str(folder)))
  for name in os.listdir(str(folder)):
    assert (made / name).read_bytes() == (folder / name).read_bytes()
  assert data.count(data.train_files) == 15
  # Later calls need neither the address nor the archive.
  archive.unlink()
  (tmp_path / 'data' / 'cifar-10-binary.tar.gz').unlink()
  assert short_runs.prepared(config) == data


@pytest.mark.parametrize('names', [('cats/1.png', 'dogs/2.JPG'),
                                   ('train/a/1.png', 'test/a/1.jpeg')])
def test_folders_of_pictures_are_no_data_set(tmp_path, names):
  for name in names:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
  (tmp_path / 'labels.txt').touch()
  (tmp_path / '.hidden').mkdir()
  config = Settings(data_dir=str(tmp_path), data_url='file:///nowhere')
  with pytest.raises(UserError) as raised:
    short_runs.prepared(config)
  make = commands.command('cifar10_make_dataset')
  assert f'To make one: {make} {tmp_path} --out=/' in str(raised.value)
  # Beside other folders, such as those of a home, the data is fetched.
  (tmp_path / 'other').mkdir()
  with pytest.raises(UserError, match='nowhere'):
    short_runs.prepared(config)


@pytest.mark.parametrize(
    'own, advice', [(False, 'Without its folder, the data is fetched again'),
                    (True, 'Expected all files of cifar-10-batches-bin there')])
def test_a_missing_file_is_named(tmp_path, own, advice):
  folder = synthetic_records.make_folder(tmp_path)
  if own:  # A folder of any name may hold the files.
    folder.rename(tmp_path / 'mine')
    folder = tmp_path / 'mine'
  path = folder / 'data_batch_2.bin'
  data_dir = str(folder if own else tmp_path)
  config = Settings(data_dir=data_dir, data_url='nowhere')
  assert str(path) in short_runs.prepared(config).train_files
  path.unlink()
  with pytest.raises(UserError, match=f'^{path}: no such file. {advice}$'):
    short_runs.prepared(config)


def test_a_warning_names_a_public_data_set_that_is_not_complete(
    tmp_path, capsys):
  folder = tmp_path / 'cifar-10-batches-bin'
  folder.mkdir()
  names = [f'data_batch_{i}.bin' for i in range(1, 6)] + ['test_batch.bin']
  missing = 'images of automobile, bird, cat, ... (9)'
  no_images = f'found no training {missing} and no test {missing}.'
  # The number of records in the third file and in the last one.
  for third, last, found in ((10000, 10000, None),
                             (7000, 10000, '47,000 training and 10,000'),
                             (10000, 10001, '50,000 training and 10,001')):
    for name, count in zip(names, [10000, 10000, third, 10000, 10000, last]):
      with open(str(folder / name), 'wb') as file:
        file.truncate(count * 3073)  # Zeros, which take no room.
    short_runs.prepared(Settings(data_dir=str(tmp_path)))
    expected = [no_images]
    if found:
      expected.insert(0, f'found {found} test records; the official data ')
      expected.append(f'{last:,} of {last:,} test images are also training ')
    _, *printed = capsys.readouterr().out.split(f'WARNING: {folder}: ')
    assert len(printed) == len(expected)
    assert all(map(str.startswith, printed, expected))


# Labels of the training and of the test images, number of test images that are
# also training images, and the warnings.
@pytest.mark.parametrize('train, test, copies, expected', [
    ([0, 1, 2] * 4, [0, 1, 2], 0, []),
    ([1, 2] * 4, [1, 2], 0,
     ['found no training images of a and no test images of a']),
    ([1] * 8, [0, 1, 2], 0, ['found no training images of a, c']),
    ([0, 1, 2], [2, 2], 0, ['found no test images of a, b']),
    ([0, 1, 2] * 9, [0, 1, 2] * 9, 19, [
        '19 of 27 test images are also training images; precision on them says '
        'nothing about new images'
    ]),
    ([0] * 48 + [1] * 5 + [2] * 10, [0, 1, 2], 0, [
        'found 48 training images of a and 5 of b; a model seldom recognizes '
        'such a rare class'
    ]), ([0] * 4 + [1], [0, 1, 2], 0, ['found no training images of c']),
])
def test_warnings_of_data_that_cannot_be_learned_from(tmp_path, capsys, train,
                                                      test, copies, expected):
  config = synthetic_records.make_own_dataset(tmp_path)
  layout = Layout(8, 8, 1)
  made = [
      synthetic_records.make_records(labels, seed, layout)
      for seed, labels in enumerate((train, test))
  ]
  # Their labels do not matter.
  made[1][:copies, 1:] = made[0][:copies, 1:][::-1]
  for name, part in zip(('train.bin', 'test.bin'), made):
    (tmp_path / name).write_bytes(part.tobytes())
  short_runs.prepared(config)
  assert capsys.readouterr().out.splitlines() == [
      f'WARNING: {tmp_path}: {line}.' for line in expected
  ]


def test_classes_are_sought_among_the_images_that_are_trained_on(
    tmp_path, capsys):
  data_dir = synthetic_records.make_three_classes(tmp_path)
  short_runs.prepared(Settings(data_dir=data_dir, labelled_examples=2))
  assert capsys.readouterr().out == (
      f'WARNING: {data_dir}: found no training images of c.\n')


@pytest.mark.parametrize('text', [
    'red\ngreen\nlight blue\nyellow\n\n',
    '\ufeffred\r\ngreen\r\nlight blue\r\nyellow'
])
def test_classes_in_the_files_of_cifar10_have_the_names_there(tmp_path, text):
  folder = synthetic_records.make_folder(tmp_path)
  for path in folder.iterdir():
    records = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, 3073)
    path.write_bytes(records[records[:, 0] < 4].tobytes())
  config = Settings(data_dir=str(tmp_path))
  assert short_runs.prepared(config).classes == datasets.CLASSES
  names = folder / 'batches.meta.txt'
  names.write_bytes(text.encode('utf-8'))
  classes = ('red', 'green', 'light blue', 'yellow')
  assert short_runs.prepared(config).classes == classes
  # A run from before the names were read.
  with pytest.raises(UserError, match='trained on airplane, automobile, bird,'):
    datasets.describe(dataclasses.replace(config, classes=datasets.CLASSES))
  names.write_text('red\ngreen\nblue')
  with pytest.raises(UserError, match='has label 3; expected labels 0 to 2'):
    short_runs.prepared(config)


@pytest.mark.parametrize(
    'text, problem',
    [(b'', 'found no names; expected two or more classes, each once'),
     (b'red\n', 'found red; expected two or more'),
     (b'red\ngreen\nred', 'found red, green, red; expected'),
     (b'a b \xff', 'not UTF-8: .* 0xff')])
def test_names_of_classes_are_checked(tmp_path, text, problem):
  names = synthetic_records.make_folder(tmp_path) / 'batches.meta.txt'
  names.write_bytes(text)
  with pytest.raises(UserError, match=f'^{names}: {problem}'):
    datasets.describe(Settings(data_dir=str(tmp_path)))


def test_data_dir_may_be_the_folder_of_the_records(tmp_path, monkeypatch):
  monkeypatch.setattr(download, 'fetch_into', None)  # Not to be called.
  made = {'cifar10': synthetic_records.make_folder(tmp_path)}
  made['cifar100'] = tmp_path / 'cifar-100-binary'
  make_cifar100(made['cifar100'])
  made['svhn'] = tmp_path / 'svhn'
  made['svhn'].mkdir()
  synthetic_records.make_own_dataset(made['svhn'])
  for name, folder in made.items():
    config = Settings(dataset=name, data_dir=str(tmp_path))
    data = short_runs.prepared(config)
    for path in (str(folder), str(folder) + '/'):
      inside = short_runs.prepared(dataclasses.replace(config, data_dir=path))
      assert ([os.path.realpath(p) for p in inside.train_files
              ] == list(data.train_files))
      assert inside.classes == data.classes


@pytest.mark.parametrize(
    'dataset, name, binary',
    [('cifar10', 'cifar-10-batches-py', 'cifar-10-batches-bin'),
     ('cifar100', 'cifar-100-python', 'cifar-100-binary'),])
@pytest.mark.parametrize('is_inside', [True, False])
def test_the_python_version_is_not_what_is_read(tmp_path, capsys, dataset, name,
                                                binary, is_inside):
  folder = tmp_path / name
  folder.mkdir()
  data_dir = str(tmp_path if is_inside else folder)
  config = Settings(dataset=dataset, data_dir=data_dir,
                    data_url='file:///nowhere')
  with pytest.raises(UserError, match='cannot fetch file:///nowhere'):
    short_runs.prepared(config)
  assert capsys.readouterr().out == (
      f'--data_dir={data_dir}: found the Python version, {name}; the programs '
      f'read the binary version, {binary}.\n')


def test_a_model_is_not_used_with_other_classes(tmp_path, monkeypatch):
  config = synthetic_records.make_own_dataset(tmp_path)
  own = dataclasses.replace(config, classes=('a', 'b', 'c'))
  assert short_runs.prepared(own) == datasets.describe(own)
  monkeypatch.setattr(download, 'fetch_into', None)  # Not to be called.
  renamed = dataclasses.replace(own, classes=('a', 'b', 'd'))
  # The folder of the data set is gone: CIFAR-10 is not fetched in its place.
  gone = dataclasses.replace(own, data_dir=str(tmp_path / 'no'))
  empty = dataclasses.replace(own, data_dir=str(tmp_path / 'empty'))
  (tmp_path / 'empty').mkdir()
  for other, problem in (
      (renamed, 'found the classes a, b, c; the model was trained on a, b, d$'),
      (gone, 'there is no such folder, so this is CIFAR-10; found the classes '
       r'airplane, automobile, bird, ... \(10\); .* trained on a, b, c$'),
      (empty, 'is CIFAR-10, as there is no dataset.json; found the classes')):
    for function in (datasets.describe, short_runs.prepared):
      with pytest.raises(UserError, match=f'{other.data_dir}: {problem}'):
        function(other)
  assert not (tmp_path / 'no').exists()
  # If the classes of a model are unknown, any will do.
  datasets.check_fits(datasets.describe(config), config)


def test_files_that_do_not_match_their_description_are_named(tmp_path):
  train, test = ({'files': [n + '.bin'], 'count': 2} for n in ('train', 'test'))
  config = synthetic_records.make_own_dataset(tmp_path, train=train, test=test)
  assert short_runs.prepared(config).counts == (2, 2)
  path = tmp_path / 'test.bin'
  records = path.read_bytes()
  path.write_bytes(records + records[:65])
  with pytest.raises(UserError, match=f'^{path}: found 3 records; expected 2,'):
    short_runs.prepared(config)


def make_cifar100(folder):
  """Makes a mirror of CIFAR-100; returns its Config, and records by file."""
  folder.mkdir(parents=True)
  layout = Layout(label_bytes=2)
  made = {}
  for seed, (name, count) in enumerate((('train.bin', 200), ('test.bin', 100))):
    records = synthetic_records.make_records(
        np.arange(count) % 20, seed, layout)
    records[:, 1] = np.arange(count) % 100
    (folder / name).write_bytes(records.tobytes())
    made[name] = records
  for kind, count in (('fine', 100), ('coarse', 20)):
    lines = ['%s_%d' % (kind, i) for i in range(count)] + ['']
    path = folder / (kind + '_label_names.txt')
    path.write_text('\n'.join(lines) + '\n')  # The official ones end so.
  archive = folder.parent / 'mirror.tar.gz'
  config = Settings(dataset='cifar100', data_dir=str(folder.parent / 'data'),
                    data_url='file://%s' % archive,
                    data_sha256=synthetic_records.make_archive(archive, folder))
  return config, made


def test_cifar100_has_fine_and_coarse_labels(tmp_path, capsys):
  config, made = make_cifar100(tmp_path / 'cifar-100-binary')
  fine = short_runs.prepared(config)
  assert capsys.readouterr().out.endswith(
      'found 200 training and 100 test records; the official data set has '
      '50,000 and 10,000.\n')
  # A dataset.json in --data_dir does not matter: --dataset names CIFAR-100.
  (tmp_path / 'data' / 'dataset.json').write_text('{}')
  coarse = short_runs.prepared(
      dataclasses.replace(config, cifar100_labels='coarse', data_url='nowhere'))
  folder = tmp_path / 'data' / 'cifar-100-binary'
  assert fine.train_files == coarse.train_files == (str(folder / 'train.bin'),)
  assert fine.test_files == coarse.test_files == (str(folder / 'test.bin'),)
  assert fine.classes == tuple('fine_%d' % i for i in range(100))
  assert coarse.classes == tuple('coarse_%d' % i for i in range(20))
  assert fine.flip and coarse.flip
  assert fine.count(fine.train_files) == 200
  for data, at in ((fine, 1), (coarse, 0)):
    assert data.layout == Layout(label_bytes=2, label_at=(at,))
    records = np.fromfile(data.test_files[0], np.uint8).reshape(-1, 3074)
    np.testing.assert_array_equal(records, made['test.bin'])
    labels = records_lib.labels(records, data.layout)
    np.testing.assert_array_equal(labels, records[:, at])


def test_a_public_data_set_is_described_after_it_is_fetched(tmp_path):
  synthetic_records.make_own_dataset(tmp_path)  # Not taken for it.
  for name, folder in (('cifar100', 'cifar-100-binary'), ('svhn', 'svhn')):
    config = Settings(dataset=name, data_dir=str(tmp_path))
    with pytest.raises(
        UserError, match='%s: no such folder; to fetch it: .* '
        '--dataset=%s --data_dir=' % (folder, name)):
      datasets.describe(config)


def test_cifar100_is_checked(tmp_path):
  config, _ = make_cifar100(tmp_path / 'cifar-100-binary')
  data = short_runs.prepared(config)
  with open(data.train_files[0], 'r+b') as file:
    file.seek(3074 * 7)
    file.write(b'\x14')
  short_runs.prepared(config)  # Only the coarse label is wrong.
  coarse = dataclasses.replace(config, cifar100_labels='coarse')
  with pytest.raises(UserError, match='record 7 has label 20; .* 0 to 19'):
    short_runs.prepared(coarse)
  names = tmp_path / 'data' / 'cifar-100-binary' / 'coarse_label_names.txt'
  names.write_text('a\nb\nc')
  with pytest.raises(UserError, match='names.txt: found 3 names; expected 20'):
    short_runs.prepared(coarse)
  names.unlink()
  with pytest.raises(UserError, match='names.txt: no such file; expected 20 '):
    short_runs.prepared(coarse)


@pytest.mark.slow
def test_a_run_on_cifar100_remembers_its_labels(tmp_path):
  config, made = make_cifar100(tmp_path / 'cifar-100-binary')
  train_dir = tmp_path / 'train'
  cifar10_train.train(
      dataclasses.replace(config, cifar100_labels='coarse',
                          train_dir=str(train_dir), batch_size=4, max_steps=1))
  shapes = checkpoints.shapes(str(train_dir / 'model.ckpt-1'))
  assert shapes['softmax_linear/biases'] == [20]
  (image,) = synthetic_records.images_of(made['test.bin'][:1],
                                         Layout(label_bytes=2))
  picture = str(tmp_path / 'x.png')
  Image.fromarray(image).save(picture)
  moved = str(tmp_path / 'moved')
  os.rename(config.data_dir, moved)
  # Without --dataset and --cifar100_labels, which the run has saved.
  out = processes.output([
      short_runs.script('cifar10_predict'), picture, '--json',
      '--data_dir=' + moved,
      '--checkpoint_dir=%s' % train_dir
  ], errors=processes.MODELS)
  assert list(
      json.loads(out)['probabilities']) == ['coarse_%d' % i for i in range(20)]
