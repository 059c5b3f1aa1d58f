#!/usr/bin/env bash
# Trains networks on a cluster, each with other hyperparameters, and makes an
# ensemble of the three that label the images held out of training best.
#
#   scripts/exercise_8_9.sh space.json FOLDER [flags of cifar10_search]
#
# The cluster is two servers of this machine, at $PORTS; or $HOSTS, addresses with
# commas between them, at which you have started servers as is done here.
set -euo pipefail
space=$1 out=$2
shift 2
python=${PYTHON:-python} root=$(dirname "$0")/..

# The tasks of the cluster. They know nothing of the networks to come.
if [ -z "${HOSTS:-}" ]; then
  read -r first second <<<"${PORTS:-2222 2223}"
  HOSTS=127.0.0.1:$first,127.0.0.1:$second
  trap 'kill $(jobs -p)' EXIT
  for task in 0 1; do
    "$python" -c "import tensorflow.compat.v1 as tf
tf.train.Server({'worker': '$HOSTS'.split(',')}, task_index=$task).join()" &
  done
fi

# Exercise 8: each task trains one network at a time.
masters=grpc://${HOSTS//,/,grpc:\/\/}
mkdir -p "$out"
"$python" -m cifar10.tools.search.search "$space" --out="$out" --masters="$masters" \
  --jobs="$(tr , '\n' <<<"$masters" | wc -l)" "$@" | tee "$out/table.md"

# Exercise 9: the best three, the first of the table, in one graph, each on a
# device of its own.
mapfile -t networks < <(awk -v out="$out" '
  $2 ~ /^trial_/ && $4 ~ /^[0-9]/ && ++n <= 3 {
  print "--checkpoint_dir=" out "/" $2 "/best"}' "$out/table.md")
if [ ${#networks[@]} = 0 ]; then
  echo "No trial in $out has a precision: there is no ensemble." >&2
  exit 1
fi
"$python" "$root/cifar10/cifar10_eval.py" "${networks[@]}"
