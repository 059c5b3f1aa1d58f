#!/usr/bin/env bash
# Checks the format, the style, the directions of imports, and what is made from
# the code and the raw files: tables, answers, and the picture of the architecture.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)" lint
.venv/bin/yapf --diff --parallel --recursive cifar10 docs scripts \
  tests setup.py
.venv/bin/ruff check .
.venv/bin/python scripts/pages/tables.py --check
.venv/bin/lint-imports --no-cache
made=$(mktemp)
trap 'rm "$made"' EXIT
draw=scripts/pages/draw_architecture.py picture=docs/architecture.svg
.venv/bin/python "$draw" "$made"
if ! cmp "$picture" "$made"; then
  echo "Draw it again: .venv/bin/python $draw $picture" >&2
  exit 1
fi
