"""Files of synthetic records in CIFAR-10's binary version."""

import hashlib
import tarfile

import numpy as np

from cifar10.data import datasets


def make_records(labels, seed=0, layout=datasets.Layout()):
  """Random images with these labels: uint8 [len(labels), record_bytes].

  The last pixels hold the number of the record, so that no two are equal.
  """
  labels = np.asarray(labels)
  records = np.random.RandomState(seed).randint(
    0, 256, (len(labels), layout.record_bytes), dtype=np.uint8
  )
  for at, shift in zip(reversed(layout.label_at), (0, 8)):
    records[:, at] = labels >> shift
  records[:, -3:] = np.stack(
    [seed + 0 * labels, np.arange(len(labels)) >> 8, np.arange(len(labels))],
    axis=1,
  ).astype(np.uint8)
  return records


def images_of(records, layout=datasets.Layout()):
  """The pixels of records: uint8 [n, height, width, depth]."""
  planes = records[:, layout.label_bytes :].reshape(
    -1, layout.depth, layout.height, layout.width
  )
  return planes.transpose(0, 2, 3, 1)


def make_folder(data_dir, per_file=20):
  """A complete cifar-10-batches-bin in `data_dir`, of so many records a file.

  Returns:
    The folder, a pathlib.Path.
  """
  folder = data_dir / 'cifar-10-batches-bin'
  folder.mkdir(parents=True)
  names = ['data_batch_%d.bin' % i for i in range(1, 6)] + ['test_batch.bin']
  for seed, name in enumerate(names):
    labels = np.arange(per_file) % 10
    (folder / name).write_bytes(make_records(labels, seed).tobytes())
  return folder


def make_archive(path, folder):
  """Packs a folder as the official archive is; returns its SHA-256."""
  with tarfile.open(str(path), 'w:gz') as tar:
    tar.add(str(folder), folder.name)
  return hashlib.sha256(path.read_bytes()).hexdigest()
