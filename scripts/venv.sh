# Virtual environments, for the scripts beside this file to source.

# Prints a Python that TensorFlow 2 runs on: $PYTHON, or the first one found.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 \
    python3.10 python3.9 python}; do
    if "$candidate" -c 'import sys, venv, ensurepip
sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo 'No Python 3.9 to 3.13 with venv found; set PYTHON=...' >&2
  return 1
}

# Prints a Python 3.7: $PYTHON37, or one on the path or under pyenv.
find_python37() {
  local candidate
  for candidate in ${PYTHON37:-python3.7 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.7.*/bin/python3.7}; do
    if "$candidate" -c 'import sys
sys.exit(sys.version_info[:2] != (3, 7))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# make_venv FOLDER PYTHON [EXTRA]: makes the environment FOLDER with this project
# and its EXTRA installed, or reuses one that is up to date.
make_venv() {
  local stamp
  stamp="$1/.installed-${3:-base}"
  if ! "$1/bin/python" -m pip --version >/dev/null 2>&1; then
    "$2" -m venv "$1"
  fi
  if [ ! "$stamp" -nt setup.py ] || [ ! "$stamp" -nt requirements.txt ]; then
    echo "Installing into $1 (the first time, TensorFlow is some 600 MB)."
    "$1/bin/python" -m pip install -qq --upgrade pip
    "$1/bin/python" -m pip install -qq --editable ".${3:+[$3]}"
    touch "$stamp"
  fi
}

# versions FOLDER: the versions of Python and TensorFlow there.
versions() {
  "$1/bin/python" -c 'import cifar10, sys, tensorflow.compat.v1 as tf
print("Python %d.%d.%d" % sys.version_info[:3], "and TensorFlow", tf.__version__)'
}
