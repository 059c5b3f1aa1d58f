"""Evaluates the CIFAR-10 model: precision @ 1 of the newest checkpoints.

    python cifar10_eval.py                  alongside a trainer, to its end
    python cifar10_eval.py --run_once       the newest checkpoint only
    python cifar10_eval.py --checkpoint_dir=a --checkpoint_dir=b
                                            an ensemble of two networks, once

Every image counts exactly once, whatever the batch size.
"""

import contextlib
import dataclasses
import math
import os
import sys
import time
from typing import Any, NamedTuple

if not __package__:  # The package is one folder up.
  folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  # Run by its path, in place of this folder; imported, before the others.
  sys.path[:__name__ == '__main__'] = [folder]

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import flags
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import inference_graph
from cifar10.infer import precision
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.nets import variable_scope
from cifar10.run import train_dir
from cifar10.store import checkpoints
from cifar10.store import config
from cifar10.store import run_state
from cifar10.util import session_settings
from cifar10.util import summaries
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

GROUPS = ('data', 'download', 'input', 'model', 'checkpoint', 'ensemble',
          'inference', 'evaluation', 'answers', 'metrics', 'session')

# The regularizer is part of the loss that is shown.
_SETTINGS_OF_LOSS = ('regularizer', 'l1_scale', 'l2_scale')

# How long to wait for a checkpoint before looking whether the run is over.
_LOOK_SECS = 10


class EvalGraph(NamedTuple):
  """Handles of the evaluation graph."""

  correct: Any  # bool, [batch]: the right class has the largest logit.
  in_top_k: Any  # bool, [batch]: it has one of the k largest logits.
  loss: Any  # float32 scalar, the total loss of the batch.
  summaries: Any  # string scalar, images and activations of the batch.
  restorations: restore.Restorations  # Of the variables.
  num_iter: int  # Batches, and the end of the input.
  num_images: int  # In them, each to be counted once.


def evaluate(settings=None):
  """Evaluates checkpoints as they appear, up to the last one of the run.

  Raises UserError if the data or a checkpoint is unusable, or there is no
  checkpoint and `run_once` is set.
  """
  settings = settings or cifar10.settings_of_flags(
      'eval_dir', 'eval_data', 'checkpoint_dir', 'eval_interval_secs',
      'num_examples', 'run_once')
  answers = sys.stdout
  # As JSON, the results are alone on standard output.
  with contextlib.redirect_stdout(sys.stderr if settings.json else answers):
    if settings.networks:
      _evaluate_ensemble(settings, answers)
    else:
      _evaluate(settings, answers)


def _evaluate_ensemble(settings, answers):
  if settings.top_k:
    raise UserError(
        f'--top_k={settings.top_k}: an ensemble is evaluated for precision '
        '@ 1 only; leave it out')
  ensemble.newest(settings.networks)  # Raises before anything is fetched.
  paths = datasets.prepare(settings).files(settings.eval_data)
  with ensemble.loaded(settings) as networks:
    counts = ensemble.evaluate(networks, paths, settings.batch_size)
    precision.report_ensemble(counts, networks.folders, settings, answers)


def _evaluate(settings, answers):
  directory = settings.checkpoint_dir
  if settings.run_once:
    checkpoints.find(directory)  # Raises before anything is fetched or made.
  data = datasets.prepare(settings)
  evaluated = []  # Pairs of a checkpoint and its step.
  with tf.Graph().as_default() as default_graph:
    graph = build(data, settings)
    with summaries.EventFile(settings.eval_dir) as events:
      events.add_graph(default_graph)
      # A run that stops early may end with the checkpoint evaluated before.
      for checkpoint in new_checkpoints(
          settings, lambda: evaluated and _is_last(directory, *evaluated[-1])):
        due = time.monotonic() + settings.eval_interval_secs
        if not settings.run_once:
          _check_run(settings, data)
        if not evaluated:
          restore.announce(checkpoint)
        try:
          step = checkpoints.step(checkpoint)
          result, summary = eval_once(graph, checkpoint, settings)
        # Saver.restore raises ValueError if a trainer has just deleted it.
        except (UserError, ValueError, tf.errors.NotFoundError):
          if tf.train.checkpoint_exists(checkpoint):
            raise
          if settings.run_once:
            raise UserError(f'{checkpoint}: was deleted meanwhile') from None
          # A trainer with --max_to_keep has deleted it.
          print(f'{checkpoint} was deleted; looking for the next.')
          continue
        if result.total != graph.num_images:
          raise UserError(
              f'--eval_data={settings.eval_data}: read {result.total} images; '
              f'expected {graph.num_images}')
        events.add_summary(summary, step)
        events.add_summary(precision.summary(result, settings), step)
        precision.report(result, step, settings, answers)
        evaluated.append((checkpoint, step))
        if settings.run_once or _is_last(directory, checkpoint, step):
          return
        if len(evaluated) == 1:
          print(f'Waiting for later checkpoints in {directory}. Ctrl-C ends.')
        # Not by the iterator: no pause follows one that was deleted.
        time.sleep(max(0, due - time.monotonic()))


def _check_run(settings, data):
  """Raises UserError if the run is of other classes or another model.

  A trainer may have begun it after the evaluator read its settings.
  """
  directory = settings.checkpoint_dir
  run = config.load(directory)
  if run is None:
    return
  trained = run_state.trained_on(run_state.load(directory), run)
  datasets.check_fits(data, dataclasses.replace(settings, **trained))
  for name in _SETTINGS_OF_LOSS:
    built, value = getattr(settings, name), getattr(run, name)
    if built != value:
      print(f'WARNING: the loss is that of --{name}={built}, with which the '
            f'evaluator started; the run has {value}.')
  for name, value in run.of_groups('model').items():
    built = getattr(settings, name)
    if name not in settings.given and built != value:
      raise UserError(
          f'{directory}: a run with --{name}={value} has begun since the '
          f'evaluator started with {built}; start it again')


def _is_last(directory, checkpoint, step):
  """True if none will follow the checkpoint that was evaluated last."""
  if train_dir.is_of_trainer(directory):
    # If it is not the newest, the run has gone on, or a new one has begun.
    is_newest = checkpoint == checkpoints.latest(directory)
    return is_newest and config.is_last(directory, step)
  print(
      f'{directory} holds no config.json, which a trainer writes: not waiting '
      'for another checkpoint.')
  return True


def build(data, settings):
  """Builds the EvalGraph of `data` in the default graph."""
  images, labels = cifar10.inputs(settings.eval_data == 'test', settings)
  regularizer = variable_scope.regularizer(settings)
  with tf.variable_scope('', regularizer=regularizer):
    model = inference_graph.build(images, data, settings)
  loss = cifar10.loss(model.logits, labels)
  with tf.name_scope('softmax/'):
    summaries.histogram('softmax/activations', model.probabilities)
  num_images = data.count(data.files(settings.eval_data))
  # Whole batches, then a smaller one or the end of the input.
  num_iter = (math.ceil(settings.num_examples / settings.batch_size) or
              num_images // settings.batch_size + 1)
  return EvalGraph(
      correct=ranking.in_top_k(model.logits, labels, 1),
      in_top_k=ranking.in_top_k(model.logits, labels,
                                precision.top_k(settings)), loss=loss,
      summaries=tf.summary.merge_all(), restorations=model.restorations,
      num_iter=num_iter, num_images=min(num_images,
                                        num_iter * settings.batch_size))


def new_checkpoints(settings, is_over):
  """Yields the newest checkpoint whenever there is a new one.

  Ends when `is_over()` is true: no further one will come. Raises UserError if
  the file that names the newest checkpoint is damaged.
  """
  directory = settings.checkpoint_dir
  if checkpoints.latest(directory) is None:
    print(f'No checkpoint in {directory} yet; waiting for one. Ctrl-C ends.')
  try:
    yield from tf.train.checkpoints_iterator(directory, timeout=_LOOK_SECS,
                                             timeout_fn=is_over)
  except ValueError as error:
    raise UserError(
        f'{checkpoints.name_file(directory)}: names no checkpoint') from error


def eval_once(graph, checkpoint, settings):
  """Runs all images through the model, with the variables of `checkpoint`.

  Raises UserError if the checkpoint cannot be read or is of another model.

  Returns:
    result: precision.Result.
    summary: bytes, graph.summaries of the first batch.
  """
  saver = graph.restorations.fitting(checkpoint, settings.use_moving_averages)
  proto = session_settings.config_proto(settings, settings.eval_device == 'gpu')
  correct = in_top_k = total = loss = step = 0
  summary = None
  with tf.Session(config=proto) as sess:
    saver.restore(sess, checkpoint)
    # The input counts its epochs in a local variable.
    sess.run([variable.initializer for variable in tf.local_variables()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with coord.stop_on_exception():  # The end of the input is no error.
      while step < graph.num_iter and not coord.should_stop():
        fetches = [graph.correct, graph.in_top_k, graph.loss]
        if step == 0:
          fetches.append(graph.summaries)
        top_1, top_k, batch_loss, *first = sess.run(fetches)
        correct += int(top_1.sum())
        in_top_k += int(top_k.sum())
        total += len(top_1)
        loss += float(batch_loss) * len(top_1)
        summary = first[0] if first else summary
        step += 1
    coord.request_stop()
    coord.join(threads, ignore_live_threads=True)
  loss /= max(1, total)
  averaged = saver is graph.restorations.averaged
  result = precision.Result(correct, in_top_k, total, loss, averaged)
  return result, summary


def main(argv=None):
  """The console command; reads the flags from sys.argv."""
  del argv  # Of tf.app.run.
  flags.run(evaluate, GROUPS, __doc__)


if __name__ == '__main__':
  main()
