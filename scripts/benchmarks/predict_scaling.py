#!/usr/bin/env python
"""Predicts the throughput of large clusters from measurements of small ones.

    python scripts/benchmarks/predict_scaling.py --step_secs=0.066 --update_secs=0.004

The model is told in docs/distributed.md: a step computes, reads the variables
and sends gradients through links that carry both ways at once, and the
parameter servers take in the gradients of each worker.
"""

import argparse


def synchronous(workers, num_ps, link, args):
  """Examples per second with --sync; `link` is in bytes per second."""
  # All workers read at once, and then send at once.
  way = max(args.bytes / link, workers * args.bytes / (num_ps * link))
  updates = workers * args.update_secs / num_ps
  return workers * args.batch_size / (args.step_secs + 2 * way + updates)


def asynchronous(workers, num_ps, link, args):
  """Examples per second with --nosync."""
  alone = args.step_secs + 2 * args.bytes / link + args.update_secs / num_ps
  steps = min(
    workers / alone,  # The workers are the limit,
    num_ps * link / args.bytes,  # the links of the parameter servers,
    num_ps / args.update_secs,  # or what those do with gradients.
  )
  return args.batch_size * steps


def main():
  """Reads the flags and prints the table, in Markdown."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    '--step_secs', type=float, required=True, help='to compute a batch'
  )
  parser.add_argument(
    '--update_secs',
    type=float,
    required=True,
    help='for one parameter server to take in all gradients of a worker',
  )
  parser.add_argument(
    '--bytes', type=float, default=4.273e6, help='each way, for each step'
  )
  parser.add_argument('--batch_size', type=int, default=128)
  parser.add_argument(
    '--gbits', type=float, nargs='+', default=[10, 100], help='of each link'
  )
  parser.add_argument('--num_ps', type=int, nargs='+', default=[1, 16])
  parser.add_argument(
    '--workers', type=int, nargs='+', default=[8, 16, 32, 64, 128, 256, 1024]
  )
  args = parser.parse_args()
  columns = [(gbit, ps) for gbit in args.gbits for ps in args.num_ps]
  for name, predict in (('sync', synchronous), ('async', asynchronous)):
    heads = ['%g Gbit/s, %d ps' % column for column in columns]
    print('| %s, workers | %s |' % (name, ' | '.join(heads)))
    print('|---|' + '---:|' * len(columns))
    for workers in args.workers:
      rates = (
        predict(workers, num_ps, gbit * 1e9 / 8, args)
        for gbit, num_ps in columns
      )
      cells = ' | '.join('{:,.0f}'.format(rate) for rate in rates)
      print('| %d | %s |' % (workers, cells))
    print()


if __name__ == '__main__':
  main()
