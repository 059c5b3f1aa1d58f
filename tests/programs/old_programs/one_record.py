"""Reads single records by the tutorial's reader, and batches by its inputs."""

import os
import sys

import cifar10_input
import tensorflow.compat.v1 as tf

folder = sys.argv[1]
names = [os.path.join(folder, 'data_batch_%d.bin' % i) for i in range(1, 6)]
read_input = cifar10_input.read_cifar10(
    tf.train.string_input_producer(names, shuffle=False))
reshaped_image = tf.cast(read_input.uint8image, tf.float32)
resized_image = tf.image.resize_image_with_crop_or_pad(reshaped_image,
                                                       cifar10_input.IMAGE_SIZE,
                                                       cifar10_input.IMAGE_SIZE)
read_input.label.set_shape([1])
images, labels = cifar10_input.inputs(eval_data=True, data_dir=folder,
                                      batch_size=7)
distorted, _ = cifar10_input.distorted_inputs(data_dir=folder, batch_size=5)
with tf.Session() as sess:
  coord = tf.train.Coordinator()
  threads = tf.train.start_queue_runners(sess=sess, coord=coord)
  for _ in range(3):
    key, label, image = sess.run(
        [read_input.key, read_input.label, resized_image])
    print(os.path.basename(key.decode()), label.tolist(), image.shape,
          (read_input.height, read_input.width, read_input.depth))
  print(sess.run(images).shape, sess.run(labels).shape)
  print(sess.run(distorted).shape)
  coord.request_stop()
  coord.join(threads)
