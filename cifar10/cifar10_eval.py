"""Evaluates the CIFAR-10 model: precision @ 1 of the newest checkpoints.

    python cifar10_eval.py                  alongside a trainer, to its end
    python cifar10_eval.py --run_once       the newest checkpoint only
    python cifar10_eval.py --checkpoint_dir=a --checkpoint_dir=b
                                            an ensemble of two networks, once
"""

import os
import sys
import time
from typing import Any, NamedTuple

if not __package__:  # The package is one folder up.
  package = os.path.dirname(os.path.abspath(__file__))
  sys.path.insert(0, os.path.dirname(package))

# The package first: it hides the start-up messages of TensorFlow.
from cifar10 import cifar10
from cifar10 import flags
from cifar10.data import datasets
from cifar10.errors import UserError
from cifar10.infer import ensemble
from cifar10.infer import inference_graph
from cifar10.infer import precision
from cifar10.infer import ranking
from cifar10.infer.follower import Follower
from cifar10.nets import variable_scope
from cifar10.store import checkpoints
from cifar10.util import summaries
import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS

GROUPS = ('data', 'download', 'input', 'model', 'checkpoint', 'ensemble',
          'inference', 'evaluation', 'answers', 'metrics', 'session')


class EvalGraph(NamedTuple):
  """Handles of the evaluation graph."""

  top_1_op: Any  # bool, [batch]: the right class has the largest logit.
  top_k_op: Any  # bool, [batch]: it has one of the k largest logits.
  loss: Any  # float32 scalar, the total loss of the batch.
  summary_op: Any  # string scalar, images and activations of the batch.
  savers: Any  # restore.Savers of the variables.
  num_iter: int  # Batches; the last one is smaller, or ends the input.
  num_images: int  # Images in them, each to be counted once.


def eval_once(graph, checkpoint, settings):
  """Runs all images through the model, with the variables of `checkpoint`.

  Returns a precision.Result, and the bytes of the first batch's summaries.
  Raises UserError if the checkpoint cannot be read or is of another model.
  """
  # Restores the moving averages, unless told otherwise.
  saver = graph.savers.choose(checkpoint, settings.use_moving_averages)
  true_count = in_top_k = total = loss = step = 0
  summary = None
  with inference_graph.session(settings) as sess:
    saver.restore(sess, checkpoint)
    # The input counts its epochs in a local variable.
    sess.run([variable.initializer for variable in tf.local_variables()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with coord.stop_on_exception():  # OutOfRangeError only ends the input.
      while step < graph.num_iter and not coord.should_stop():
        fetches = [graph.top_1_op, graph.top_k_op, graph.loss]
        if step == 0:
          fetches.append(graph.summary_op)
        top_1, top_k, batch_loss, *first = sess.run(fetches)
        summary = first[0] if first else summary
        true_count += int(top_1.sum())
        in_top_k += int(top_k.sum())
        total += len(top_1)
        loss += float(batch_loss) * len(top_1)
        step += 1
    coord.request_stop()
    coord.join(threads, ignore_live_threads=True)
  if total != graph.num_images:
    raise UserError(f'--eval_data={settings.eval_data}: read {total} images; '
                    f'expected {graph.num_images}')
  is_averaged = saver is graph.savers.averaged
  result = precision.Result(true_count, in_top_k, total, loss / total,
                            is_averaged)
  return result, summary


def evaluate(settings=None):
  """Evaluates checkpoints as they appear, up to the last one of the run.

  Of several networks it evaluates the ensemble, once. Raises UserError if the
  data or a checkpoint is unusable, or missing when `run_once` is set.
  """
  settings = settings or cifar10.settings_of_flags(
      'eval_dir', 'eval_data', 'checkpoint_dir', 'eval_interval_secs',
      'num_examples', 'run_once')
  with precision.answers(settings) as answers:
    evaluate_model = ensemble.evaluate if settings.networks else _evaluate
    evaluate_model(settings, answers)


def _evaluate(settings, answers):
  follower = Follower(settings)
  data = datasets.prepare(settings)
  with tf.Graph().as_default() as default_graph:
    graph = build(data, settings)
    with summaries.EventFile(settings.eval_dir) as summary_writer:
      summary_writer.add_graph(default_graph)
      for checkpoint in follower.new_checkpoints(data):
        due = time.monotonic() + settings.eval_interval_secs
        found = None
        with follower.unless_deleted(checkpoint):
          step = checkpoints.step(checkpoint)
          found = eval_once(graph, checkpoint, settings)
        if found is None:
          continue
        result, summary = found
        summary = precision.add_to_summary(summary, result, settings)
        summary_writer.add_summary(summary, step)
        precision.report(result, step, settings, answers)
        if settings.run_once or follower.note_evaluated(checkpoint, step):
          break
        time.sleep(max(0, due - time.monotonic()))


def build(data, settings):
  """Builds the EvalGraph of `data` in the default graph."""
  images, labels = cifar10.inputs(settings.eval_data == 'test', settings)
  # `inference()` of cifar10.py, unless the settings choose another network.
  with tf.variable_scope('', regularizer=variable_scope.regularizer(settings)):
    model = inference_graph.build(images, data, settings)
  top_1_op = ranking.in_top_k(model.logits, labels, 1)
  top_k_op = ranking.in_top_k(model.logits, labels, settings.top_k or 1)
  summaries.histogram('softmax/activations', model.probabilities)
  num_images = data.count(data.files(settings.eval_data))
  num_iter = (-(-settings.num_examples // settings.batch_size) or
              num_images // settings.batch_size + 1)
  return EvalGraph(top_1_op, top_k_op, cifar10.loss(model.logits, labels),
                   tf.summary.merge_all(), model.savers, num_iter,
                   min(num_images, num_iter * settings.batch_size))


def main(argv=None):
  """The console command; reads the flags from sys.argv."""
  del argv  # Of tf.app.run.
  flags.run(evaluate, GROUPS, __doc__)


if __name__ == '__main__':
  main()
