"""Commands that errors and hints name."""

import os
import sys

import pytest

from cifar10.util import commands
from tests import short_runs


@pytest.mark.parametrize(
    'called, trains, reports',
    [('cifar10_eval.py', 'python cifar10_train.py',
      'python ../scripts/report.py'),
     ('cifar10/cifar10_eval.py', 'python cifar10/cifar10_train.py',
      'python scripts/report.py'),
     ('scripts/make_dataset.py', 'python cifar10/cifar10_train.py',
      'python scripts/report.py'),
     ('/a b/cifar10/cifar10_eval.py', "python '/a b/cifar10/cifar10_train.py'",
      "python '/a b/scripts/report.py'"),
     ('/a.b/bin/cifar10_eval', '/a.b/bin/cifar10_train', None),
     ('cifar10_eval', 'cifar10_train', 'cifar10_report')])
def test_a_program_is_named_as_this_one_was_called(monkeypatch, called, trains,
                                                   reports):
  folder = os.path.join(short_runs.ROOT, 'cifar10')
  monkeypatch.chdir(folder if called == 'cifar10_eval.py' else short_runs.ROOT)
  monkeypatch.setattr(sys, 'argv', [called])
  assert commands.command('cifar10_train') == trains
  assert reports in (None, commands.command('cifar10_report'))


def test_from_elsewhere_the_whole_path_is_named(monkeypatch):
  monkeypatch.setattr(sys, 'argv', ['/python/pytest/__main__.py'])
  path = os.path.join(short_runs.ROOT, 'cifar10', 'cifar10_train.py')
  assert commands.command('cifar10_train') == 'python ' + path


def test_an_extra_of_a_clone_and_of_an_installed_package(monkeypatch, tmp_path):
  assert commands.install('svhn') == "pip install '.[svhn]'"
  monkeypatch.chdir(tmp_path)
  assert commands.install('svhn') == f"pip install '{short_runs.ROOT}[svhn]'"
  monkeypatch.setattr(commands, '_ROOT', '/usr/lib/python3/site-packages')
  assert commands.install('svhn') == "pip install 'cifar10-tutorial[svhn]'"
