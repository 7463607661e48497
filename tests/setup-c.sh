#!/bin/sh
# Installs what the tests of the interface for C and C++ need, where it may: compilers, CMake,
# pkg-config. Says in a line what is missing where it may not; that is no failure, the tests are
# then skipped.
set -u
missing=
for tool in gcc g++ cmake pkg-config; do
    command -v $tool >/dev/null || missing="$missing $tool"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "not all tests of C and C++: missing are$missing (apt install$missing)"
    exit 0
fi

mkdir -p "$(dirname "$0")/../target"
log=$(cd "$(dirname "$0")/../target" && pwd)/setup-c.log
install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
if ! { install $missing || { apt-get -q update && install $missing; }; } >"$log" 2>&1; then
    echo "not all tests of C and C++: apt does not install$missing ($log says why)"
fi
