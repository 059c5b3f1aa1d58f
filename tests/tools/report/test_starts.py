"""How long each start of a run trained."""

import os

from cifar10.store.run_state import Start
from cifar10.tools.report import events
from cifar10.tools.report import starts


def event_file(begin, end):
  return events.EventFile('events', begin, end, {})


def starts_at(*times):
  return tuple(Start(100 * i, time) for i, time in enumerate(times))


def test_a_start_lasts_to_its_last_event_or_checkpoint():
  files = [event_file(103.0, 150.0), event_file(1003.0, 1090.0)]
  begins = starts_at(100.0, 1000.0)
  assert starts.durations(begins, files, []) == [50.0, 90.0]
  # A checkpoint before or after the last event.
  saved = [105.0, 160.0, 1080.0]
  assert starts.durations(begins, files, saved) == [60.0, 90.0]


def test_starts_without_events_last_to_their_last_checkpoint():
  begins = starts_at(100.0, 500.0, 1000.0)
  files = [event_file(1003.0, 1090.0)]
  saved = [130.0, 170.0]
  assert starts.durations(begins, files, saved) == [70.0, None, 90.0]
  assert starts.durations(begins, [], []) == [None] * 3


def test_starts_of_earlier_versions_are_known_from_their_events():
  files = [event_file(10.0, 25.0), event_file(103.0, 150.0)]
  assert starts.durations((), files, []) == [15.0, 47.0]
  assert starts.durations(starts_at(100.0), files, []) == [15.0, 50.0]
  assert starts.durations((), [], []) == []


def test_clocks_may_differ_by_less_than_a_second():
  files = [event_file(99.75, 150.0)]
  assert starts.durations(starts_at(100.0), files, []) == [50.0]
  # Nothing lasts less than no time.
  files = [event_file(99.75, 99.75)]
  assert starts.durations(starts_at(100.0), files, []) == [0.0]


def test_times_of_checkpoints_count_unless_they_are_those_of_a_copy(tmp_path):
  for name, time in (
    ('config.json', 503),
    ('model.ckpt-0.index', 110),
    ('model.ckpt-90.index', 190),
    ('model.ckpt-90.meta', 195),
  ):
    (tmp_path / name).write_bytes(b'')
    os.utime(str(tmp_path / name), (time, time))
  begins = starts_at(100.0, 500.0)
  found = starts.checkpoint_times(str(tmp_path), begins)
  assert sorted(found) == [110, 190]
  assert starts.checkpoint_times(str(tmp_path), ()) == []
  os.utime(str(tmp_path / 'config.json'), (700, 700))
  assert starts.checkpoint_times(str(tmp_path), begins) == []
  (tmp_path / 'config.json').unlink()
  assert starts.checkpoint_times(str(tmp_path), begins) == []
