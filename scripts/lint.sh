#!/usr/bin/env bash
# Checks the format, the style, the directions of imports and the picture of the
# architecture.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)" lint
.venv/bin/yapf --diff --parallel --recursive cifar10 scripts tests setup.py
.venv/bin/ruff check .
.venv/bin/python scripts/pages/tables.py --check
.venv/bin/lint-imports --no-cache
drawn=$(mktemp)
trap 'rm "$drawn"' EXIT
.venv/bin/python scripts/pages/draw_architecture.py "$drawn"
if ! cmp docs/architecture.svg "$drawn"; then
  echo 'Draw it again: .venv/bin/python scripts/pages/draw_architecture.py' \
    'docs/architecture.svg' >&2
  exit 1
fi
