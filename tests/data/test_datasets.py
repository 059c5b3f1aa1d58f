"""Data sets on disk: what is there, what is checked, and the sample."""

import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
from PIL import Image
import pytest

from cifar10.training import checkpoints
from cifar10.data import datasets
from cifar10.config import Config
from cifar10.errors import UserError
from tests import records as records_lib
from tests import short_runs

REAL = os.path.join(Config().data_dir, 'cifar-10-batches-bin')


def error_of(path, **kwargs):
  with pytest.raises(UserError) as info:
    datasets.check_file(str(path), **kwargs)
  message = str(info.value)
  assert message.startswith(str(path) + ': ') and '\n' not in message
  return message


def test_complete_data_is_used_without_a_network(tmp_path):
  folder = records_lib.make_folder(tmp_path, per_file=20)
  before = sorted(os.listdir(str(tmp_path)))
  # Nor is anything written.
  for path in (folder, tmp_path):
    path.chmod(0o555)
    os.utime(str(path), (1, 1))
  try:
    data = datasets.prepare(Config(data_dir=str(tmp_path), data_url='nowhere'))
    assert folder.stat().st_mtime == tmp_path.stat().st_mtime == 1
  finally:
    for path in (tmp_path, folder):
      path.chmod(0o755)
  assert [os.path.basename(f) for f in data.train_files] == [
    'data_batch_%d.bin' % i for i in range(1, 6)
  ]
  assert data.test_files == (str(folder / 'test_batch.bin'),)
  assert data.count(data.files('train_eval')) == 100
  assert data.count(data.files('test')) == 20
  assert len(data.classes) == 10
  assert sorted(os.listdir(str(tmp_path))) == before


def test_what_is_not_there_is_fetched_once(tmp_path):
  folder = records_lib.make_folder(tmp_path / 'mirror', per_file=3)
  (folder / 'batches.meta.txt').write_text('airplane')
  (folder / 'more.txt').write_text('more')
  archive = tmp_path / 'mirror.tar.gz'
  config = Config(
    data_dir=str(tmp_path / 'data'),
    data_url='file://%s' % archive,
    data_sha256=records_lib.make_archive(archive, folder),
  )
  data = datasets.prepare(config)
  (folder / 'more.txt').unlink()  # Is none of CIFAR-10's files.
  made = tmp_path / 'data' / 'cifar-10-batches-bin'
  assert data.test_files == (str(made / 'test_batch.bin'),)
  assert sorted(os.listdir(str(made))) == sorted(os.listdir(str(folder)))
  for name in os.listdir(str(folder)):
    assert (made / name).read_bytes() == (folder / name).read_bytes()
  assert data.count(data.train_files) == 15
  # Later calls need neither the address nor the archive beside the folder.
  archive.unlink()
  (tmp_path / 'data' / 'cifar-10-binary.tar.gz').unlink()
  assert datasets.prepare(config) == data


def test_an_archive_that_was_put_there_is_unpacked(tmp_path):
  folder = records_lib.make_folder(tmp_path / 'mirror', per_file=3)
  (tmp_path / 'data').mkdir()
  archive = tmp_path / 'data' / 'cifar-10-binary.tar.gz'
  sha256 = records_lib.make_archive(archive, folder)
  config = Config(
    data_dir=str(tmp_path / 'data'), data_url='nowhere', data_sha256=sha256
  )
  data = datasets.prepare(config)
  assert data.count(data.train_files + data.test_files) == 18


def test_counts_are_of_the_files_given(tmp_path):
  path = tmp_path / 'x.bin'
  with open(str(path), 'wb') as sparse:
    sparse.truncate(10000 * 3073)
  data = datasets.in_folder(str(tmp_path), ['x.bin'], ['x.bin', 'x.bin'])
  assert data.count([]) == 0
  assert data.count(data.files('train_eval')) == 10000
  assert data.count(data.files('test')) == 20000


@pytest.mark.parametrize('name', ['data_batch_4.bin', 'test_batch.bin'])
def test_every_file_is_checked(tmp_path, name):
  folder = records_lib.make_folder(tmp_path)
  (folder / name).write_bytes(b'x' * 3072)
  with pytest.raises(UserError, match=name + ': found 3,072 bytes'):
    datasets.prepare(Config(data_dir=str(tmp_path)))


def test_a_missing_file_is_named(tmp_path):
  folder = records_lib.make_folder(tmp_path)
  (folder / 'data_batch_2.bin').unlink()
  with pytest.raises(UserError, match='data_batch_2.bin: no such file'):
    datasets.prepare(Config(data_dir=str(tmp_path), data_url='nowhere'))


def test_damaged_files_are_told_with_what_was_found_and_expected(tmp_path):
  path = tmp_path / 'x.bin'
  records = records_lib.make_records(np.arange(30) % 10)
  whole = 'expected a whole number of 3,073-byte records'
  path.write_bytes(b'')
  assert error_of(path).endswith('the file is empty; ' + whole)
  path.write_bytes(records.tobytes()[:-1])
  assert error_of(path).endswith('found 92,189 bytes; ' + whole)
  records[17, 0] = 10
  path.write_bytes(records.tobytes())
  assert error_of(path).endswith(
    'record 17 has label 10; expected labels 0 to 9'
  )
  assert error_of(path, num_classes=3).endswith(
    'record 3 has label 3; expected labels 0 to 2'
  )
  records[17, 0] = 9
  path.write_bytes(records.tobytes())
  datasets.check_file(str(path))


def test_a_layout_of_two_label_bytes_takes_the_last(tmp_path):
  layout = datasets.Layout(4, 4, 1, label_bytes=2, label_at=(1,))
  assert layout.record_bytes == 18
  records = records_lib.make_records([1, 2], layout=layout)
  records[:, 0] = 255  # The first label byte is not the label.
  path = tmp_path / 'x.bin'
  path.write_bytes(records.tobytes())
  datasets.check_file(str(path), layout, 3)
  error_of(path, layout=layout, num_classes=2)


def test_the_sample_needs_nothing_and_is_balanced(tmp_path):
  config = Config(dataset='sample', data_dir=str(tmp_path / 'none'))
  data = datasets.prepare(config)
  assert data.count(data.train_files) == 1000
  assert data.count(data.test_files) == 500
  for files, per_class in ((data.train_files, 100), (data.test_files, 50)):
    records = np.fromfile(files[0], np.uint8).reshape(-1, 3073)
    assert np.bincount(records[:, 0]).tolist() == [per_class] * 10
    assert len(np.unique(records, axis=0)) == len(records)
  assert os.listdir(str(tmp_path)) == []


def test_a_sample_does_not_depend_on_the_order(tmp_path, monkeypatch):
  make_sample = short_runs.load_script(monkeypatch, 'make_sample')
  records = records_lib.make_records(np.arange(60) % 10)
  paths = [str(tmp_path / name) for name in ('x.bin', 'y.bin')]
  records[:25].tofile(paths[0])
  records[25:].tofile(paths[1])
  taken = make_sample.sample(paths, 2)
  # By another road: of each class those of the smallest SHA-256.
  by_sha = sorted(
    (hashlib.sha256(record.tobytes()).digest(), record.tobytes())
    for record in records
  )
  expected = [
    record
    for k, (_, record) in enumerate(by_sha)
    if sum(earlier[0] == record[0] for _, earlier in by_sha[:k]) < 2
  ]
  assert len(expected) == 20 and taken == b''.join(expected)
  records = records[np.random.RandomState(0).permutation(60)]
  records[:40].tofile(paths[0])
  records[40:].tofile(paths[1])
  assert make_sample.sample(paths, 2) == taken


def test_a_sample_of_too_few_records_is_told(tmp_path, monkeypatch):
  make_sample = short_runs.load_script(monkeypatch, 'make_sample')
  path = tmp_path / 'x.bin'
  path.write_bytes(records_lib.make_records(np.arange(29) % 10).tobytes())
  with pytest.raises(UserError) as info:
    make_sample.sample([str(path)], 3)
  message = str(info.value)
  assert message.startswith('%s: found [3, 3, 3, 3, 3, 3, 3, 3, 3, 2]' % path)
  assert message.endswith('expected 3 of each') and '\n' not in message


@pytest.mark.skipif(not os.path.isdir(REAL), reason='needs ' + REAL)
def test_the_sample_comes_out_again_whatever_the_order(tmp_path):
  folder = tmp_path / 'permuted'
  folder.mkdir()
  random = np.random.RandomState(0)
  names = ['data_batch_%d.bin' % i for i in range(1, 6)]
  records = np.concatenate(
    [
      np.fromfile(os.path.join(REAL, n), np.uint8).reshape(-1, 3073)
      for n in names
    ]
  )
  parts = np.split(records[random.permutation(len(records))], 5)
  for name, part in zip(names, parts):
    (folder / name).write_bytes(part.tobytes())
  os.symlink(
    os.path.join(REAL, 'test_batch.bin'), str(folder / 'test_batch.bin')
  )
  subprocess.check_call(
    [
      sys.executable,
      os.path.join(short_runs.ROOT, 'scripts', 'make_sample.py'),
      str(folder),
      '--out=%s' % (tmp_path / 'sample'),
    ]
  )
  shutil.rmtree(str(folder))  # 150 MB, that pytest would keep.
  for name in ('data_batch_1.bin', 'test_batch.bin'):
    made = (tmp_path / 'sample' / name).read_bytes()
    path = os.path.join(short_runs.ROOT, 'cifar10', 'sample', name)
    with open(path, 'rb') as bundled:
      assert made == bundled.read(), name


def make_own(folder, **changes):
  """A folder of people's own pictures: 3 classes of 8 x 8 grey images."""
  classes = changes.get('classes', ['a', 'b', 'c'])
  layout = datasets.layout_for(8, 1, classes)
  records = records_lib.make_records([0, len(classes) - 1], layout=layout)
  (folder / 'train.bin').write_bytes(records.tobytes())
  (folder / 'test.bin').write_bytes(records.tobytes())
  value = {
    'classes': classes,
    'size': 8,
    'channels': 1,
    'flip': False,
    'train': {'files': ['train.bin']},
    'test': {'files': ['test.bin']},
  }
  value.update(changes)
  (folder / 'dataset.json').write_text(json.dumps(value))
  return Config(data_dir=str(folder))


def test_a_folder_that_says_what_it_is_needs_no_other_flag(tmp_path):
  data = datasets.prepare(make_own(tmp_path))
  assert data.train_files == (str(tmp_path / 'train.bin'),)
  assert data.classes == ('a', 'b', 'c')
  assert data.layout == datasets.Layout(8, 8, 1)
  assert not data.flip
  assert data.count(data.test_files) == 2


def test_a_model_is_not_used_with_other_classes(tmp_path):
  own = dataclasses.replace(make_own(tmp_path), classes=('a', 'b', 'c'))
  assert datasets.prepare(own) == datasets.describe(own)
  renamed = dataclasses.replace(own, classes=('a', 'b', 'd'))
  # A folder that has been moved away is not made anew, nor anything fetched.
  gone = dataclasses.replace(own, data_dir=str(tmp_path / 'no'))
  for config, message in (
    (renamed, 'found the classes a, b, c; the model was trained on a, b, d$'),
    (gone, 'data_dir=.*/no: found the classes airplane, .*trained on a, b, c$'),
  ):
    for function in (datasets.describe, datasets.prepare):
      with pytest.raises(UserError, match=message):
        function(config)
  assert not (tmp_path / 'no').exists()


def test_more_than_256_classes_have_two_bytes(tmp_path):
  classes = ['class %d' % i for i in range(1000)]
  data = datasets.prepare(make_own(tmp_path, classes=classes))
  assert data.layout == datasets.Layout(8, 8, 1, 2, (0, 1))
  records = np.fromfile(data.train_files[0], np.uint8).reshape(-1, 66)
  assert records[1, :2].tolist() == [3, 231]  # 999
  labels = data.layout.labels(records.astype(int))
  assert labels.tolist() == [0, 999]
  make_own(tmp_path, classes=classes)
  records[1, 0] = 4
  (tmp_path / 'test.bin').write_bytes(records.tobytes())
  with pytest.raises(UserError, match='record 1 has label 1255; .* 0 to 999'):
    datasets.prepare(Config(data_dir=str(tmp_path)))


def test_files_changed_behind_the_description_are_named(tmp_path):
  both = [{'files': [n + '.bin'], 'count': 2} for n in ('train', 'test')]
  config = make_own(tmp_path, train=both[0], test=both[1])
  assert datasets.prepare(config).counts == (2, 2)
  path = tmp_path / 'test.bin'
  records = path.read_bytes()
  path.write_bytes(records + records[:65])
  with pytest.raises(UserError) as info:
    datasets.prepare(config)
  assert str(info.value) == (
    '%s: found 3 records; expected 2, as datasets.json beside says' % path
  )
  make_own(tmp_path, train=both[0], test=both[1], size=7)
  train = str(tmp_path / 'train.bin')
  with pytest.raises(UserError, match=train + ': found 130 bytes; .* 50-byte'):
    datasets.prepare(config)


def make_cifar100(folder):
  """A mirror of CIFAR-100: its Config, and records by file."""
  folder.mkdir(parents=True)
  layout = datasets.Layout(label_bytes=2)
  made = {}
  for seed, (name, count) in enumerate((('train.bin', 200), ('test.bin', 100))):
    records = records_lib.make_records(np.arange(count) % 20, seed, layout)
    records[:, 1] = np.arange(count) % 100
    (folder / name).write_bytes(records.tobytes())
    made[name] = records
  for kind, count in (('fine', 100), ('coarse', 20)):
    lines = ['%s_%d' % (kind, i) for i in range(count)] + ['']
    path = folder / (kind + '_label_names.txt')
    path.write_text('\n'.join(lines) + '\n')  # Ends as the official ones do.
  archive = folder.parent / 'mirror.tar.gz'
  config = Config(
    dataset='cifar100',
    data_dir=str(folder.parent / 'data'),
    data_url='file://%s' % archive,
    data_sha256=records_lib.make_archive(archive, folder),
  )
  return config, made


def test_cifar100_has_fine_and_coarse_labels(tmp_path):
  config, made = make_cifar100(tmp_path / 'cifar-100-binary')
  fine = datasets.prepare(config)
  # A description of something else is not what was asked for.
  (tmp_path / 'data' / 'dataset.json').write_text('{}')
  coarse = datasets.prepare(
    dataclasses.replace(config, cifar100_labels='coarse', data_url='nowhere')
  )
  folder = tmp_path / 'data' / 'cifar-100-binary'
  assert fine.train_files == coarse.train_files == (str(folder / 'train.bin'),)
  assert fine.test_files == coarse.test_files == (str(folder / 'test.bin'),)
  assert fine.classes == tuple('fine_%d' % i for i in range(100))
  assert coarse.classes == tuple('coarse_%d' % i for i in range(20))
  assert fine.flip and coarse.flip
  assert fine.count(fine.train_files) == 200
  for data, at in ((fine, 1), (coarse, 0)):
    assert data.layout.record_bytes == 3074
    records = np.fromfile(data.test_files[0], np.uint8).reshape(-1, 3074)
    np.testing.assert_array_equal(records, made['test.bin'])
    labels = data.layout.labels(records.astype(int))
    np.testing.assert_array_equal(labels, records[:, at])


def test_what_is_not_fetched_yet_is_not_guessed(tmp_path):
  for name, folder in (('cifar100', 'cifar-100-binary'), ('svhn', 'svhn')):
    config = Config(dataset=name, data_dir=str(tmp_path))
    with pytest.raises(UserError) as info:
      datasets.describe(config)
    assert str(info.value) == (
      '%s: no such folder; scripts/fetch_data.py --dataset=%s fetches it'
      % (tmp_path / folder, name)
    )


def test_cifar100_is_checked(tmp_path):
  config, made = make_cifar100(tmp_path / 'cifar-100-binary')
  data = datasets.prepare(config)
  with open(data.train_files[0], 'r+b') as file:
    file.seek(3074 * 7)
    file.write(b'\x14')
  datasets.prepare(config)  # Wrong among the coarse labels only.
  coarse = dataclasses.replace(config, cifar100_labels='coarse')
  with pytest.raises(UserError, match='record 7 has label 20; .* 0 to 19'):
    datasets.prepare(coarse)
  names = tmp_path / 'data' / 'cifar-100-binary' / 'coarse_label_names.txt'
  names.write_text('a b c')
  with pytest.raises(UserError, match='names.txt: found 3 names; expected 20'):
    datasets.prepare(coarse)


def test_cifar100_trains_and_the_run_knows_its_labels(tmp_path):
  config, made = make_cifar100(tmp_path / 'cifar-100-binary')
  train_dir = tmp_path / 'train'
  status, out, err = short_runs.run(
    'cifar10_train',
    '--dataset=cifar100',
    '--cifar100_labels=coarse',
    '--data_dir=' + config.data_dir,
    '--data_url=' + config.data_url,
    '--data_sha256=' + config.data_sha256,
    '--train_dir=%s' % train_dir,
    '--batch_size=4',
    '--max_steps=1',
  )
  assert (status, err) == (0, '')
  shapes = checkpoints.shapes(str(train_dir / 'model.ckpt-1'))
  assert shapes['softmax_linear/biases'] == [20]
  flags = ['--dataset=cifar100', '--cifar100_labels=coarse']
  flags.append('--data_dir=' + config.data_dir)
  line = '--checkpoint_dir=%s %s\n' % (train_dir, ' '.join(flags))
  assert line in out
  status, out, err = short_runs.run(
    'cifar10_eval',
    *flags,
    '--run_once',
    '--checkpoint_dir=%s' % train_dir,
    '--eval_dir=%s' % (tmp_path / 'eval'),
  )
  assert (status, err) == (0, '')
  assert ' / 100, step 1)' in out
  (image,) = records_lib.images_of(
    made['test.bin'][:1], datasets.Layout(label_bytes=2)
  )
  picture = str(tmp_path / 'x.png')
  Image.fromarray(image).save(picture)
  script = os.path.join(short_runs.ROOT, 'cifar10', 'cifar10_predict.py')
  moved = str(tmp_path / 'moved')
  os.rename(config.data_dir, moved)
  printed = subprocess.check_output(
    [sys.executable, script, picture, '--json', '--data_dir=' + moved]
    + ['--checkpoint_dir=%s' % train_dir]
  )
  assert list(json.loads(printed.decode())['probabilities']) == [
    'coarse_%d' % i for i in range(20)
  ]
