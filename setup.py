"""Packaging of the CIFAR-10 tutorial system."""

import os

import setuptools

_HERE = os.path.dirname(os.path.abspath(__file__))


def _read(name):
  with open(os.path.join(_HERE, name), encoding='utf-8') as text:
    return text.read()


_PROGRAMS = (
  'cifar10_train',
  'cifar10_multi_gpu_train',
  'cifar10_distributed_train',
  'cifar10_eval',
  'cifar10_predict',
  'cifar10_export',
)

setuptools.setup(
  name='cifar10-tutorial',
  version='1.0.0',
  description='The TensorFlow CIFAR-10 tutorial: train, evaluate, multi-GPU.',
  long_description=_read('README.md'),
  long_description_content_type='text/markdown',
  license='Apache-2.0',
  packages=['cifar10'],
  package_data={'cifar10': ['sample/*.bin']},
  python_requires='>=3.7,<3.14',
  install_requires=[
    line for line in _read('requirements.txt').splitlines() if line[0] != '#'
  ],
  extras_require={
    'lint': ['ruff==0.17.*'],
    'pictures': ['pillow'],
    'plot': ['matplotlib'],
    'svhn': ['scipy'],
    'tensorboard': ['tensorboard>=2.20; python_version >= "3.9"'],
    'test': ['pytest', 'matplotlib', 'pillow', 'scipy'],
  },
  entry_points={
    'console_scripts': [
      '%s = cifar10.%s:main' % (name, name) for name in _PROGRAMS
    ]
  },
)
