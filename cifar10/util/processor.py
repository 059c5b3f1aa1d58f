"""The processor's features. In use before TensorFlow is imported."""

import os

_CPU_INFO = '/proc/cpuinfo'


def features():
  """The names of the processor's features, a set of str; empty if unknown."""
  try:
    with open(_CPU_INFO) as file:
      return set(file.read().split())
  except OSError:
    return set()


def use_onednn():
  """Makes TensorFlow 2 compute with oneDNN on all processors with AVX2.

  Call this first. TF_ENABLE_ONEDNN_OPTS=0 in the environment turns it off.
  """
  if 'avx2' in features():
    os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '1')
