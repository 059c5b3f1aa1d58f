#!/usr/bin/env bash
# Takes the screenshots of docs/tutorial/ from a run and its evaluations: the
# graph and the scalars as TensorBoard shows them, and the report.
#
#   scripts/pages/keep_screenshots.sh TRAIN_DIR OUT_DIR [EVAL_DIR]
#
# writes graph.png, tensorboard.png and report.png to OUT_DIR. EVAL_DIR is
# /tmp/cifar10_eval by default. The pictures show the folder names as given.
#
# Needs the project, TensorBoard and Pillow
# (pip install '.[tensorboard,pictures,report]') for the Python in .venv or
# $PYTHON, and Chromium.
set -euo pipefail
run=$1 out=$2 eval_dir=${3:-/tmp/cifar10_eval}
python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
board=
stop_board() {
  if [ -n "$board" ]; then
    kill "$board" 2>/dev/null || :
    wait "$board" 2>/dev/null || :
    board=
  fi
}
trap 'stop_board; rm -rf "$work"' EXIT

# start_board FLAG: starts TensorBoard; sets `board`, its process, and `url`.
# It reads all event files before it serves: no picture shows half of them.
start_board() {
  : >"$work/log"
  "$python" -m tensorboard.main "$1" --host=127.0.0.1 --port=0 \
    --load_fast=false --reload_interval=0 --reload_task=blocking \
    >"$work/log" 2>&1 &
  board=$!
  until grep -q 'Press CTRL+C' "$work/log"; do
    kill -0 "$board" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 1
  done
  url=$(sed -n 's|.* at \(http://[^ ]*/\) (Press CTRL+C.*|\1|p' "$work/log")
}

# shoot URL WIDTH,HEIGHT SCALE LEFT,TOP,RIGHT,BOTTOM NAME: writes OUT_DIR/NAME.
# The box to keep is in pixels of the screenshot: those of the page times SCALE.
shoot() {
  local tries=0
  rm -f "$work/last.png"
  # TensorBoard moves its graph into place, and a screenshot may come too early:
  # take another one until two are the same.
  until take "$1" "$2" "$3" && cmp -s "$work/page.png" "$work/last.png"; do
    tries=$((tries + 1))
    if [ $tries -ge 20 ]; then
      cat "$work/chromium.log" >&2
      echo "$1: no two screenshots are the same" >&2
      exit 1
    fi
    mv -f "$work/page.png" "$work/last.png"
  done
  "$python" -c '
import sys
from PIL import Image
page, box, out = sys.argv[1:]
kept = Image.open(page).convert("RGB").crop([*map(int, box.split(","))])
kept.quantize(256).save(out, optimize=True)
' "$work/page.png" "$4" "$out/$5"
}

# take URL WIDTH,HEIGHT SCALE: a screenshot of the page, as $work/page.png.
# The page draws step by step: the time budget is in its own time.
take() {
  rm -f "$work/page.png"
  chromium --headless --no-sandbox --disable-gpu --disable-quic \
    --no-first-run --disable-background-networking --disable-sync \
    --disable-component-update --hide-scrollbars \
    --user-data-dir="$work/profile" --window-size="$2" \
    --force-device-scale-factor="$3" --virtual-time-budget=60000 \
    --screenshot="$work/page.png" "$1" 2>"$work/chromium.log"
  [ -s "$work/page.png" ] || { cat "$work/chromium.log" >&2; exit 1; }
}

mkdir -p "$out"

# The model, without what stands beside it, at twice its size on the page.
start_board --logdir="$run"
shoot "$url#graphs" 1400,1200 2 780,280,1700,2090 graph.png
stop_board

# The scalars that matter most. Smoothed, precision would come out too low.
start_board --logdir_spec="train:$run,eval:$eval_dir"
tags='Precision|learning_rate|total_loss'
shoot "$url#scalars&tagFilter=$tags&_smoothingWeight=0" 1000,900 1.5 \
  0,0,1500,1107 tensorboard.png
stop_board

# The report, down to the end of the confusion matrix.
"$python" -m cifar10.tools.report.report "$run" --eval_dir="$eval_dir" \
  --out="$work/report.html"
shoot "file://$work/report.html" 900,1400 1.6 0,0,1440,2100 report.png
