"""Evaluates the CIFAR-10 model: precision @ 1 for each new checkpoint.

    python cifar10_eval.py                  beside a trainer, until it is done
    python cifar10_eval.py --run_once       the newest checkpoint only

Every image counts exactly once, whatever the batch size.
"""

import os
import sys
import time
from typing import Any, NamedTuple

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it imports TensorFlow without its start-up chatter.
from cifar10.training import checkpoints
from cifar10 import cifar10
from cifar10 import cli
from cifar10 import config as config_lib
from cifar10.data import datasets
from cifar10.training import hooks
from cifar10.serving import restore
from cifar10.util import session_settings
from cifar10.util import summaries
from cifar10.errors import UserError
import tensorflow.compat.v1 as tf

_POLL_SECS = 1

_FLAGS = cli.COMMON_FLAGS + (
  'checkpoint_dir',
  'eval_dir',
  'eval_data',
  'eval_interval_secs',
  'run_once',
  'use_moving_averages',
  'eval_device',
)


class EvalGraph(NamedTuple):
  """Handles of the evaluation graph.

  Attributes:
    correct: bool tensor, [batch]; whether the right class has the top logit.
    loss: float32 scalar tensor, the total loss of the batch.
    summaries: string scalar tensor, images and activations of the batch.
    restorations: restore.Restorations of the variables.
  """

  correct: Any
  loss: Any
  summaries: Any
  restorations: restore.Restorations


class Result(NamedTuple):
  """What one evaluation found: counts of images, and their mean loss."""

  correct: int
  total: int
  loss: float

  @property
  def precision(self):
    return self.correct / self.total


def evaluate(config):
  """Evaluates checkpoints as they appear, up to the last one of the run.

  Args:
    config: Config.

  Raises:
    UserError: the data or a checkpoint is unusable; or there is no checkpoint
      and `config.run_once` is set.
  """
  data = datasets.prepare(config)
  with tf.Graph().as_default() as default_graph:
    graph = build(data, config)
    with tf.summary.FileWriter(config.eval_dir, default_graph) as writer:
      for checkpoint in new_checkpoints(config):
        try:
          step = checkpoints.step(checkpoint)
          result, summary = evaluate_checkpoint(graph, checkpoint, config)
        except (UserError, tf.errors.NotFoundError):
          if config.run_once or tf.train.checkpoint_exists(checkpoint):
            raise
          # A trainer with --max_to_keep was faster.
          print('%s was deleted; waiting for the next.' % checkpoint)
          continue
        _check_total(result, data.count(data.files(config.eval_data)), config)
        print(
          '%s: precision @ 1 = %.3f (%d / %d, step %d)'
          % (
            hooks.timestamp(),
            result.precision,
            result.correct,
            result.total,
            step,
          )
        )
        writer.add_summary(summary, step)
        writer.add_summary(_scalars(result), step)
        writer.flush()


def build(data, config):
  """Builds the evaluation graph in the default graph.

  Args:
    data: datasets.DataSet.
    config: Config.

  Returns:
    EvalGraph.
  """
  images, labels = cifar10.inputs(data, config)
  logits = cifar10.inference(
    images, len(data.classes), config.precision, config.top_layers
  )
  loss = cifar10.loss(logits, labels)
  probabilities = cifar10.softmax(logits)
  with tf.name_scope('softmax/'):
    summaries.histogram('softmax/activations', probabilities)
  return EvalGraph(
    correct=tf.nn.in_top_k(logits, labels, 1),
    loss=loss,
    summaries=tf.summary.merge_all(),
    restorations=restore.build(config),
  )


def new_checkpoints(config):
  """Yields the newest checkpoint each time that there is a new one.

  Ends with the last one of the run, or with the first if `config.run_once`.
  """
  evaluated = None
  told = False
  while True:
    started = time.time()
    checkpoint = checkpoints.latest(config.checkpoint_dir)
    if checkpoint is None and config.run_once:
      raise UserError('%s: holds no checkpoint' % config.checkpoint_dir)
    if checkpoint is None and not told:
      print('No checkpoint in %s yet; waiting.' % config.checkpoint_dir)
      told = True
    if checkpoint not in (None, evaluated):
      yield checkpoint
      evaluated = checkpoint
      if config.run_once or _is_last(checkpoint, config):
        return
      time.sleep(max(0, started + config.eval_interval_secs - time.time()))
    time.sleep(_POLL_SECS)


def evaluate_checkpoint(graph, checkpoint, config):
  """Runs all images through the model, with the variables of `checkpoint`.

  Args:
    graph: EvalGraph.
    checkpoint: path of a checkpoint.
    config: Config.

  Returns:
    result: Result.
    summary: bytes, graph.summaries of the first batch.

  Raises:
    UserError: the checkpoint cannot be read or is of another model.
  """
  creator = tf.train.ChiefSessionCreator(
    restore.fitting_scaffold(graph.restorations, checkpoint, config),
    config=session_settings.config_proto(config, config.eval_device == 'gpu'),
    checkpoint_filename_with_path=checkpoint,
  )
  correct, total, loss = 0, 0, 0.0
  summary = None
  # The session ends without an error behind the last image.
  with tf.train.MonitoredSession(creator) as session:
    while not session.should_stop():
      fetches = {'correct': graph.correct, 'loss': graph.loss}
      if summary is None:
        fetches['summary'] = graph.summaries
      batch = session.run(fetches)
      summary = batch.get('summary', summary)
      size = len(batch['correct'])
      correct += int(batch['correct'].sum())
      total += size
      loss += float(batch['loss']) * size
  return Result(correct, total, loss / max(1, total)), summary


def _check_total(result, expected, config):
  if result.total != expected:
    raise UserError(
      '--eval_data=%s: read %d images; expected %d'
      % (config.eval_data, result.total, expected)
    )


def _is_last(checkpoint, config):
  """Whether the run that wrote `checkpoint` goes no further."""
  run = config_lib.load(config.checkpoint_dir)
  if run is None or not tf.train.checkpoint_exists(checkpoint):
    return False
  return checkpoints.step(checkpoint) >= run.max_steps


def _scalars(result):
  summary = tf.Summary()
  summary.value.add(tag='Precision @ 1', simple_value=result.precision)
  summary.value.add(tag='loss', simple_value=result.loss)
  return summary


def main():
  """The console command."""
  cli.run(evaluate, _FLAGS, __doc__)


if __name__ == '__main__':
  main()
