#!/usr/bin/env python
"""Draws the diagrams of servers, queues and replicas in docs/distributed.md.

    python scripts/pages/draw_clusters.py docs

Writes services.svg, shared_queue.svg, networks.svg, replication.svg and
divided.svg into the folder.
"""

from pathlib import Path
import sys

import svg


def services():
  """A session, and the services of three tasks of two jobs."""
  yield svg.box('green', 226, 12, 192, 58, 'a client:', 'graph and session')
  yield svg.area('gray', 8, 104, 200, 256, 'job ps')
  yield svg.area('gray', 216, 104, 416, 256, 'job worker')
  for x, task, kind in [(16, 0, 'orange'), (224, 0, 'blue'), (428, 1, 'blue')]:
    width = 184 if x == 16 else 196
    yield svg.area(kind, x, 138, width, 214, f'task {task}')
    yield svg.box(kind, x + 14, 172, width - 28, 44, 'master service')
    yield svg.box(kind, x + 14, 284, width - 28, 56, 'worker service',
                  'runs its part')
  yield svg.arrow('M322 72V170')
  yield svg.text(332, 93, 'the graph, calls of run')
  yield svg.arrow('M322 218V282')
  yield svg.arrow('M262 218L128 282')
  yield svg.arrow('M382 218L506 282')
  yield svg.text(332, 272, 'a part each')
  yield svg.arrow('M108 342V384H322V342', both=True)
  yield svg.text(215, 406, 'tensors: _Send and _Recv', 'middle')


def shared_queue():
  """Two clients, each with a graph of its own, and a queue on a server."""
  yield svg.area('blue', 8, 12, 190, 140, 'a client')
  yield svg.text(20, 60, 'its graph, its session')
  yield svg.box('blue', 24, 78, 158, 56, 'enqueue_many', '[1, 2, 3]')
  yield svg.area('orange', 236, 12, 168, 140, 'a server')
  yield svg.text(248, 60, "queue 'numbers'")
  for number in range(3):
    yield svg.box('orange', 258 + 42 * number, 84, 40, 44, str(3 - number))
  yield svg.area('green', 442, 12, 190, 140, 'another client')
  yield svg.text(454, 60, 'its graph, its session')
  yield svg.box('green', 458, 78, 158, 56, 'dequeue_many(3)', '[1, 2, 3]')
  yield svg.arrow('M184 106H256')
  yield svg.arrow('M384 106H456')
  yield svg.text(320, 180,
                 "Both graphs have a queue with shared_name='numbers':",
                 'middle')
  yield svg.text(320, 202, 'on the server, this is one queue.', 'middle')


def networks():
  """A search with a network for each device."""
  yield svg.box('gray', 8, 96, 136, 60, 'cifar10_search', 'starts trials')
  for number in range(3):
    y = 12 + 80 * number
    yield svg.arrow(f'M146 {126 + 10 * (number - 1)}L184 {y + 34}')
    yield svg.area('gray', 186, y, 446, 68)
    yield svg.box('blue', 196, y + 10, 190, 48, f'trial {number}',
                  'graph and session')
    yield svg.arrow(f'M388 {y + 34}H430', both=True)
    yield svg.box('orange', 432, y + 10, 190, 48, f'GPU or server {number}',
                  'variables, steps')


def replication():
  """Replicas in one graph, and in a graph for each worker."""
  yield svg.area('gray', 8, 12, 624, 208, 'In-graph: one process, one graph')
  yield svg.box('gray', 24, 93, 108, 56, 'images')
  for number, y in enumerate((50, 136)):
    yield svg.arrow(f'M134 {114 + 14 * number}L176 {y + 28}')
    yield svg.box('blue', 178, y, 140, 56, f'tower_{number}',
                  f'replica, /gpu:{number}')
    yield svg.arrow(f'M320 {y + 28}L362 {114 + 14 * number}')
  yield svg.box('blue', 364, 93, 108, 56, 'mean of', 'gradients')
  yield svg.arrow('M474 121H510')
  yield svg.box('orange', 512, 93, 108, 56, 'variables')
  yield svg.arrow('M566 91V62H320')
  yield svg.arrow('M566 151V180H320')
  yield svg.text(440, 200, 'their values, in the next step', 'middle')
  for number in range(2):
    y = 238 + 124 * number
    yield svg.area('gray', 8, y, 430, 110,
                   f'Between-graph: worker {number}, its process and graph')
    yield svg.box('gray', 24, y + 40, 108, 56, 'images')
    yield svg.arrow(f'M134 {y + 68}H176')
    yield svg.box('blue', 178, y + 40, 140, 56, 'replica')
    yield svg.arrow(f'M320 {y + 68}L510 {346 + 44 * number}', both=True)
  yield svg.box('orange', 512, 330, 108, 76, 'ps 0', 'variables')
  yield svg.text(566, 430, 'gets gradients,', 'middle')
  yield svg.text(566, 451, 'gives values', 'middle')


def divided():
  """One network over the workers of a cluster."""
  yield svg.area('blue', 8, 12, 304, 210, 'worker 0, the chief')
  yield svg.box('green', 24, 48, 272, 56, 'client: graph, images, steps')
  yield svg.arrow('M160 106V148')
  yield svg.box('blue', 24, 150, 272, 56, 'server', 'first half of each layer')
  yield svg.area('blue', 380, 12, 252, 210, 'worker 1')
  yield svg.text(392, 80, 'no graph, no images of its own')
  yield svg.box('blue', 396, 150, 220, 56, 'server', 'second half')
  yield svg.arrow('M298 168H394', both=True)
  yield svg.text(346, 190, 'outputs', 'middle')
  yield svg.box('orange', 210, 286, 220, 56, 'ps 0', 'whole variables')
  yield svg.arrow('M260 284L160 208', both=True)
  yield svg.arrow('M380 284L506 208', both=True)
  yield svg.text(320, 258, 'slices, gradients', 'middle')


def main(folder):
  """Writes all pictures into the folder."""
  for draw, height in [(services, 420), (shared_queue, 216), (networks, 252),
                       (replication, 484), (divided, 354)]:
    svg.write(Path(folder, f'{draw.__name__}.svg'), height, draw())


if __name__ == '__main__':
  main(*sys.argv[1:])
