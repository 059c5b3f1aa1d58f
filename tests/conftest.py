"""What every test needs, and which tests TensorFlow 1.15.5 repeats."""

import fnmatch
import os

if 'PYTEST_XDIST_WORKER' in os.environ:
  # One core for each worker of pytest-xdist, and for the processes it starts.
  os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

import pytest
import tensorflow.compat.v1 as tf

from cifar10.settings import Settings
from cifar10.util import session_settings
from tests import processes

# As every program does at its start.
session_settings.start_threads(Settings())

processes.heed_signals()

# What does not depend on TensorFlow, or too little to be repeated on 1.15.5:
# pages, pictures, scripts, flags, files, downloads, faults. A module that is
# named on the command line runs in any case.
_OF_ONE_VERSION = """
pages/test_exercise_* pages/test_k* pages/test_n* pages/test_p* pages/test_r*
programs/test_bounds programs/test_flags programs/test_other_users
scripts/*
cluster/test_liveness cluster/test_local_cluster cluster/test_membership
cluster/test_s*
data/test_archive data/test_dataset_json data/test_download data/test_fetch_data
data/test_make_dataset data/test_pictures
data/test_sources data/test_svhn
faults/* guard/* infer/test_contact_sheet
run/test_combinations run/test_progress run/test_recipes
tools/report/* tools/search/* tools/test_variants
util/test_commands util/test_console util/test_files util/test_folder_lock
util/test_paths util/test_signals
"""
# Of the slow tests, 1.15.5 repeats these: graphs, numbers, old programs, entry
# points, a cluster of each mode. One that is named with :: runs in any case.
_SLOW_OF_BOTH = """
infer/test_ensemble.py::test_the_answer_is_the_mean_of_all_networks
infer/test_export.py::* infer/test_model_page.py::test_the_page_computes*
nets/test_convnet.py::*
nets/test_columns.py::test_columns_apart_agree_with_numpy*
nets/test_columns.py::test_parts_on_devices_compute*
nets/test_techniques.py::test_gradients_in_16_bits_are_those_of_float32*
nets/test_techniques.py::test_a_run_is_trained*-first]
pages/test_docs.py::test_the_answers_evaluate_and_train
programs/test_cifar10.py::* programs/test_edited_inference.py::*
programs/test_cifar10_distributed_train.py::test_a*_cluster_*trains*
programs/test_cifar10_distributed_train.py::test_half_a_model*
programs/test_cifar10_distributed_train.py::test_two_workers*
programs/test_cifar10_eval.py::* programs/test_cifar10_predict.py::*
programs/test_cifar10_export.py::test_each_format_agrees_with_the_evaluator
programs/test_cifar10_multi_gpu_train.py::*
programs/test_cifar10_pretrain.py::test_an_auxiliary_task*
programs/test_cifar10_pretrain.py::test_layers_are_trained*
programs/test_cifar10_train.py::test_a_r* programs/test_old_programs.py::*
programs/test_cifar10_train.py::test_seeded_runs_are_equal_and_others_not
programs/test_cifar10_train.py::test_training_lowers_the_loss_and_learns
programs/test_serving.py::test_a_picture programs/test_zoo.py::test_the*
run/test_feature_cache.py::test_a_run_learns_from_what_the_layers_give*
run/test_master.py::test_a_run_on_a_server_is_that_of_a_lone_trainer
run/test_transfer.py::test_all_variables*
run/test_validation.py::test_the_precision_is_that_of_the_averaged_variables
run/test_whitening.py::test_a_run_from_another_one_takes_its_filters
util/test_processor.py::* util/test_session_settings.py::*
""".split()

if tf.__version__ < '2':
  collect_ignore_glob = [name + '.py' for name in _OF_ONE_VERSION.split()]


def pytest_collection_modifyitems(config, items):
  """Leaves out what TensorFlow 1.15.5 need not repeat."""
  if tf.__version__ >= '2' or any('::' in each for each in config.args):
    return

  def is_repeated(item):
    return not item.get_closest_marker('slow') or any(
        fnmatch.fnmatchcase(item.nodeid, 'tests/' + name)
        for name in _SLOW_OF_BOTH)

  config.hook.pytest_deselected(
      items=[item for item in items if not is_repeated(item)])
  items[:] = filter(is_repeated, items)


@pytest.fixture(autouse=True)
def graph():
  """A default graph of the test's own."""
  with tf.Graph().as_default() as default_graph:
    tf.set_random_seed(1)
    yield default_graph
