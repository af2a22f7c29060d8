#!/bin/sh
# Puts the example notebooks of two packages below build/notebooks: several hundred prompts as people really write cells.
# Only the files are wanted, so nothing is installed. Usage: real_notebooks.sh PYTHON
set -eu
python=$1
target=build/notebooks
[ -d "$target" ] && exit 0
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
if ! "$python" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: --dest "$wheels" holoviews==1.18.3 hvplot==0.9.2; then
  echo "The example notebooks could not be had; documentation of installed packages stands in for them."
  exit 0
fi
mkdir -p build
for wheel in "$wheels"/*.whl; do "$python" -m zipfile -e "$wheel" "$wheels/files"; done
rm -rf "$target.part" && mkdir "$target.part"
(cd "$wheels/files" && find . -name '*.ipynb' -print | while read -r file; do mkdir -p "$OLDPWD/$target.part/$(dirname "$file")" && cp "$file" "$OLDPWD/$target.part/$file"; done)
mv "$target.part" "$target"
