"""What a trainer says of a run before its first step."""

import tensorflow.compat.v1 as tf

from cifar10.run import banner
from cifar10.settings import Settings
from cifar10.util import graph_keys
from tests import short_runs


def test_data_model_and_settings_are_named(tmp_path):
  config = short_runs.small_config(tmp_path, freeze='conv|local')
  data = short_runs.prepared(config)
  tf.get_variable('weights', [1000, 7])
  tf.get_variable('counter', [], trainable=False)
  described, model, settings = banner.lines(data, config)
  assert described.startswith(
      'Data: 1,000 CIFAR images to train on, 500 to test on, 10 classes, '
      '32 x 32 pixels, from /')
  assert model.startswith('Model: 7,000 parameters, float32, on the ')
  assert settings == (
      "Settings: --batch_size=16 --dataset=sample --freeze='conv|local' "
      '--log_frequency=1 --max_steps=4 --train_dir=%s.' % config.train_dir)
  # Parameters that are not trained count.
  frozen = tf.get_variable('frozen', [10], trainable=False)
  tf.add_to_collection(graph_keys.FROZEN, frozen)
  _, model, _ = banner.lines(data, config)
  assert model.startswith('Model: 7,010 parameters, 7,000 of them trained, flo')


def test_a_run_elsewhere_has_evaluations_of_its_own(capsys):
  banner.print_next_commands(Settings())
  evaluate, board = capsys.readouterr().out.splitlines()
  assert evaluate.endswith(' --checkpoint_dir=/tmp/cifar10_train')
  assert 'train:/tmp/cifar10_train,eval:/tmp/cifar10_eval ' in board

  banner.print_next_commands(
      Settings(train_dir='/tmp/a b/', dataset='cifar100',
               cifar100_labels='coarse'))
  evaluate, board = capsys.readouterr().out.splitlines()
  assert evaluate.endswith(
      " --checkpoint_dir='/tmp/a b/' --eval_dir='/tmp/a b_eval'"
      ' --dataset=cifar100 --cifar100_labels=coarse')
  assert "train:'/tmp/a b/',eval:'/tmp/a b_eval' " in board
