"""The flags of the tutorial's five programs, for old programs."""

import sys

from absl import flags as absl_flags

from cifar10.settings import FIELDS
from cifar10.util import paths

DEFAULTS = {
    name: FIELDS[name].default for name in (
        'batch_size data_dir train_dir max_steps log_device_placement '
        'log_frequency eval_dir eval_data checkpoint_dir eval_interval_secs '
        'run_once num_gpus').split()
}
DEFAULTS.update(use_fp16=False, num_examples=10000)

# The functions that define a flag, by the type of its values.
DEFINE = {
    bool: absl_flags.DEFINE_boolean,
    int: absl_flags.DEFINE_integer,
    float: absl_flags.DEFINE_float,
    str: absl_flags.DEFINE_string
}


def define():
  """Defines the tutorial's flags, unless the program has or will."""
  for name, default in DEFAULTS.items():
    if name not in absl_flags.FLAGS:
      DEFINE[type(default)](name, default, "The tutorial's.",
                            module_name='cifar10', allow_override=True)
  program = sys.argv[0] if sys.argv else ''  # None if embedded in another one.
  if any(name in program for name in ('ipykernel', 'colab_kernel')):
    absl_flags.FLAGS.mark_as_parsed()


def chosen(*names):
  """The settings that some of the tutorial's flags choose, a dict.

  With `given`, the names of those that are not the defaults. Empty in a program
  of this project, which has settings in their place. Raises UserError if the
  default of a folder belongs to another user.
  """
  defined = absl_flags.FLAGS
  if 'use_fp16' not in defined:
    return {}
  if not defined.is_parsed():  # The program has no tf.app.run.
    # These flags alone: to the others, the program may give another meaning.
    own = absl_flags.FlagValues()
    for name in names:
      own[name] = defined[name]
    own(sys.argv, known_only=True)
  given = [name for name in names if not defined[name].using_default_value]
  found = {name: defined[name].value for name in names}
  paths.refuse_defaults(found, given)
  if found.pop('use_fp16', False):
    found['precision'] = 'float16'
  return dict(found, given=frozenset(given))
