"""Curves and times from event files."""

import os

import pytest
import tensorflow.compat.v1 as tf

from cifar10.infer import precision
from cifar10.store.run_state import Start
from cifar10.tools.report import events


def write_events(path, points, tag='learning_rate'):
  """An event file of triples (step, time, value); a start has no value."""
  with tf.python_io.TFRecordWriter(str(path)) as writer:
    for step, time, value in points:
      event = tf.Event(step=step, wall_time=time)
      if value is None:
        event.session_log.status = tf.SessionLog.START
      else:
        event.summary.value.add(tag=tag, simple_value=value)
      writer.write(event.SerializeToString())


def test_steps_that_a_restart_repeats_count_once(tmp_path):
  # Stopped after step 40; the last checkpoint was of step 20.
  path = str(tmp_path / 'events.out.tfevents.')
  write_events(path + '1.b', [(10 * i, 100.0 + i, 0.5) for i in range(5)])
  write_events(path + '2.a',
               [(20 + 10 * i, 900.0 + 2 * i, 0.25) for i in range(4)])
  found, left_out = events.read_folder(str(tmp_path))
  assert left_out == []
  points = events.curve(found, 'learning_rate')
  assert [p.step for p in points] == [0, 10, 20, 30, 40, 50]
  assert [p.value for p in points] == [0.5] * 2 + [0.25] * 4
  # From step 30 on, a step takes three times as many examples.
  rates = events.throughput(found, ((0, 8), (30, 24)))
  assert [p.step for p in rates] == [10, 20, 30, 40, 50]
  assert [p.value for p in rates] == [80, 80, 40, 120, 120]


def test_steps_from_the_start_of_a_session_on_are_left_out(tmp_path):
  path, tag = str(tmp_path / 'events.out.tfevents.'), precision.tag()
  write_events(path + '1', [(0, 1.0, None), (0, 2.0, 0.5), (10, 3.0, 0.5),
                            (20, 4.0, 0.5), (30, 5.0, 0.5)])
  # An evaluator in the same folder: what it has found of step 20 is true.
  write_events(path + '2', [(20, 6.0, 0.75)], tag)
  # In a cluster, a process may lose its session.
  write_events(path + '3', [(20, 7.0, None), (20, 8.0, 0.25), (30, 9.0, 0.25),
                            (30, 10.0, None), (30, 11.0, 0.125)])
  write_events(path + '4', [(15, 12.0, None)])  # Killed before its first step.
  for last, expected in ((4, [(0, 0.5), (10, 0.5)]), (3, [
      (0, 0.5), (10, 0.5), (20, 0.25), (30, 0.125)
  ]), (2, [(0, 0.5), (10, 0.5), (20, 0.5), (30, 0.5)])):
    if last < 4:
      os.remove(path + str(last + 1))
    found, _ = events.read_folder(str(tmp_path))
    points = events.curve(found, 'learning_rate')
    assert [(point.step, point.value) for point in points] == expected
    tested = [p.step for p in events.precisions(found, since=0).get(tag, [])]
    assert tested == [20]


def test_damaged_events_are_read_as_far_as_they_go(tmp_path):
  path = tmp_path / 'events.out.tfevents.1.host'
  # Step numbers of equal length in bytes.
  write_events(path, [(1000 + i, 50.0 + i, 0.5) for i in range(5)])
  whole = path.read_bytes()
  size = len(whole) // 5
  with tf.python_io.TFRecordWriter(str(path)) as writer:
    writer.write(b'no event')
  other = path.read_bytes()
  damaged = whole[:2 * size + 20] + b'x' + whole[2 * size + 21:]
  line = '%s is damaged or cut off: only the events before are shown.' % path
  for content, count, num_told in [
      (whole, 5, 0), (whole[:2 * size], 2, 0), (whole[:2 * size + 20], 2, 1),
      (damaged, 2, 1), (whole[:20], 0, 1), (b'', 0, 0), (other, 0, 1)
  ]:  # yapf: disable
    path.write_bytes(content)
    files, left_out = events.read_folder(str(tmp_path))
    assert left_out == [line] * num_told
    points = [p for file in files for p in file.scalars['learning_rate']]
    assert [point.step for point in points] == list(range(1000, 1000 + count))


def test_what_cannot_be_read_is_passed_over(tmp_path):
  path = str(tmp_path / 'events.out.tfevents.')
  os.mkdir(path + '1.folder')
  os.mkfifo(path + '2.pipe')  # Opened, it would wait for a writer.
  os.symlink('/nowhere', path + '3.link')
  write_events(path + '4.good', [(7, 50.0, 0.5)])
  os.symlink('/proc/self/mem', path + '5')  # An input/output error, for root.
  files, left_out = events.read_folder(str(tmp_path))
  assert [file.end_time for file in files] == [50.0]
  assert left_out == [
      *('%s is not a file: passed over.' % (path + name)
        for name in ('1.folder', '2.pipe', '3.link')),
      '%s cannot be read.' % (path + '5')
  ]


def test_evaluations_of_another_run_are_left_out(tmp_path):
  tag, path = 'Precision @ 1', str(tmp_path / 'events.out.tfevents.%d.host')
  write_events(path % 1, [(900, 5.0, 0.875)], tag)
  write_events(path % 2, [(100, 20.0, 0.125), (200, 30.0, 0.25)], tag)
  write_events(path % 3, [(200, 40.0, 0.5)], tag)
  files, _ = events.read_folder(str(tmp_path))
  found = events.precisions(files, since=10)[tag]
  assert [(p.step, p.value) for p in found] == [(100, 0.125), (200, 0.5)]
  assert events.precisions(files, since=50) == {}


def test_kinds_of_evaluations_are_kept_apart(tmp_path):
  tag = precision.tag
  tags = [  # The default first; 10 after 5.
      tag(), tag(eval_data='train_eval'), tag(averaged=False), tag(top_k=5),
      tag(top_k=10, eval_data='train_eval', averaged=False), 'loss'
  ]  # yapf: disable
  for number, name in enumerate(tags):
    path = tmp_path / ('events.out.tfevents.%d.host' % (9 - number))
    write_events(path, [(100, 20.0, 0.5 + number)], name)
  found = events.precisions(events.read_folder(str(tmp_path))[0], since=0)
  assert list(found) == tags[:-1]
  values = [points[0].value for points in found.values()]
  assert values == [0.5 + number for number in range(5)]


@pytest.mark.parametrize('starts, files, saved, expected', [
    # A start lasts to its last event or checkpoint.
    ([100, 1000], [(103, 150), (1003, 1090)], [], [50, 90]),
    ([100, 1000], [(103, 150), (1003, 1090)], [105, 160, 1080], [60, 90]),
    # Without events, to its last checkpoint.
    ([100, 500, 1000], [(1003, 1090)], [130, 170], [70, None, 90]),
    ([100, 500, 1000], [], [], [None] * 3),
    # Starts that are not noted are known from their events.
    ([], [(10, 25), (103, 150)], [], [15, 47]),
    ([], [], [], []),
    # Clocks may differ by less than a second. Nothing lasts less than no time.
    ([100], [(99.75, 150)], [], [50]),
    ([100], [(99.75, 99.75)], [], [0])
])  # yapf: disable
def test_how_long_each_start_lasts(starts, files, saved, expected):
  begins = tuple(Start(100 * i, time) for i, time in enumerate(starts))
  files = [events.EventLog(*times, {}) for times in files]
  assert events.durations(begins, files, saved) == expected


def test_times_of_checkpoints_count_unless_they_are_those_of_a_copy(tmp_path):
  for name, time in (('config.json', 503), ('model.ckpt-0.index', 110),
                     ('model.ckpt-90.index', 190), ('model.ckpt-90.meta', 195)):
    (tmp_path / name).write_bytes(b'')
    os.utime(str(tmp_path / name), (time, time))
  begins = Start(0, 100.0), Start(100, 500.0)
  found = events.checkpoint_times(str(tmp_path), begins)
  assert sorted(found) == [110, 190]
  assert events.checkpoint_times(str(tmp_path), ()) == []
  os.utime(str(tmp_path / 'config.json'), (700, 700))
  assert events.checkpoint_times(str(tmp_path), begins) == []
  (tmp_path / 'config.json').unlink()
  assert events.checkpoint_times(str(tmp_path), begins) == []
