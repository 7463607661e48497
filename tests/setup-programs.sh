#!/bin/sh
# Installs the packages that are named, or those of make bench-programs, as Debian has them, where
# it may. Says in a line what is missing where it may not; that is no failure, these programs are
# then left out.
set -u
packages="${*:-ffmpeg xz-utils pigz zstd p7zip-full gcc libgomp1 python3 python3-numpy libopenblas0-pthread sysbench hugo sqlite3 findutils}"

missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "not all programs: missing are$missing (apt install$missing)"
    exit 0
fi

mkdir -p "$(dirname "$0")/../target"
log=$(cd "$(dirname "$0")/../target" && pwd)/setup-programs.log
install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
if ! { install $missing || { apt-get -q update && install $missing; }; } >"$log" 2>&1; then
    echo "not all programs: apt does not install$missing ($log says why)"
fi
