#!/bin/sh
# Builds the library for C and C++ and installs it: headers, shared and static library, CMake
# package, pkg-config file. With the argument `remove` it takes away what it has installed.
#
#   PREFIX=/usr/local   where to; files there find each other, so the whole may be moved
#   DESTDIR=            put before it, for packages
#   PROFILE=release     how it is built
#   TARGET=             for another machine, as cargo names it
#   SELECT="-p evenkeel-capi"
#                       which packages and features cargo is to see: tests build nothing twice
set -eu
: "${PREFIX:=/usr/local}" "${DESTDIR:=}" "${PROFILE:=release}" "${CARGO:=cargo}" "${TARGET:=}"
: "${SELECT:=-p evenkeel-capi}"
case $PREFIX in /*) ;; *) PREFIX=$(pwd)/$PREFIX ;; esac
cd "$(dirname "$0")"

to=$DESTDIR$PREFIX
if [ "${1:-}" = remove ]; then
    rm -rf "$to/include/evenkeel" "$to/lib/cmake/evenkeel"
    rm -f "$to/include/evenkeel.h" "$to/include/evenkeel.hpp" "$to/lib/libevenkeel.a" "$to"/lib/libevenkeel.so* \
        "$to/lib/pkgconfig/evenkeel.pc"
    echo "evenkeel for C and C++ is not in $to any more"
    exit 0
fi

# shellcheck disable=SC2086 # several words
"$CARGO" build --quiet --profile "$PROFILE" ${TARGET:+--target "$TARGET"} $SELECT
target=$("$CARGO" metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
case $PROFILE in dev) built=debug ;; *) built=$PROFILE ;; esac
built=$target${TARGET:+/$TARGET}/$built
version=$("$CARGO" pkgid -p evenkeel-capi | sed 's/.*[#@]//')
abi=$(sed -n 's/^pub const EVENKEEL_ABI: c_uint = \(.*\);/\1/p' src/version.rs)

install -d "$to/include/evenkeel" "$to/lib/pkgconfig" "$to/lib/cmake/evenkeel"
install -m 644 include/evenkeel.h include/evenkeel.hpp "$to/include"
install -m 644 include/evenkeel/*.hpp "$to/include/evenkeel"
install -m 644 "$built/libevenkeel.a" "$to/lib"
install -m 755 "$built/libevenkeel.so" "$to/lib/libevenkeel.so.$version"
ln -sf "libevenkeel.so.$version" "$to/lib/libevenkeel.so.$abi"
ln -sf "libevenkeel.so.$abi" "$to/lib/libevenkeel.so"

filled() { sed "s/@VERSION@/$version/; s/@ABI@/$abi/" "package/$1.in" >"$2/$1"; }
filled evenkeel.pc "$to/lib/pkgconfig"
filled evenkeel-config.cmake "$to/lib/cmake/evenkeel"
filled evenkeel-config-version.cmake "$to/lib/cmake/evenkeel"
echo "evenkeel $version for C and C++ is in $to"
