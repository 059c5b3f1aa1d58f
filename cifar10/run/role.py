"""The role of a process in a training session: how it starts, saves, ends."""

import tensorflow.compat.v1 as tf

from cifar10.run import master
from cifar10.util import session_settings


class Role:
  """The role of a trainer on one machine: it initializes, saves and ends."""

  saves = True  # Checkpoints, summaries and settings.
  server = None  # The servers.Server of a task of a cluster.

  def __init__(self, settings):
    self.settings = settings

  def creator(self, saver, init):
    """The tf.train.SessionCreator, which initializes or restores variables.

    `init` is None, or a function of a session that loads values into the
    variables of a new run after their initialization. With --master, the
    creator raises UserError if the server does not answer.
    """
    init_fn = init and (lambda scaffold, session: init(session))
    creator = tf.train.ChiefSessionCreator(
        tf.train.Scaffold(saver=saver, init_fn=init_fn),
        master=self.settings.master, checkpoint_dir=self.settings.train_dir,
        config=session_settings.config_proto(
            self.settings, on_server=bool(self.settings.master)))
    if not self.settings.master:
      return creator
    return master.LimitedCreator(creator, self.settings)

  def last_step_hook(self, step, last_step):
    """The hook that ends the session at `last_step`."""
    del step
    return tf.train.StopAtStepHook(last_step=last_step)

  def end_early(self, run_context):
    """Ends the session after the step that has just been taken."""
    run_context.request_stop()
