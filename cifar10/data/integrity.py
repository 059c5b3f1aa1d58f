"""Checks that a data set on disk is whole, before anything reads it."""

import os

from cifar10.data import dataset_json
from cifar10.data import records
from cifar10.errors import UserError
from cifar10.errors import printable


def check_files(data, source):
  """Checks all records of a data set.

  Args:
    data: datasets.DataSet.
    source: sources.Source that it was fetched from; None if it was not.

  Raises:
    UserError: a file is missing or damaged, or the number of records is not the
      one in the description.
  """
  parts = zip((data.train_files, data.test_files), data.counts)
  for paths, count in parts:
    for path in paths:
      if source and not os.path.exists(path):
        raise UserError(
          '%s: no such file. Remove its folder, and the data is fetched again'
          % path
        )
      records.check_file(path, data.layout, len(data.classes))
    if count not in (None, data.count(paths)):
      raise UserError(
        '%s: found %d records; expected %d, according to %s in that folder'
        % (', '.join(paths), data.count(paths), count, dataset_json.FILE_NAME)
      )


def warn_of_other_counts(data, source):
  """Warns if a public data set is not complete, or holds more records.

  A file that was cut between two records shows no other damage.

  Args:
    data: datasets.DataSet.
    source: the sources.Source of it.
  """
  found = (data.count(data.train_files), data.count(data.test_files))
  if found != source.counts:
    print(
      'WARNING: %s: found %s training and %s test records; the official data '
      'set has %s and %s.'
      % (
        printable(os.path.dirname(data.test_files[0])),
        *(format(count, ',') for count in found + source.counts),
      )
    )
