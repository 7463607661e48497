#!/bin/sh
# Makes target/perfetto, a virtual environment with Perfetto's own protobuf definitions, for the
# test that reads a trace back. Says in a line what is missing where it cannot; that is no failure,
# the test is then skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=target/perfetto
mkdir -p target
"$venv/bin/python" -c 'import perfetto.protos' 2>/dev/null && exit 0
if ! command -v python3 >/dev/null; then
    echo "no trace read-back test: python3 is missing"
    exit 0
fi
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check perfetto==0.59.1; } 2>"$venv.log"
then
    echo "no trace read-back test: PyPI's perfetto does not install ($venv.log says why)"
    rm -rf "$venv"
fi
