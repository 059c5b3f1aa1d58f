"""infer/precision.py: the precision of a model, as JSON."""

import io
import json

import pytest

from cifar10 import settings as settings_lib
from cifar10.infer import precision


@pytest.mark.parametrize('loss', [float('nan'), float('inf'), 2.5])
def test_json_holds_only_what_json_knows(loss, tmp_path):
  answers, metrics = io.StringIO(), tmp_path / 'metrics.jsonl'
  settings = settings_lib.Settings(json=True, metrics=str(metrics))
  result = precision.Result(1, 1, 2, loss, averaged=True)
  precision.report(result, 5, settings, answers)
  for text in (answers.getvalue(), metrics.read_text()):
    values = json.loads(text, parse_constant=pytest.fail)
    assert values['loss'] == (2.5 if loss == 2.5 else None)
