"""The picture of a training step: its parts, with the numbers of the code."""

from cifar10 import cifar10
from cifar10 import cifar10_input
from tests import pictures

draw_step = pictures.module('draw_step')


def test_the_picture_is_that_of_the_code():
  assert pictures.is_current(str(draw_step.draw()), 'tutorial/step.svg')


def test_parts_come_in_their_order(monkeypatch):
  monkeypatch.setattr(cifar10_input, 'NUM_PREPROCESS_THREADS', 7)
  monkeypatch.setattr(cifar10_input, '_READY_BATCHES', 9)
  monkeypatch.setattr(cifar10, 'MOVING_AVERAGE_DECAY', 0.5)
  content = str(draw_step.draw())
  heights = {text: box[1] for text, box in pictures.boxes_of_text(content)}
  order = [
      'data_batch_1.bin, …', 'reader', 'shuffle queue', 'queue of raw batches',
      '7 threads distort, a batch each', 'queue of ready batches',
      '9 batches of 256 images, 24 × 24 × 3', 'tower_0', 'inference(), loss()',
      'gradients', 'average_gradients()', 'moving averages of the variables',
      'decay 0.5; the evaluator uses these'
  ]
  assert sorted(order, key=heights.get) == order
  assert heights['tower_0'] == heights['tower_1']
