#!/bin/sh
# Makes a virtual environment in $1 with the peers of suite `graph` that are Python packages. A package that cannot be
# installed is left out: its engine then says so.
set -u
python3 -m venv "$1" || exit 1
for package in numpy scipy igraph networkx kuzu; do
    "$1/bin/pip" install --quiet --disable-pip-version-check "$package" || echo "$package is left out" >&2
done
