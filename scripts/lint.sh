#!/usr/bin/env bash
# Checks the format, the style, the directions of imports, and what is made from
# the code: the picture of the architecture and the tables of flags.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)" lint
.venv/bin/yapf --diff --parallel --recursive cifar10 scripts tests setup.py
.venv/bin/ruff check .
.venv/bin/python scripts/pages/tables.py --check
.venv/bin/lint-imports --no-cache
made=$(mktemp)
trap 'rm "$made"' EXIT
# check_page PROGRAM PAGE: fails unless a program makes the page as it is.
check_page() {
  .venv/bin/python "scripts/pages/$1" "$made"
  if ! cmp "docs/$2" "$made"; then
    echo "Make it again: .venv/bin/python scripts/pages/$1 docs/$2" >&2
    exit 1
  fi
}
check_page draw_architecture.py architecture.svg
check_page write_flags.py flags.md
