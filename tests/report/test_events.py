"""Curves and times from event files."""

import tensorflow.compat.v1 as tf

from cifar10.report import events


def write_events(path, points, tag='learning_rate'):
  """An event file of triples (step, time, value)."""
  with tf.python_io.TFRecordWriter(str(path)) as writer:
    for step, time, value in points:
      event = tf.Event(step=step, wall_time=time)
      event.summary.value.add(tag=tag, simple_value=value)
      writer.write(event.SerializeToString())


def test_steps_that_a_restart_repeats_count_once(tmp_path):
  # Stopped after step 40; the last checkpoint was of step 20.
  path = str(tmp_path / 'events.out.tfevents.')
  write_events(path + '1.b', [(10 * i, 100.0 + i, 0.5) for i in range(5)])
  write_events(
    path + '2.a', [(20 + 10 * i, 900.0 + 2 * i, 0.25) for i in range(4)]
  )
  found = events.read_folder(str(tmp_path))
  points = events.curve(found, 'learning_rate')
  assert [p.step for p in points] == [0, 10, 20, 30, 40, 50]
  assert [p.value for p in points] == [0.5] * 2 + [0.25] * 4
  # From step 30 on, a step takes three times as many examples.
  rates = events.throughput(found, ((0, 8), (30, 24)))
  assert [p.step for p in rates] == [10, 20, 30, 40, 50]
  assert [p.value for p in rates] == [80, 80, 40, 120, 120]


def test_damaged_events_are_read_as_far_as_they_go(tmp_path):
  path = tmp_path / 'events.out.tfevents.1.host'
  # Step numbers of equal length in bytes.
  write_events(path, [(1000 + i, 50.0 + i, 0.5) for i in range(5)])
  content = path.read_bytes()
  size = len(content) // 5

  def steps():
    return [
      [p.step for p in file.scalars['learning_rate']] + [file.truncated]
      for file in events.read_folder(str(tmp_path))
    ]

  assert steps() == [[1000, 1001, 1002, 1003, 1004, False]]
  path.write_bytes(content[: 2 * size])
  assert steps() == [[1000, 1001, False]]
  path.write_bytes(content[: 2 * size + 20])
  assert steps() == [[1000, 1001, True]]
  path.write_bytes(content[: 2 * size + 20] + b'x' + content[2 * size + 21 :])
  assert steps() == [[1000, 1001, True]]
  path.write_bytes(content[:20])
  assert steps() == []


def test_evaluations_of_another_run_are_left_out(tmp_path):
  tag, path = 'Precision @ 1', str(tmp_path / 'events.out.tfevents.%d.host')
  write_events(path % 1, [(900, 5.0, 0.875)], tag)
  write_events(path % 2, [(100, 20.0, 0.125), (200, 30.0, 0.25)], tag)
  write_events(path % 3, [(200, 40.0, 0.5)], tag)
  found = events.precisions(str(tmp_path), since=10)
  assert [(p.step, p.value) for p in found] == [(100, 0.125), (200, 0.5)]
