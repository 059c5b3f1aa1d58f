"""A launcher: it sets flags of the tutorial's programs, then calls these."""

import sys

import cifar10
import cifar10_eval
import cifar10_multi_gpu_train
import cifar10_train

data_dir, train_dir, eval_dir = sys.argv[1:]
del sys.argv[1:]
cifar10.FLAGS.data_dir = data_dir
cifar10.FLAGS.batch_size = 8
cifar10_train.FLAGS.train_dir = train_dir
cifar10_train.FLAGS.max_steps = 4
cifar10_train.FLAGS.log_frequency = 2
cifar10_train.FLAGS.log_device_placement = True
cifar10_train.train()

cifar10_train.FLAGS.log_device_placement = False
cifar10.TOWER_NAME = 'clone'
cifar10_multi_gpu_train.FLAGS.max_steps = 6
cifar10_multi_gpu_train.FLAGS.num_gpus = 2
cifar10_multi_gpu_train.train()

cifar10_eval.FLAGS.checkpoint_dir = train_dir
cifar10_eval.FLAGS.eval_dir = eval_dir
cifar10_eval.FLAGS.eval_data = 'train_eval'
cifar10_eval.FLAGS.num_examples = 20
cifar10_eval.FLAGS.eval_interval_secs = 1
cifar10_eval.FLAGS.run_once = True
cifar10_eval.evaluate()
