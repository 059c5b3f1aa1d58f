"""Optional packages: imported, or an error that says how to install them."""

import json
import sys

import pytest

from cifar10.errors import UserError
from cifar10.util import optional_packages


def test_an_installed_package_is_imported():
  assert optional_packages.need('json', 'x', 'this reads json') is json


def test_a_missing_package_is_an_error_that_names_its_extra(monkeypatch):
  monkeypatch.setitem(sys.modules, 'json', None)
  message = r"^this reads json: pip install '\.\[x\]'$"
  for package in ('json', 'json.decoder.none', 'no_such_package'):
    with pytest.raises(UserError, match=message):
      optional_packages.need(package, 'x', 'this reads json')
