"""A training run: begun, resumed or finished; its session and its end."""

import contextlib
import dataclasses
import os
import shlex
import signal
import threading

import tensorflow.compat.v1 as tf

from cifar10.training import checkpoints
from cifar10 import cli
from cifar10 import config as config_lib
from cifar10.data import datasets
from cifar10.training import hooks
from cifar10.training import progress
from cifar10.util import session_settings
from cifar10.training import train_op

_READ_ERRORS = (
  tf.errors.DataLossError,
  tf.errors.NotFoundError,
  tf.errors.PermissionDeniedError,
)


def begin(config, data):
  """Readies `config.train_dir` for a run that begins or goes on.

  Args:
    config: Config, as the flags say it.
    data: datasets.DataSet to train on.

  Returns:
    The Config to train with; None if the run is at `config.max_steps`
    already.

  Raises:
    UserError: the directory cannot be used, or holds a run on other classes.
  """
  directory = config.train_dir
  os.makedirs(directory, exist_ok=True)
  if config.overwrite:
    checkpoints.remove_run(directory)
  checkpoints.check_named(directory)
  config = dataclasses.replace(
    config,
    examples_per_epoch=data.count(data.train_files),
    classes=data.classes,
  )
  checkpoint = checkpoints.latest(directory)
  if checkpoint is not None:
    step = checkpoints.step(checkpoint)
    if step >= config.max_steps:
      print(
        '%s is at step %d already, and --max_steps=%d: nothing to do.'
        % (directory, step, config.max_steps)
      )
      print_commands(config)
      return None
    saved = config_lib.load(directory)
    if saved is not None:
      datasets.check_classes(data, config, saved.classes)
      config = config.resumed_from(saved, step)
    print('Resuming from %s.' % checkpoint)
  return config


@contextlib.contextmanager
def training_session(config, train_op, loss, more_hooks=()):
  """A session that resumes, reports, saves, and ends at `config.max_steps`.

  SIGINT (Ctrl-C) and SIGTERM end it too, after the step in hand. The last
  step is saved then as at any end, also when the input has failed.

  Args:
    config: Config, from `begin`.
    train_op: operation to be run by the caller `while not should_stop()`.
    loss: scalar tensor to report.
    more_hooks: list of tf.train.SessionRunHook, what this trainer needs
      besides.

  Yields:
    tf.train.MonitoredSession.

  Raises:
    UserError: the newest checkpoint does not fit the graph; a checkpoint
      cannot be written; or (DivergedError) the loss is not finite.
  """
  check_newest(config)
  config.save(config.train_dir)
  # Names relative to the directory, so that it can be moved.
  saver = tf.train.Saver(
    max_to_keep=config.max_to_keep, save_relative_paths=True
  )
  step = step_after(train_op)
  saving = hooks.CheckpointHook(step, saver, config)
  # Closed, and so written out, also when an error ends the session.
  writer = tf.summary.FileWriter(config.train_dir)
  reporting = progress.reporting(step, loss, config)
  with signals_noted() as signals, writer, reporting as reporter:
    with tf.train.MonitoredTrainingSession(
      checkpoint_dir=config.train_dir,
      scaffold=tf.train.Scaffold(saver=saver),
      hooks=_hooks(config, step, loss, reporter, writer, saving, signals)
      + list(more_hooks),
      # Those of the library report steps that are off by one, by chance.
      save_checkpoint_secs=None,
      save_checkpoint_steps=None,
      save_summaries_secs=None,
      save_summaries_steps=None,
      log_step_count_steps=None,
      config=session_settings.config_proto(config),
    ) as session:
      try:
        yield session
      except _READ_ERRORS:
        # The input failed and no step is half done: keep what was learnt.
        session.run_step_fn(
          lambda step_context: saving.end(step_context.session)
        )
        raise
    print_stopped(signals)
  print_saved(config)


def check_newest(config):
  """Checks that the newest checkpoint, if there is one, fits the graph."""
  checkpoint = checkpoints.latest(config.train_dir)
  if checkpoint is not None:
    expected = checkpoints.expected_shapes(tf.global_variables())
    checkpoints.check_fits(checkpoint, expected)


def _hooks(config, step, loss, reporter, writer, saving, signals):
  (learning_rate,) = tf.get_collection(train_op.LEARNING_RATE)
  return [
    # First: what follows does not see a step that went wrong.
    hooks.DivergenceHook(step, loss, learning_rate),
    reporter,
    hooks.SummaryHook(step, writer, config),
    saving,
    hooks.SignalHook(signals),
    tf.train.StopAtStepHook(last_step=config.max_steps),
  ]


def step_after(train_op):
  """The global step after `train_op`, exactly, as a tensor."""
  with tf.control_dependencies([train_op]), train_op.box():
    return tf.train.get_global_step().read_value()


@contextlib.contextmanager
def signals_noted():
  """Yields a list that the numbers of SIGINT and SIGTERM are added to.

  At once, also while the main thread hangs in a step.
  """
  signals = []
  # Python lets only the main thread take signals.
  if threading.current_thread() is not threading.main_thread():
    yield signals
    return
  reader, writer = os.pipe()
  os.set_blocking(writer, False)

  def note():
    for number in iter(lambda: os.read(reader, 1), b''):
      signals.append(number[0])

  noting = threading.Thread(target=note, name='signals', daemon=True)
  noting.start()
  wakeup = signal.set_wakeup_fd(writer)
  before = {
    number: signal.signal(number, lambda n, frame: None)
    for number in (signal.SIGINT, signal.SIGTERM)
  }
  try:
    yield signals
  finally:
    for number, handler in before.items():
      signal.signal(number, handler)
    signal.set_wakeup_fd(wakeup)
    os.close(writer)  # Ends the thread.
    noting.join()
    os.close(reader)


def print_stopped(signals):
  """Which signal, the first of `signals`, has ended the run, if one has."""
  for signum in signals[:1]:
    print('Stopped by %s.' % signal.Signals(signum).name)


def print_saved(config):
  """Where the last step is saved, and what to do with it next."""
  last = checkpoints.latest(config.train_dir)
  print('Step %d is saved in %s.' % (checkpoints.step(last), last))
  print_commands(config)


def print_commands(config):
  """What to do with the checkpoints next."""
  defaults = config_lib.Config()
  train_dir = shlex.quote(config.train_dir)
  data_flags = ''.join(
    ' --%s=%s' % (name, shlex.quote(getattr(config, name)))
    for name in cli.DATA_FLAGS
    if getattr(config, name) != getattr(defaults, name)
  )
  print(
    'To evaluate: %s --checkpoint_dir=%s%s'
    % (cli.sibling_command('cifar10_eval'), train_dir, data_flags)
  )
  print('To look at it: tensorboard --logdir=%s' % train_dir)
