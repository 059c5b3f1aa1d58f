#!/usr/bin/env bash
# From nothing to a trained and evaluated model, in minutes: makes .venv,
# installs, trains 1,000 steps and evaluates. On CIFAR-10 where it is there or
# can be fetched, else on the sample that comes with the project.
#
#   scripts/quickstart.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)"
echo "Using $(versions .venv)."

dataset=cifar10 status=0
.venv/bin/cifar10_fetch_data || status=$?
if [ $status -ge 128 ]; then  # Ctrl-C.
  exit $status
fi
if [ $status -ne 0 ]; then
  dataset=sample
  echo '**********************************************************************'
  echo '* CIFAR-10 is not here and cannot be fetched. Training on the sample *'
  echo '* of 1,000 images instead: it shows how things work, not how well.   *'
  echo '**********************************************************************'
fi

base=${TMPDIR:-/tmp}/cifar10_quickstart
.venv/bin/cifar10_train --dataset=$dataset --max_steps=1000 \
  --train_dir="$base/$dataset"
.venv/bin/cifar10_eval --dataset=$dataset --run_once \
  --checkpoint_dir="$base/$dataset" --eval_dir="$base/${dataset}_eval"
