#!/usr/bin/env python
"""Draws the diagrams of docs/distributed.md that are about who runs what.

    python scripts/pages/draw_clusters.py docs

Writes executor.svg, services.svg, shared_queue.svg, networks.svg,
replication.svg and divided.svg into the folder.
"""

import sys

import svg


def executor():
  """Operations with their counters, and who runs those that are ready."""
  yield svg.area('gray', 8, 12, 232, 306, 'operations')
  ops = [('blue', 20, 52, 'A 0'), ('blue', 74, 52, 'B 0'),
         ('orange', 128, 52, 'F 0'), ('orange', 182, 52, 'G 0'),
         ('blue', 20, 138, 'C 1'), ('blue', 74, 138, 'D 2'),
         ('orange', 155, 138, 'H 2'), ('blue', 114, 222, 'E 2')]
  for kind, x, y, name in ops:
    yield svg.box(kind, x, y, 46, 36, name)
  for path in [
      'M43 90V136', 'M48 90L92 136', 'M97 90V136', 'M151 90L172 136',
      'M205 90L184 136', 'M100 176L130 220', 'M178 176L146 220'
  ]:
    yield svg.arrow(path)
  yield svg.text(20, 286, 'The number counts the')
  yield svg.text(20, 306, 'inputs still missing.')
  for kind, y, title, names in [('blue', 12, 'CPU: two at a time', 'BA'),
                                ('orange', 172, 'GPU: one after another', 'GF')
                               ]:
    yield svg.area(kind, 256, y, 376, 146, title)
    for number, name in enumerate(names):
      yield svg.box(kind, 268 + 40 * number, y + 58, 38, 36, name)
    yield svg.text(306, y + 122, 'ready', 'middle')
  yield svg.box('blue', 384, 52, 92, 34, 'thread 1')
  yield svg.box('blue', 384, 94, 92, 34, 'thread 2')
  yield svg.text(430, 148, 'inter-op pool', 'middle')
  yield svg.arrow('M348 84L382 70')
  yield svg.arrow('M348 94L382 110')
  yield svg.box('gray', 500, 52, 122, 76, 'threads share', 'one operation')
  yield svg.text(561, 148, 'intra-op pool', 'middle')
  yield svg.arrow('M478 69H498')
  yield svg.arrow('M478 111H498')
  yield svg.box('orange', 384, 226, 92, 44, 'one stream')
  yield svg.arrow('M348 248H382')
  yield svg.box('gray', 500, 212, 122, 72, 'cores share', 'one operation')
  yield svg.arrow('M478 248H498')


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
  svg.write_all(folder, [(executor, 326), (services, 420), (shared_queue, 216),
                         (networks, 252), (replication, 484), (divided, 354)])


if __name__ == '__main__':
  main(*sys.argv[1:])
