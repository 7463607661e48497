#!/bin/sh
# Makes target/python/venv, a virtual environment with what tests of the Python package need:
# libraries for frames and plots, Dask, pytest, and maturin, which builds wheels. Says in a line
# what is missing where it cannot; that is no failure, the tests are then skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=target/python/venv
mkdir -p target/python
# Of one day, so that two machines run the same tests.
packages="maturin==1.16.0 pytest mypy polars==2.1.0 pandas==3.1.1 pyarrow==26.0.1 matplotlib==3.11.2
    distributed==2026.8.0 nbclient==0.11.0 ipykernel"
"$venv/bin/python" -c 'import distributed, ipykernel, matplotlib, maturin, mypy, nbclient, pandas, polars, pyarrow, pytest' \
    2>/dev/null && exit 0
if ! command -v python3 >/dev/null; then
    echo "no tests of the Python package: python3 is missing"
    exit 0
fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
    { install python3-venv || { apt-get -q update && install python3-venv; }; } >"$venv.log" 2>&1
fi
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check $packages; } 2>>"$venv.log"
then
    echo "no tests of the Python package: PyPI's packages do not install ($venv.log says why)"
    rm -rf "$venv"
fi
