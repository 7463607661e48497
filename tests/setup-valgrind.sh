#!/bin/sh
# Installs valgrind, by which instructions and cache misses are counted, where it may. Says in a
# line where it may not; that is no failure.
set -u
command -v valgrind >/dev/null && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "neither hot paths nor programs are counted: valgrind is missing (apt install valgrind)"
    exit 0
fi
mkdir -p "$(dirname "$0")/../target"
log=$(cd "$(dirname "$0")/../target" && pwd)/setup-valgrind.log
install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
if ! { install valgrind || { apt-get -q update && install valgrind; }; } >"$log" 2>&1; then
    echo "neither hot paths nor programs are counted: apt does not install valgrind ($log says why)"
fi
