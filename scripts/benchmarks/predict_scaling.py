#!/usr/bin/env python
"""Predicts the throughput of large clusters from measurements of small ones.

    python scripts/benchmarks/predict_scaling.py \\
        --step_secs=0.096 --update_secs=0.012

Prints two tables, in Markdown. docs/results/clusters.md explains the model: a
step computes, reads the variables and sends gradients through full-duplex
links, and the parameter servers apply the gradients of each worker.
"""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cifar10.util import arguments

_WORKERS = [8, 16, 32, 64, 128, 256, 1024]


def synchronous(workers, num_ps, link, args):
  """Examples per second with --sync; `link` is in bytes per second."""
  # All workers read at once, and then send at once.
  way = max(args.bytes / link, workers * args.bytes / (num_ps * link))
  updates = workers * args.update_secs / num_ps
  return workers * args.batch_size / (args.step_secs + 2 * way + updates)


def asynchronous(workers, num_ps, link, args):
  """Examples per second with --nosync; `link` is in bytes per second."""
  alone = args.step_secs + 2 * args.bytes / link + args.update_secs / num_ps
  steps = min(
      workers / alone,  # The limit is the workers,
      num_ps * link / args.bytes,  # the links of the parameter servers,
      num_ps / args.update_secs  # or their updates.
  )
  return args.batch_size * steps


def main():
  """Reads the flags and predicts."""
  parser = arguments.Parser(__doc__)
  add = parser.add_argument
  positive = arguments.number(float, 1e-9, 1e12)
  count = arguments.number(int, 1, 10**9)
  add('--step_secs', type=positive, required=True,
      help='seconds to compute a batch')
  add(
      '--update_secs', type=positive, required=True,
      help='seconds in which one parameter server applies all gradients of a '
      'worker')
  add('--bytes', type=positive, default=4.273e6,
      help='bytes each way in a step')
  add('--batch_size', type=count, default=128, help='of a worker')
  add('--gbits', type=positive, nargs='+', default=[10, 100],
      help='Gbit/s of each link')
  add('--num_ps', type=count, nargs='+', default=[1, 16],
      help='numbers of parameter servers')
  add('--workers', type=count, nargs='+', default=_WORKERS,
      help='numbers of workers')
  parser.run(predict)


def predict(args):
  """Prints the tables."""
  columns = [(gbit, ps) for gbit in args.gbits for ps in args.num_ps]
  for name, predicted in (('sync', synchronous), ('async', asynchronous)):
    heads = ['%g Gbit/s, %d ps' % column for column in columns]
    print('| %s, workers | %s |' % (name, ' | '.join(heads)))
    print('|---|' + '---:|' * len(columns))
    for workers in args.workers:
      rates = (predicted(workers, num_ps, gbit * 1e9 / 8, args)
               for gbit, num_ps in columns)
      cells = ' | '.join('{:,.0f}'.format(rate) for rate in rates)
      print('| %d | %s |' % (workers, cells))
    print()


if __name__ == '__main__':
  main()
