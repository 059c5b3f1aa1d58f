"""People's own pictures within the graph, where no Pillow is at hand.

An exported model takes pictures as files hold them. What becomes of them is
what `pictures.py` makes of them for cifar10_predict: the middle square, scaled
by the same filter over all pixels that it covers, rounded as it rounds; what is
transparent is on white, and of several frames the first is taken. A picture of
the model's own size stays as it is. Others differ by no more than one of 255
levels where they are PNG or JPEG.

What TensorFlow does not know: which way a camera noted as up, BMP files with a
palette of colours, transparency in GIF files. TensorFlow 1 decodes BMP files of
one depth only, that of the first one.
"""

import tensorflow.compat.v1 as tf

# How much of red, green and blue there is in grey.
_GREY = (0.299, 0.587, 0.114)


def decode(pictures, layout):
  """Pictures of any size as images of the size of a data set.

  Args:
    pictures: string tensor, [n], the content of PNG, JPEG, BMP or GIF files.
    layout: dataset.Layout, which size and colours the images are to have.

  Returns:
    uint8 tensor, [n, layout.height, layout.width, layout.depth]. Running it
    raises tf.errors.InvalidArgumentError where a picture cannot be decoded.
  """

  def image(picture):
    colors = _in_colors(_decode_one(picture))
    if layout.depth == 1:
      grey = tf.tensordot(tf.cast(colors, tf.float32), _GREY, 1)
      colors = _as_uint8(grey[:, :, tf.newaxis])
    return _fit(colors, layout.height)

  images = tf.map_fn(image, pictures, tf.uint8)
  images.set_shape([None, layout.height, layout.width, layout.depth])
  return images


def _decode_one(picture):
  """A picture as uint8 [height, width, 1 to 4], as its file has it."""

  def jpeg():
    # As Pillow decodes it; TensorFlow takes a faster, coarser way by itself.
    return tf.image.decode_jpeg(picture, dct_method='INTEGER_ACCURATE')

  def other():
    return tf.image.decode_image(picture, expand_animations=False)

  image = tf.cond(tf.image.is_jpeg(picture), jpeg, other)
  image.set_shape([None, None, None])
  return image


def _in_colors(image):
  """uint8 [height, width, 1 to 4] as uint8 [height, width, 3], on white."""

  def on_white():
    pixels = tf.cast(image, tf.float32)
    opacity = pixels[:, :, -1:] / 255
    return _as_uint8(pixels[:, :, :-1] * opacity + 255 * (1 - opacity))

  channels = tf.shape(image)[2]
  image = tf.cond(tf.equal(channels % 2, 0), on_white, lambda: image)
  image = tf.tile(image, [1, 1, 3 // tf.shape(image)[2]])
  image.set_shape([None, None, 3])
  return image


def _fit(image, size):
  """The middle square of uint8 [height, width, depth], scaled to `size`."""
  found = tf.shape(image)[:2]
  side = tf.reduce_min(found)
  scale = tf.cast(size / side, tf.float32)
  top, left = tf.unstack(tf.cast((side - found) / 2, tf.float32) * scale)
  # First the rows and then the columns, with whole levels in between, as
  # Pillow does it.
  image = _scale(image, [found[0], size], [1.0, scale], [0.0, left])
  return _scale(image, [size, size], [scale, 1.0], [top, 0.0])


def _scale(image, size, scale, shift):
  """Scales and then shifts uint8 [height, width, depth] to one of `size`."""
  (scaled,) = tf.unstack(
    tf.raw_ops.ScaleAndTranslate(
      images=image[tf.newaxis],
      size=size,
      scale=scale,
      translation=shift,
      kernel_type='lanczos3',
      antialias=True,
    ),
    num=1,
  )
  return _as_uint8(scaled)


def _as_uint8(pixels):
  """float32 to uint8, rounded; what is beyond 0 to 255 is cut off."""
  return tf.saturate_cast(tf.round(pixels), tf.uint8)
