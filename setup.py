"""Packaging of the CIFAR-10 tutorial system."""

import os
import re

import setuptools

_HERE = os.path.dirname(os.path.abspath(__file__))


def _read(name):
  with open(os.path.join(_HERE, name), encoding='utf-8') as text:
    return text.read()


# Each command, and the module with its `main`.
_COMMANDS = {
    'cifar10_train': 'cifar10_train',
    'cifar10_multi_gpu_train': 'cifar10_multi_gpu_train',
    'cifar10_distributed_train': 'cifar10_distributed_train',
    'cifar10_eval': 'cifar10_eval',
    'cifar10_predict': 'cifar10_predict',
    'cifar10_pretrain': 'cifar10_pretrain',
    'cifar10_export': 'cifar10_export',
    'cifar10_fetch_data': 'data.fetch_data',
    'cifar10_local_cluster': 'cluster.local_cluster',
    'cifar10_make_dataset': 'data.make_dataset',
    'cifar10_report': 'tools.report.report',
    'cifar10_search': 'tools.search.search',
    'cifar10_import_weights': 'tools.import_weights',
    'cifar10_sparsify': 'tools.sparsify'
}

_VERSION = re.search("__version__ = '(.*)'",
                     _read(os.path.join('cifar10', '__init__.py'))).group(1)

_NOTEBOOKS = ['ipykernel', 'nbclient', 'nbformat']
_PICTURES = ['pillow']
_REPORT = ['jinja2', 'matplotlib']
_SEARCH = ['matplotlib', 'optuna']
_SVHN = ['scipy']

setuptools.setup(
    name='cifar10-tutorial',
    version=_VERSION,
    description='The TensorFlow CIFAR-10 tutorial: train, evaluate, multi-GPU.',
    long_description=_read('README.md'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    packages=setuptools.find_packages(include=['cifar10', 'cifar10.*']),
    package_data={
        'cifar10.data': ['sample/*.bin'],
        'cifar10.infer': ['model_*.css', 'model_*.html', 'model_*.js'],
        'cifar10.tools.report': ['page.css', 'page.html'],
        'cifar10.zoo': ['*/*']
    },
    # Neither of the two versions of TensorFlow runs on Python 3.8.
    python_requires='>=3.7,<3.14,!=3.8.*',
    install_requires=[
        line for line in _read('requirements.txt').splitlines()
        if line[0] != '#'
    ],
    extras_require={
        'bench': _REPORT + ['torch'],
        'docs': [
            'latex2mathml==3.*',
            'zensical>=0.0.73,<0.2; python_version >= "3.11"'
        ],
        'gpu': ['tensorflow[and-cuda]; python_version >= "3.9"'],
        'lint': ['ruff==0.17.*', 'yapf==0.43.*', 'import-linter'],
        'notebooks': ['jupyterlab'] + _NOTEBOOKS,
        'pictures': _PICTURES,
        'release': ['build', 'twine'],
        'report': _REPORT,
        'search': _SEARCH,
        'svhn': _SVHN,
        'tensorboard': ['tensorboard>=2.20; python_version >= "3.9"'],
        'test': ['pytest', 'pytest-xdist'] + _NOTEBOOKS + _PICTURES + _REPORT +
                _SEARCH + _SVHN
    },
    entry_points={
        'console_scripts': [
            '%s = cifar10.%s:main' % item for item in _COMMANDS.items()
        ]
    })
