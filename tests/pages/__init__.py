"""The pages of the project, and which of them are in Korean, too."""

import os

from tests import short_runs

# Each page in Korean, and the one in English.
KOREAN = {
    'README.ko.md': 'README.md',
    'docs/ko/datasets.md': 'docs/datasets.md',
    'docs/ko/distributed.md': 'docs/distributed.md',
    'docs/ko/exercises.md': 'docs/exercises.md',
    'docs/ko/glossary.md': 'docs/glossary.md',
    'docs/ko/install.md': 'docs/install.md',
    'docs/ko/layers_and_training.md': 'docs/layers_and_training.md',
    'docs/ko/learning_path.md': 'docs/learning_path.md',
    'docs/ko/platforms.md': 'docs/platforms.md',
    'docs/ko/questions.md': 'docs/questions.md',
    'docs/ko/results/README.md': 'docs/results/README.md',
    'docs/ko/results/clusters.md': 'docs/results/clusters.md',
    'docs/ko/results/techniques.md': 'docs/results/techniques.md',
    'docs/ko/search.md': 'docs/search.md',
    'docs/ko/techniques.md': 'docs/techniques.md',
    'docs/ko/tensorflow1.md': 'docs/tensorflow1.md',
    'docs/ko/tf1_on_tf2.md': 'docs/tf1_on_tf2.md',
    'docs/ko/transfer.md': 'docs/transfer.md',
    'docs/ko/troubleshooting.md': 'docs/troubleshooting.md',
    'docs/ko/tutorial.md': 'docs/tutorial.md',
    'docs/ko/versions.md': 'docs/versions.md'
}


def read(page):
  with open(os.path.join(short_runs.ROOT, page), encoding='utf-8') as text:
    return text.read()
