"""The picture of a cluster: its tasks, and what is between them."""

from tests import pictures

draw_cluster = pictures.module('draw_cluster')


def test_every_worker_is_connected_with_every_server():
  content = str(draw_cluster.draw())
  assert pictures.is_current(content, 'cluster.svg')
  heights = {text: box[1] for text, box in pictures.boxes_of_text(content)}
  order = ['ps 0', 'worker 0, the chief', '--train_dir']
  assert sorted(order, key=heights.get) == order
  assert heights['--train_dir'] == heights['cifar10_eval.py']
  both_ways = [
      path for path in pictures.elements(content, 'path')
      if path.get('marker-start')
  ]
  assert len(both_ways) == 2 * 3 + 1  # And the chief with its folder.
