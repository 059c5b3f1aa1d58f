"""Decodes and scales pictures by TensorFlow operations, without Pillow.

An exported model takes the contents of picture files. These operations do what
data/pictures.py does for cifar10_predict: they scale the largest central square
with the same filter and rounding, put transparent parts on white, and take the
first frame of an animation. A picture of the right size is not changed. The
pixels of scaled PNG and JPEG files differ from Pillow's by at most 1 of 255.

A GIF file whose first frame does not fill its canvas is an error: TensorFlow 1
refuses such files, too, and TensorFlow 2 decodes them to other pixels.

TensorFlow does not support EXIF orientation, BMP files with a palette,
transparency in GIF files, and the transparent color of gray and RGB PNG files;
Pillow ignores the opacity of BMP files with 32 bits. In TensorFlow 1, all BMP
files that a graph decodes must have the depth of the first one.
"""

import tensorflow.compat.v1 as tf

from cifar10.data import distortions


def decode(pictures, layout):
  """Decodes pictures of any size and scales them to the Layout of a data set.

  Takes a string tensor, [n], the contents of PNG, JPEG, BMP or GIF files.
  Returns uint8, [n, layout.height, layout.width, layout.depth], which raises
  tf.errors.InvalidArgumentError if a picture cannot be decoded.
  """

  def image(picture):
    # As Pillow decodes JPEG. TensorFlow's default is faster, less accurate.
    decoded = tf.cond(
        tf.image.is_jpeg(picture),
        lambda: tf.image.decode_jpeg(picture, dct_method='INTEGER_ACCURATE'),
        lambda: _decode_others(picture))
    decoded.set_shape([None, None, None])
    colors = _in_colors(decoded)
    if layout.depth == 1:
      gray = tf.tensordot(tf.cast(colors, tf.float32), distortions.LUMA, 1)
      colors = _as_uint8(gray[:, :, tf.newaxis])
    return _fit(colors, layout.height)

  images = tf.map_fn(image, pictures, tf.uint8)
  images.set_shape([None, *layout[:3]])
  return images


def _decode_others(picture):
  """Decodes what is not JPEG; a GIF's first frame must fill its canvas."""

  def of_gif():
    content = tf.cast(tf.decode_raw(picture, tf.uint8), tf.int32)
    # After the header, flags and the colors: the highest bit of the flags says
    # if there are any colors, the three lowest how many.
    flags = content[10]
    colors = tf.bitwise.left_shift(2, flags % 8) * (flags // 128)

    def skip(at):
      """Skips an extension: two bytes, blocks with their lengths, and 0."""
      return 1 + tf.while_loop(lambda i: content[i] > 0,
                               lambda i: i + 1 + content[i], [at + 2])

    frame = tf.while_loop(lambda i: tf.equal(content[i], ord('!')), skip,
                          [13 + 3 * colors])
    # Left and top of the frame, its width and height.
    box = content[frame + 1:frame + 9]
    canvas = tf.concat([tf.zeros([4], tf.int32), content[6:10]], 0)
    fills = tf.reduce_all(tf.equal(box, canvas))
    problem = 'GIF: the first frame does not fill the canvas'
    with tf.control_dependencies([tf.Assert(fills, [problem])]):
      return tf.identity(picture)

  is_gif = tf.equal(tf.strings.substr(picture, 0, 3), 'GIF')
  checked = tf.cond(is_gif, of_gif, lambda: picture)
  return tf.image.decode_image(checked, expand_animations=False)


def _in_colors(image):
  """Converts uint8 [height, width, 1 to 4 channels] to RGB, on white."""

  def on_white():  # The last of 2 or 4 channels is opacity.
    pixels = tf.cast(image, tf.float32)
    opacity = pixels[:, :, -1:] / 255
    return _as_uint8(pixels[:, :, :-1] * opacity + 255 * (1 - opacity))

  channels = tf.shape(image)[2]
  image = tf.cond(tf.equal(channels % 2, 0), on_white, lambda: image)
  image = tf.tile(image, [1, 1, 3 // tf.shape(image)[2]])
  image.set_shape([None, None, 3])
  return image


def _fit(image, size):
  """Scales the central square of uint8 [height, width, depth] to `size`."""
  shape = tf.shape(image)[:2]
  side = tf.reduce_min(shape)
  scale = tf.cast(size / side, tf.float32)
  top, left = tf.unstack(tf.cast((side - shape) / 2, tf.float32) * scale)
  # As Pillow does: horizontally, rounding to uint8, then vertically.
  image = _scale(image, [shape[0], size], [1.0, scale], [0.0, left])
  return _scale(image, [size, size], [scale, 1.0], [top, 0.0])


def _scale(image, size, scale, shift):
  """Scales and then shifts uint8 [height, width, depth]; crops to `size`."""
  scaled = tf.raw_ops.ScaleAndTranslate(images=image[tf.newaxis], size=size,
                                        scale=scale, translation=shift,
                                        kernel_type='lanczos3', antialias=True)
  return _as_uint8(scaled[0])


def _as_uint8(pixels):
  """Rounds float32 to uint8; clips to 0 ... 255."""
  return tf.saturate_cast(tf.round(pixels), tf.uint8)
