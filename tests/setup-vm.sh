#!/bin/sh
# Installs what the tests of the hybrid VM lab need, where it may: QEMU and busybox, and what builds schedulers to try in it.
# Says in a line what is missing where it may not; that is no failure, the tests are then skipped.
set -u
packages="qemu-system-x86 busybox-static clang-19 libelf-dev zlib1g-dev pkg-config"
missing=
for package in $packages; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) missing="$missing $package" ;;
    esac
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "not all tests of the VM lab: missing are$missing (apt install$missing)"
    exit 0
fi
log=$(mktemp)
install() { DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing; }
if ! { install || { apt-get -q update && install; }; } >"$log" 2>&1; then
    echo "not all tests of the VM lab: apt does not install$missing ($log says why)"
    exit 0
fi
rm -f "$log"
