"""Data sets of synthetic records, for tests."""

import hashlib
import json
import tarfile

import numpy as np

from cifar10.data import dataset_json
from cifar10.data.datasets import CLASSES
from cifar10.data.records import Layout
from cifar10.data.records import layout_for
from cifar10.settings import Settings


def make_records(labels, seed=0, layout=Layout()):
  """Records of random images: uint8 [len(labels), record_bytes].

  The last three pixels hold the seed and the number of the record, so that no
  two records are equal.
  """
  labels = np.asarray(labels)
  records = np.random.RandomState(seed).randint(
      0, 256, (len(labels), layout.record_bytes), dtype=np.uint8)
  for at, shift in zip(reversed(layout.label_at), (0, 8)):
    records[:, at] = labels >> shift
  records[:, -3:] = np.stack(
      [seed + 0 * labels,
       np.arange(len(labels)) >> 8,
       np.arange(len(labels))], axis=1).astype(np.uint8)
  return records


def images_of(records, layout=Layout()):
  """The pixels of records: uint8 [n, height, width, depth]."""
  planes = records[:, layout.label_bytes:].reshape(-1, layout.depth,
                                                   layout.height, layout.width)
  return planes.transpose(0, 2, 3, 1)


def make_folder(data_dir, per_file=20):
  """Makes a cifar-10-batches-bin with `per_file` records a file; its Path."""
  folder = data_dir / 'cifar-10-batches-bin'
  folder.mkdir(parents=True)
  names = ['data_batch_%d.bin' % i for i in range(1, 6)] + ['test_batch.bin']
  for seed, name in enumerate(names):
    labels = np.arange(per_file) % 10
    (folder / name).write_bytes(make_records(labels, seed).tobytes())
  return folder


def _write_parts(folder, labels, layout):
  """Writes records of these labels to train on, and others to test on."""
  for seed, name in enumerate(('train.bin', 'test.bin')):
    records = make_records(labels, seed, layout)
    (folder / name).write_bytes(records.tobytes())


def make_three_classes(folder, size=32, channels=3):
  """Makes a data set of a person's own, of 60 images; returns its data_dir."""
  layout = layout_for(size, channels, 'abc')
  path = folder / 'data'
  path.mkdir()
  _write_parts(path, np.arange(60) % 3, layout)
  dataset_json.save(str(path), 'abc', size, channels, True, [60, 60])
  return str(path)


def make_archive(path, folder):
  """Packs a folder like the official archive; returns its SHA-256."""
  with tarfile.open(str(path), 'w:gz') as tar:
    tar.add(str(folder), folder.name)
  return hashlib.sha256(path.read_bytes()).hexdigest()


def make_own_dataset(folder, **changes):
  """Makes a data set with a dataset.json: 3 classes of gray 8 x 8 images.

  Both files hold a record of the first class and one of the last. The folder
  exists; `changes` are other values for entries of the dataset.json. Returns
  the Config that names the data set.
  """
  classes = changes.get('classes', ['a', 'b', 'c'])
  _write_parts(folder, [0, len(classes) - 1], layout_for(8, 1, classes))
  value = {
      'classes': classes,
      'size': 8,
      'channels': 1,
      'flip': False,
      'train': {
          'files': ['train.bin']
      },
      'test': {
          'files': ['test.bin']
      }
  }
  value.update(changes)
  (folder / 'dataset.json').write_text(json.dumps(value))
  return Settings(data_dir=str(folder))


def make_images_of_size(folder, size):
  """Makes a data set of the classes of CIFAR-10 and another size, in color.

  It has 20 images for both parts. Returns the Config that names it.
  """
  folder.mkdir()
  config = make_own_dataset(folder, classes=list(CLASSES), size=size,
                            channels=3)
  _write_parts(folder, np.arange(20) % 10, layout_for(size, 3, CLASSES))
  return config
