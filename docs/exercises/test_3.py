"""The check of exercise 3."""

from checks import expect
import exercise_3
import tensorflow.compat.v1 as tf


def test_the_first_batch_comes_soon_and_is_shuffled():
  count = tf.get_variable('count', initializer=0, use_resource=True)
  # The records are 1, 2, 3, ..
  record = tf.identity(tf.assign_add(count, 1))
  batch = exercise_3.shuffled_batches(record, 128)
  with tf.train.MonitoredSession() as session:
    found = session.run(batch)
    read = session.run(count)
  expect(
      read < 1200,
      'The first batch must not wait for more than 1,000 records; %d were read.'
      % read)
  expect(
      len(found) == 128 and max(found) > 400,
      'Shuffle at least 500 records together; the 128 of the first batch are '
      'from the first %d.' % max(found))
