#!/bin/sh
# Tries what dist/build.sh has made, in an empty root: nothing is there but the C library and what
# the package brings. Needs root (chroot). The first argument: the machine, as in file names.
set -eu
cd "$(dirname "$0")/.."
machine=${1:-$(uname -m)}
built=${CARGO_TARGET_DIR:-target}/dist
[ "$(id -u)" = 0 ] || { echo "dist/check.sh: not tried: chroot needs root"; exit 0; }
fail() { echo "dist/check.sh: $*" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

case $machine in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; *) fail "machine $machine" ;; esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
deb=$(ls "$built"/evenkeel_"$version"*_$architecture.deb | tail -1) || fail "no .deb for $architecture in $built"
dpkg-deb -x "$deb" "$root"
archive=$built/evenkeel-$version-$machine-linux.tar.gz
[ -f "$archive" ] || fail "no $archive"

# The .deb asks for the C library that the binary needs, or a later one.
needs=$(readelf -V "$root/usr/bin/evenkeel" | grep -o 'GLIBC_2\.[0-9]*' | sed 's/GLIBC_//' | sort -V | tail -1)
asks=$(dpkg-deb -f "$deb" Depends | sed -n 's/.*libc6 (>= \([^)]*\)).*/\1/p')
[ "$(printf '%s\n' "$needs" "$asks" | sort -V | tail -1)" = "$asks" ] \
    || fail "evenkeel needs glibc $needs, and the .deb asks for '$asks'"

# The libraries that the binary names, and no others: glibc's.
needed=$(readelf -d "$root/usr/bin/evenkeel" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
    case $library in
    libc.so.6 | libm.so.6 | libgcc_s.so.1 | ld-linux-*) ;;
    *) fail "evenkeel needs $library, expected glibc's libraries alone" ;;
    esac
done

if [ "$machine" = "$(uname -m)" ]; then
    interpreter=$(readelf -l "$root/usr/bin/evenkeel" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
    for library in $interpreter $(ldd "$root/usr/bin/evenkeel" | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
    mkdir -p "$root/tmp" "$root/proc"
    within() { chroot "$root" /usr/bin/evenkeel "$@"; }
else
    within() { "qemu-$machine" "$root/usr/bin/evenkeel" "$@"; }
fi

within --version | grep -q '^evenkeel [0-9]' || fail "--version"
[ "$(within machines --json | grep -c '"name"')" -gt 10 ] || fail "machines"
within compare -m odroid-xu3-paper -w swaptions --size 0.05 -p linux,gts,acfs >"$root/table" || fail "compare"
grep -q acfs "$root/table" || fail "compare: no line of acfs"
# sched_ext is inside: the object for the kernel is part of the binary.
grep -aq 'struct_ops/select_cpu' "$root/usr/bin/evenkeel" || fail "evenkeel has no object for the kernel in it"

for file in usr/share/man/man1/evenkeel.1.gz usr/share/man/man1/evenkeel-compare.1.gz \
    usr/share/bash-completion/completions/evenkeel usr/lib/systemd/system/evenkeel.service; do
    [ -s "$root/$file" ] || fail "no $file in the .deb"
done
tar -tzf "$archive" | grep -q '/bin/evenkeel$' || fail "no bin/evenkeel in $archive"

# The runtime for C, unpacked anywhere.
library=$built/libevenkeel-$version-$machine-linux.tar.gz
[ -f "$library" ] || fail "no $library"
mkdir "$root/c" && tar -C "$root/c" -xzf "$library"
case $machine in "$(uname -m)") compiler=cc ;; *) compiler=$machine-linux-gnu-gcc ;; esac
if command -v $compiler >/dev/null; then
    $compiler -I"$root/c/include" crates/capi/examples/loop.c -L"$root/c/lib" -levenkeel -lm -o "$root/loop"
    case $machine in
    "$(uname -m)") LD_LIBRARY_PATH=$root/c/lib "$root/loop" >/dev/null ;;
    *) "qemu-$machine" -E LD_LIBRARY_PATH="$root/c/lib" "$root/loop" >/dev/null ;;
    esac || fail "crates/capi/examples/loop.c does not run"
fi
if [ "$machine" = "$(uname -m)" ]; then where="in an empty root"; else where="under qemu-$machine"; fi
echo "$deb and $archive work $where"
