#!/usr/bin/env python
"""The same network and input in PyTorch, for comparison.

benchmark.py starts it as a process of its own:

    pytorch_baseline.py PRECISION eager|compiled FILE ...

PRECISION is float32, or bfloat16 for automatic mixed precision; the files hold
CIFAR-10's training records. Each line on standard input makes it train one
step. It keeps no moving averages and writes no summaries.
"""

import sys

import numpy as np
import torch
from torch import nn

_BATCH_SIZE, _SIZE = 128, 24
_RECORD_BYTES = 1 + 3 * 32 * 32


def load(filenames):
  """The images of all records, uint8 [n, 3, 32, 32], and the labels."""
  records = np.concatenate([np.fromfile(name, np.uint8) for name in filenames])
  records = torch.from_numpy(records.reshape([-1, _RECORD_BYTES]))
  return records[:, 1:].reshape([-1, 3, 32, 32]), records[:, 0].long()


def distorted(images):
  """The tutorial's random distortions of a whole batch, each image its own.

  Takes uint8 [batch, 3, 32, 32]; returns float32 [batch, 3, 24, 24], channels
  last.
  """
  count = len(images)
  top, left = torch.randint(32 - _SIZE + 1, [2, count, 1])
  columns = torch.arange(_SIZE)
  mirrored = torch.rand([count, 1]) < 0.5
  rows = top + torch.arange(_SIZE)
  columns = left + torch.where(mirrored, _SIZE - 1 - columns, columns)
  # Indices on both sides of a slice put the channels last.
  x = images[torch.arange(count)[:, None, None], :, rows[:, :, None],
             columns[:, None, :]].float()
  x += torch.empty([count, 1, 1, 1]).uniform_(-63, 63)
  mean = x.mean([1, 2], keepdim=True)
  x = mean + (x - mean) * torch.empty([count, 1, 1, 1]).uniform_(0.2, 1.8)
  deviation, mean = torch.std_mean(x, [1, 2, 3], correction=0, keepdim=True)
  x = (x - mean) / deviation.clamp(min=(3 * _SIZE * _SIZE)**-0.5)
  return x.permute(0, 3, 1, 2)


def batches(images, labels):
  """Endless distorted training batches, in a new order in each epoch."""
  while True:
    for batch in torch.randperm(len(labels)).split(_BATCH_SIZE):
      if len(batch) == _BATCH_SIZE:
        yield distorted(images[batch]), labels[batch]


def _layer(layer, stddev, bias):
  nn.init.trunc_normal_(layer.weight, 0, stddev, -2 * stddev, 2 * stddev)
  nn.init.constant_(layer.bias, bias)
  return layer


def network():
  """The tutorial's network, an nn.Module with its memory channels last."""

  def normalization():
    return nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1)

  model = nn.Sequential(
      _layer(nn.Conv2d(3, 64, 5, padding='same'), 0.05, 0.0),
      nn.ReLU(),
      nn.MaxPool2d(3, 2, ceil_mode=True),
      normalization(),
      _layer(nn.Conv2d(64, 64, 5, padding='same'), 0.05, 0.1),
      nn.ReLU(),
      normalization(),
      nn.MaxPool2d(3, 2, ceil_mode=True),
      nn.Flatten(),
      _layer(nn.Linear(2304, 384), 0.04, 0.1),
      nn.ReLU(),
      _layer(nn.Linear(384, 192), 0.04, 0.1),
      nn.ReLU(),
      _layer(nn.Linear(192, 10), 1 / 192, 0.0),
  )  # yapf: disable
  return model.to(memory_format=torch.channels_last)


def optimizer(model):
  """Gradient descent at 0.1, with weight decay on local3 and local4."""
  decayed = [model[9].weight, model[11].weight]
  rest = [p for p in model.parameters() if all(p is not d for d in decayed)]
  groups = {'params': decayed, 'weight_decay': 0.004}, {'params': rest}
  return torch.optim.SGD(groups, 0.1)


def main():
  """Trains a step for each line of standard input and answers with a line."""
  precision, mode, *filenames = sys.argv[1:]
  data = batches(*load(filenames))
  model = network()
  opt = optimizer(model)
  run = torch.compile(model) if mode == 'compiled' else model
  for _ in sys.stdin:
    images, labels = next(data)
    with torch.autocast('cpu', torch.bfloat16, precision == 'bfloat16'):
      logits = run(images)
    loss = nn.functional.cross_entropy(logits.float(), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), flush=True)


if __name__ == '__main__':
  main()
