#!/usr/bin/env python
"""Predicts the throughput of large clusters from measurements of small ones.

    python scripts/benchmarks/predict_scaling.py \\
        --step_secs=0.096 --update_secs=0.012

Prints two tables, in Markdown. docs/results/clusters.md explains the model: a
step computes, reads the variables and sends gradients through full-duplex
links, and the parameter servers apply the gradients of each worker.
"""

import argparse


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
  """Reads the flags and prints the tables."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--step_secs', type=float, required=True,
                      help='seconds to compute a batch')
  parser.add_argument(
      '--update_secs', type=float, required=True,
      help='seconds in which one parameter server applies all gradients of a '
      'worker')
  parser.add_argument('--bytes', type=float, default=4.273e6,
                      help='bytes each way in a step (default %(default)g)')
  parser.add_argument('--batch_size', type=int, default=128,
                      help='of a worker (%(default)s)')
  parser.add_argument('--gbits', type=float, nargs='+', default=[10, 100],
                      help='Gbit/s of each link (default %(default)s)')
  parser.add_argument('--num_ps', type=int, nargs='+', default=[1, 16],
                      help='numbers of parameter servers (default %(default)s)')
  parser.add_argument('--workers', type=int, nargs='+',
                      default=[8, 16, 32, 64, 128, 256, 1024],
                      help='numbers of workers (default %(default)s)')
  args = parser.parse_args()
  columns = [(gbit, ps) for gbit in args.gbits for ps in args.num_ps]
  for name, predict in (('sync', synchronous), ('async', asynchronous)):
    heads = ['%g Gbit/s, %d ps' % column for column in columns]
    print('| %s, workers | %s |' % (name, ' | '.join(heads)))
    print('|---|' + '---:|' * len(columns))
    for workers in args.workers:
      rates = (predict(workers, num_ps, gbit * 1e9 / 8, args)
               for gbit, num_ps in columns)
      cells = ' | '.join('{:,.0f}'.format(rate) for rate in rates)
      print('| %d | %s |' % (workers, cells))
    print()


if __name__ == '__main__':
  main()
