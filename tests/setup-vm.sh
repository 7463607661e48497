#!/bin/sh
# Installs what the tests of the hybrid VM lab need, where it may: QEMU and busybox, and what builds
# schedulers to try in it. Arguments: packages besides these. Says in a line what is missing where
# it may not; that is no failure, the tests are then skipped.
set -u
packages="qemu-system-x86 busybox-static clang-19 libelf-dev zlib1g-dev pkg-config $*"

version() { dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii //p'; }

missing=
for package in $packages; do
    [ -n "$(version "$package")" ] || missing="$missing $package"
done
# Guests die now and then in older ones (docs/labs/virtual-machines.md).
old=
dpkg --compare-versions "$(version qemu-system-x86)" lt 1:8.1 2>/dev/null && old=yes
[ -z "$missing$old" ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    [ -z "$missing" ] || echo "not all tests of the VM lab: missing are$missing (apt install$missing)"
    exit 0
fi

mkdir -p "$(dirname "$0")/../target/setup-vm"
folder=$(cd "$(dirname "$0")/../target/setup-vm" && pwd)
log=$folder/log
install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
if [ -n "$missing" ] && ! { install $missing || { apt-get -q update && install $missing; }; } >"$log" 2>&1; then
    echo "not all tests of the VM lab: apt does not install$missing ($log says why)"
    exit 0
fi

# A newer QEMU from Debian's backports, through lists of our own: the host's sources stay as they
# are.
dpkg --compare-versions "$(version qemu-system-x86)" lt 1:8.1 || exit 0
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")-backports
mkdir -p "$folder/lists/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$folder/backports.list"
lists="-o Dir::Etc::sourcelist=$folder/backports.list -o Dir::State::lists=$folder/lists"
if ! { apt-get -q $lists update && install $lists -t "$suite" qemu-system-x86; } >"$log" 2>&1; then
    echo "tests of the VM lab may fail where a guest dies: QEMU is older than 8.1, and $suite has no newer one ($log says why)"
fi
