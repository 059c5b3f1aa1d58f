#!/usr/bin/env python
"""Predicts the throughput of large clusters from measurements of small ones.

    python scripts/benchmarks/predict_scaling.py \\
        --step_secs=0.096 --update_secs=0.012

Prints two tables, in Markdown. docs/results/clusters.md explains the model: a
step computes, reads the variables and sends gradients through full-duplex
links, and the parameter servers apply the gradients of each worker.
"""

import package_path
from cifar10.tools import variants
from cifar10.util import arguments

_WORKERS = [8, 16, 32, 64, 128, 256, 1024]
_BATCH_SIZE, _BYTES = 128, 4.273e6  # Of a worker; each way in a step.
# Gbit/s of each link, and parameter servers.
_COLUMNS = [(10, 1), (10, 16), (100, 1), (100, 16)]


def synchronous(workers, num_ps, link, step_secs, update_secs):
  """Examples per second with --sync; `link` is in bytes per second."""
  # All workers read at once, and then send at once.
  way = max(_BYTES / link, workers * _BYTES / (num_ps * link))
  updates = workers * update_secs / num_ps
  return workers * _BATCH_SIZE / (step_secs + 2 * way + updates)


def asynchronous(workers, num_ps, link, step_secs, update_secs):
  """Examples per second with --nosync; `link` is in bytes per second."""
  alone = step_secs + 2 * _BYTES / link + update_secs / num_ps
  steps = min(
      workers / alone,  # The limit is the workers,
      num_ps * link / _BYTES,  # the links of the parameter servers,
      num_ps / update_secs  # or their updates.
  )
  return _BATCH_SIZE * steps


def tables(step_secs, update_secs):
  """The tables of both, in Markdown."""
  heads = [f'{gbit} Gbit/s, {num_ps} ps' for gbit, num_ps in _COLUMNS]
  for name, predict in (('sync', synchronous), ('async', asynchronous)):
    rows = []
    for workers in _WORKERS:
      rates = (predict(workers, num_ps, gbit * 1e9 / 8, step_secs, update_secs)
               for gbit, num_ps in _COLUMNS)
      rows.append([str(workers), *map('{:,.0f}'.format, rates)])
    yield variants.table([f'{name}, workers', *heads], rows, right=range(1, 5))


if __name__ == '__main__':
  parser = arguments.Parser(__doc__)
  positive = arguments.number(float, 1e-9, 1e12)
  parser.add_argument('--step_secs', type=positive, required=True,
                      help='seconds to compute a batch')
  parser.add_argument(
      '--update_secs', type=positive, required=True,
      help='seconds in which one parameter server applies all gradients of a '
      'worker')
  parser.run(
      lambda args: print(*tables(args.step_secs, args.update_secs), sep='\n\n'))
