#!/usr/bin/env python
"""Makes random faults happen to real processes, and checks what follows.

    python scripts/faults.py --count=1000 --seed=7 --jobs=2
    python scripts/faults.py --class=cluster --count=20
    python scripts/faults.py --one=123456789

Prints a line for each fault, and at the end a table by class. For each failure
it prints the command that repeats the fault, and the output of its processes.
The status is 1 if a fault failed. As root it also fills small file systems,
which are mounted in a name space of its own, and has files hang.
"""

import ctypes
import os
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# There are several processes, and one core is enough for each.
os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

_CLONE_NEWNS = 0x00020000
_MS_REC_PRIVATE = 0x4000 | 0x40000


def own_mounts():
  """Gives this process its own mounts, which end with it; needs root."""
  libc = ctypes.CDLL(None, use_errno=True)
  if libc.unshare(_CLONE_NEWNS) or libc.mount(
      b'none', b'/', None, ctypes.c_ulong(_MS_REC_PRIVATE), None):
    sys.exit('cannot mount: %s' % os.strerror(ctypes.get_errno()))


def main():
  """Reads the flags and runs the campaign; exits with its status."""
  if os.geteuid() == 0:
    own_mounts()
  from cifar10.util import arguments
  from tests import processes
  from tests.faults import campaign

  processes.heed_signals()

  parser = arguments.Parser(__doc__, allow_abbrev=False)
  parser.add_argument('--count', default=100, help='how many faults')
  parser.add_argument('--seed', default=1, help='draws the faults')
  parser.add_argument('--jobs', default=2, help='faults at the same time')
  parser.add_argument(
      '--class', dest='groups', action='append', choices=campaign.GROUPS,
      help='only faults of this class; may be given several times')
  parser.add_argument('--one', type=int, help='the seed of a fault to repeat')
  parser.add_argument(
      '--out',
      help='JSON file of the results so far; what has come out well there is '
      'not run again')
  parser.add_argument('--keep', action='store_true',
                      help='keep the folders of the faults')
  args = parser.parse_args()
  if args.one is not None:
    faults = [campaign.fault_of(args.one)]
  else:
    faults = campaign.draw(args.count, args.seed, args.groups or
                           campaign.GROUPS)
  sys.exit(campaign.main(faults, args.jobs, args.out, args.keep))


if __name__ == '__main__':
  main()
