"""Evaluates the CIFAR-10 model: precision @ 1 of the newest checkpoints.

    python cifar10_eval.py                  alongside a trainer, to its end
    python cifar10_eval.py --run_once       the newest checkpoint only
    python cifar10_eval.py --checkpoint_dir=a --checkpoint_dir=b
                                            an ensemble of two networks, once

Every image counts exactly once, whatever the batch size.
"""

import contextlib
import os
import sys
from typing import Any, NamedTuple

if not __package__:  # Run by its path: the package is one folder up.
  sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import flags
from cifar10.store import config
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.nets import regularizers
from cifar10.infer import ensemble
from cifar10.infer import inference_graph
from cifar10.infer import precision
from cifar10.infer import ranking
from cifar10.infer import restore
from cifar10.store import checkpoints
from cifar10.run import train_dir
from cifar10.util import event_file
from cifar10.util import session_settings
from cifar10.util import summaries
import tensorflow.compat.v1 as tf

GROUPS = (
  'data',
  'download',
  'input',
  'model',
  'checkpoint',
  'ensemble',
  'inference',
  'evaluation',
  'answers',
  'metrics',
  'session',
)


# How long to wait for a checkpoint before looking whether the run is over.
_LOOK_SECS = 10


class EvalGraph(NamedTuple):
  """Handles of the evaluation graph.

  Attributes:
    correct: bool tensor, [batch]; whether the right class has the top logit.
    in_top_k: bool tensor, [batch]; whether it has one of the top k logits.
    loss: float32 scalar tensor, the total loss of the batch.
    summaries: string scalar tensor, images and activations of the batch.
    restorations: restore.Restorations of the variables.
  """

  correct: Any
  in_top_k: Any
  loss: Any
  summaries: Any
  restorations: restore.Restorations


def evaluate(settings):
  """Evaluates checkpoints as they appear, up to the last one of the run.

  Raises:
    UserError: the data or a checkpoint is unusable; or there is no checkpoint
      and `run_once` is set.
  """
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
      '--top_k=%d: of an ensemble, precision @ 1 is evaluated; leave it out'
      % settings.top_k
    )
  data = datasets.prepare(settings)
  paths = data.files(settings.eval_data)
  with ensemble.loaded(settings) as networks:
    counts = ensemble.evaluate(networks, paths, settings.batch_size)
    precision.report_ensemble(counts, networks.folders, settings, answers)


def _evaluate(settings, answers):
  data = datasets.prepare(settings)
  directory = settings.checkpoint_dir
  num_images = data.count(data.files(settings.eval_data))
  if settings.run_once:
    checkpoints.find(directory)  # Raises before an event file is made.
  with tf.Graph().as_default() as default_graph:
    graph = build(data, settings)
    with event_file.EventFile(settings.eval_dir) as events:
      events.add_graph(default_graph)
      evaluated = []  # The steps.
      # A run that stops early may end with the checkpoint evaluated before.
      for checkpoint in new_checkpoints(
        settings,
        lambda: evaluated and _is_last(directory, evaluated[-1]),
      ):
        try:
          step = checkpoints.step(checkpoint)
          result, summary = eval_once(graph, checkpoint, settings)
        # What a trainer deletes meanwhile, Saver.restore calls a ValueError.
        except (UserError, ValueError, tf.errors.NotFoundError):
          if tf.train.checkpoint_exists(checkpoint):
            raise
          if settings.run_once:
            raise UserError('%s: was deleted meanwhile' % checkpoint) from None
          # A trainer with --max_to_keep has deleted it.
          print('%s was deleted; waiting for the next.' % checkpoint)
          continue
        _check_total(result, num_images, settings.eval_data)
        events.add_summary(summary, step)
        events.add_summary(precision.summary(result, settings), step)
        precision.report(result, step, settings, answers)
        evaluated.append(step)
        if settings.run_once or _is_last(directory, step):
          return


def _is_last(directory, step):
  """Whether no checkpoint will follow the newest one, of global step `step`."""
  if train_dir.is_of_trainer(directory):
    return config.is_last(directory, step)
  print(
    '%s holds no config.json, which a trainer writes: not waiting for another '
    'checkpoint.' % directory
  )
  return True


def build(data, settings):
  """Builds the evaluation graph in the default graph.

  Args:
    data: datasets.DataSet.

  Returns:
    EvalGraph.
  """
  images, labels = cifar10.inputs(settings.eval_data == 'test', settings)
  regularizer = regularizers.create(settings)
  with tf.variable_scope('', regularizer=regularizer):
    model = inference_graph.build(images, data, settings)
  loss = cifar10.loss(model.logits, labels)
  with tf.name_scope('softmax/'):
    summaries.histogram('softmax/activations', model.probabilities)
  return EvalGraph(
    correct=ranking.in_top_k(model.logits, labels, 1),
    in_top_k=ranking.in_top_k(model.logits, labels, precision.top_k(settings)),
    loss=loss,
    summaries=tf.summary.merge_all(),
    restorations=model.restorations,
  )


def new_checkpoints(settings, is_over=lambda: False):
  """Yields the newest checkpoint whenever there is a new one.

  Args:
    is_over: function that returns whether no further checkpoint will come.

  Raises:
    UserError: the file that names the newest checkpoint is damaged.
  """
  directory = settings.checkpoint_dir
  if checkpoints.latest(directory) is None:
    print('No checkpoint in %s yet; waiting.' % directory)
  try:
    yield from tf.train.checkpoints_iterator(
      directory,
      min_interval_secs=settings.eval_interval_secs,
      timeout=_LOOK_SECS,
      timeout_fn=is_over,
    )
  except ValueError as error:
    raise UserError(
      '%s: names no checkpoint' % os.path.join(directory, 'checkpoint')
    ) from error


def eval_once(graph, checkpoint, settings):
  """Runs all images through the model, with the variables of `checkpoint`.

  Args:
    graph: EvalGraph.
    checkpoint: path of a checkpoint.

  Returns:
    result: precision.Result.
    summary: bytes, graph.summaries of the first batch.

  Raises:
    UserError: the checkpoint cannot be read or is of another model.
  """
  averaged = restore.uses_averages(checkpoint, settings.use_moving_averages)
  creator = tf.train.ChiefSessionCreator(
    restore.fitting_scaffold(graph.restorations, checkpoint, averaged),
    config=session_settings.config_proto(
      settings, use_gpu=settings.eval_device == 'gpu'
    ),
    checkpoint_filename_with_path=checkpoint,
  )
  correct, in_top_k, total, loss = 0, 0, 0, 0.0
  summary = None
  # The session ends without an error after the last image.
  with tf.train.MonitoredSession(creator) as session:
    while not session.should_stop():
      fetches = {
        'correct': graph.correct,
        'in_top_k': graph.in_top_k,
        'loss': graph.loss,
      }
      if summary is None:
        fetches['summary'] = graph.summaries
      batch = session.run(fetches)
      summary = batch.get('summary', summary)
      size = len(batch['correct'])
      correct += int(batch['correct'].sum())
      in_top_k += int(batch['in_top_k'].sum())
      total += size
      loss += float(batch['loss']) * size
  loss /= max(1, total)
  result = precision.Result(correct, in_top_k, total, loss, averaged)
  return result, summary


def _check_total(result, num_images, eval_data):
  """Checks that the files hold as many images as at the start."""
  if result.total != num_images:
    raise UserError(
      '--eval_data=%s: read %d images; expected %d'
      % (eval_data, result.total, num_images)
    )


def main():
  """The console command."""
  flags.run(evaluate, GROUPS, __doc__)


if __name__ == '__main__':
  main()
