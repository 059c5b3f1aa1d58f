#!/usr/bin/env bash
# Draws the graph of a run as TensorBoard shows it: docs/tutorial/graph.png.
#
#   scripts/pages/draw_graph.sh TRAIN_DIR OUT.png
#
# Needs TensorBoard and Pillow (pip install '.[tensorboard,pictures]') for the
# Python in .venv or $PYTHON, and Chromium.
set -euo pipefail
run=$1 out=$2
python=${PYTHON:-.venv/bin/python}
port=6116
profile=$(mktemp -d)
: >"$profile/log"
"$python" -m tensorboard.main --logdir="$run" --port=$port 2>"$profile/log" &
board=$!
trap 'kill $board 2>/dev/null || :; rm -rf "$profile"' EXIT
until grep -q 'Press CTRL+C' "$profile/log"; do
  kill -0 $board 2>/dev/null || { cat "$profile/log" >&2; exit 1; }
  sleep 1
done
# The time is that of the page, which draws the graph step by step.
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
  --user-data-dir="$profile" --window-size=1400,1200 \
  --force-device-scale-factor=2 \
  --virtual-time-budget=60000 --screenshot="$profile/page.png" \
  "http://127.0.0.1:$port/#graphs" 2>>"$profile/log"
# The model, without what stands beside it, at twice its size on the page.
"$python" -c '
import sys
from PIL import Image
model = Image.open(sys.argv[1]).convert("RGB").crop((780, 280, 1700, 2090))
model.quantize(256).save(sys.argv[2], optimize=True)
' "$profile/page.png" "$out"
