#!/bin/sh
# Installs what a build for aarch64 needs, where it may: Rust's library for it, Debian's cross
# compiler with libelf and zlib of that architecture, and qemu-user to try the binary.
set -eu
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
rustup target list --installed | grep -qx "$target" || rustup target add "$target"
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null \
    && [ -e /usr/lib/aarch64-linux-gnu/libelf.a ] && [ -e /usr/lib/aarch64-linux-gnu/libz.a ] && exit 0
packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libelf-dev:arm64 zlib1g-dev:arm64"
[ "$(id -u)" = 0 ] || { echo "missing are some of: $packages" >&2; exit 1; }
dpkg --add-architecture arm64
apt-get -q update
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $packages
