"""The check of exercise 7."""

from checks import expect
import exercise_7
import numpy as np
import tensorflow.compat.v1 as tf


def make_pictures(folder):
  """Reddish fires and bluish seas of different sizes."""
  content = tf.placeholder(tf.uint8, [None, None, 3])
  png, random = tf.image.encode_png(content), np.random.RandomState(1)
  with tf.Session() as session:
    for name, color in [('fire', 0), ('sea', 2)]:
      (folder / name).mkdir()
      for i in range(6):
        picture = random.randint(0, 100, [20 + 5 * i, 60 - 5 * i, 3])
        picture[..., color] += 100
        data = session.run(png, {content: picture})
        (folder / name / ('%d.png' % i)).write_bytes(data)


def test_pictures_become_batches(tmp_path):
  with tf.Graph().as_default():
    make_pictures(tmp_path)
  images, labels = exercise_7.distorted_inputs(str(tmp_path), 4)
  expect(images.shape.as_list() == [4, 24, 24, 3],
         'The images must be [4, 24, 24, 3]; they are %s.' % images.shape)
  seen = set()
  with tf.train.MonitoredSession() as session:
    for _ in range(12):
      some, their = session.run([images, labels])
      expect(
          np.allclose(some.mean((1, 2, 3)), 0, atol=1e-3) and
          np.allclose(some.std((1, 2, 3)), 1, atol=1e-2),
          'Each image must have mean 0 and standard deviation 1; the first one '
          'has %.2f and %.2f.' % (some[0].mean(), some[0].std()))
      is_sea = some[..., 2].mean((1, 2)) > some[..., 0].mean((1, 2))
      expect((is_sea == their).all(),
             'Each image must come with the number of its own folder.')
      seen |= set(their)
  expect(seen == {0, 1}, '12 batches must hold both classes; found %s.' % seen)
