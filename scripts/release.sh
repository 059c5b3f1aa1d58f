#!/usr/bin/env bash
# Builds the files of a release and checks them: in dist/ the source archive and the
# wheel that is built from it, in build/models/ the trained models and SHA256SUMS.
#
#   scripts/release.sh
#
# The wheel is installed in a new environment, and used away from this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)" release
rm -rf dist build/models
.venv/bin/python -m build -q
.venv/bin/twine check --strict dist/*

wheel=$(echo "$PWD"/dist/*.whl)
version=$(.venv/bin/python -c 'import cifar10; print(cifar10.__version__)')
mkdir -p build/models
for name in fast tutorial; do
  tar -C cifar10/zoo --sort=name --owner=0 --group=0 --mtime=@0 \
    --transform "s,^$name,pretrained_$name," -cf - "$name" |
    gzip -n >"build/models/pretrained_$name-$version.tar.gz"
done
(cd dist && sha256sum -- *
  cd ../build/models && sha256sum -- *.gz) >build/models/SHA256SUMS.new
mv build/models/SHA256SUMS.new build/models/SHA256SUMS

# Nothing is downloaded once it is installed: no proxy answers at port 9.
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
picture=$PWD/docs/pictures/ship.png models=$PWD/build/models
"$(find_python)" -m venv "$away/venv"
"$away/venv/bin/python" -m pip install -q "$wheel[pictures,report]"
cd "$away"
export PATH=$away/venv/bin:$PATH http_proxy=http://127.0.0.1:9
export https_proxy=$http_proxy
python -c 'import cifar10
assert cifar10.__file__.startswith("'"$away"'"), cifar10.__file__'
cifar10_predict "$picture"
tar xzf "$models/pretrained_tutorial-$version.tar.gz"
cifar10_predict --checkpoint_dir=pretrained_tutorial "$picture"
cifar10_export --checkpoint_dir=pretrained:tutorial --html=model.html
cifar10_train --dataset=sample --max_steps=2 --batch_size=8 --train_dir=run
cifar10_eval --checkpoint_dir=run --eval_dir=eval --run_once
cifar10_eval --checkpoint_dir=pretrained:fast --dataset=sample \
  --eval_dir=eval_fast --run_once
cifar10_report run --eval_dir=eval --out=report.html
