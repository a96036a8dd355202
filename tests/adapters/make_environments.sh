#!/bin/sh
# One environment a trainer under .venvs/, for their pins conflict. Made once, and anew where what it needs has changed.
#   sh tests/adapters/make_environments.sh [NAME ...]
set -eu
cd "$(dirname "$0")/../.."
here=tests/adapters/environments
[ $# -gt 0 ] || set -- openrlhf skyrl verifiers verifiers0 verl twinkle tunix swift
for name in "$@"; do
  if [ ! -f "$here/$name.txt" ]; then echo "there is no trainer $name; known: $(cd $here && ls | grep -v nodeps | sed 's/\.txt$//' | tr '\n' ' ')"; exit 2; fi
  needs=$(cat "$here/$name".*txt)
  made=".venvs/$name/.done"
  if [ -f "$made" ] && [ "$(cat "$made")" = "$needs" ]; then continue; fi
  echo "making .venvs/$name"
  rm -rf ".venvs/$name"
  python3 -m venv ".venvs/$name"
  pip=".venvs/$name/bin/pip"
  # torch first and alone: beside other packages pip may choose a build for another device
  if grep -q '^torch==' "$here/$name.txt"; then "$pip" install -q "$(grep '^torch==' "$here/$name.txt")"; fi
  if ! "$pip" install -q -r "$here/$name.txt"; then echo "skipped $name: it does not install here"; continue; fi
  if [ -f "$here/$name.nodeps.txt" ]; then "$pip" install -q --no-deps -r "$here/$name.nodeps.txt"; fi
  echo "$needs" > "$made"
done
