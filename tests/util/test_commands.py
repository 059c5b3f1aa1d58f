"""Commands that errors and hints name."""

import os
import sys

import pytest

from cifar10.util import commands
from tests import short_runs


@pytest.mark.parametrize(
    'called, trains',
    [('cifar10_eval.py', 'python cifar10_train.py'),
     ('cifar10/cifar10_eval.py', 'python cifar10/cifar10_train.py'),
     ('/a b/cifar10/cifar10_eval.py', "python '/a b/cifar10/cifar10_train.py'"),
     ('/a.b/bin/cifar10_eval', '/a.b/bin/cifar10_train'),
     ('cifar10_eval', 'cifar10_train'),
     ('/python/pytest/__main__.py',
      'python %s/cifar10/cifar10_train.py' % short_runs.ROOT)])
def test_a_program_is_named_as_this_one_was_called(monkeypatch, called, trains):
  folder = os.path.join(short_runs.ROOT, 'cifar10')
  monkeypatch.chdir(folder if called == 'cifar10_eval.py' else short_runs.ROOT)
  monkeypatch.setattr(sys, 'argv', [called])
  assert commands.command('cifar10_train') == trains


def test_a_program_that_is_no_script_is_a_command(monkeypatch, tmp_path):
  monkeypatch.setattr(sys, 'argv', ['cifar10/cifar10_eval.py'])
  monkeypatch.setattr(sys, 'executable', str(tmp_path / 'python'))
  assert commands.command('cifar10_report') == 'cifar10_report'
  installed = tmp_path / 'cifar10_report'
  installed.write_text('')
  assert commands.command('cifar10_report') == str(installed)


def test_an_extra_of_a_clone_and_of_an_installed_package(monkeypatch, tmp_path):
  assert commands.install('svhn') == "pip install '.[svhn]'"
  monkeypatch.chdir(tmp_path)
  assert commands.install('svhn') == f"pip install '{short_runs.ROOT}[svhn]'"
  monkeypatch.setattr(commands, '_ROOT', '/usr/lib/python3/site-packages')
  assert commands.install('svhn') == "pip install 'cifar10-tutorial[svhn]'"
