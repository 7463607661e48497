#!/bin/sh
# Installs the compilers and runtimes that tests of OpenMP programs need, where it may. With `full`
# all that Debian 12 has; runtimes of older compilers are then unpacked side by side in
# target/openmp. Says in a line what is missing where it may not: that is no failure, the tests are
# then skipped.
set -u
packages="gcc-12 g++-12 clang-19 libomp-19-dev flang-19 musl-tools"
[ "${1:-}" = full ] && packages="$packages gcc-11 gfortran-11 gfortran-12 clang-14 clang-15 clang-16"
missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
mkdir -p "$(dirname "$0")/../target/openmp"
folder=$(cd "$(dirname "$0")/../target/openmp" && pwd)
if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
        echo "not all tests of OpenMP programs: missing are$missing (apt install$missing)"
        exit 0
    fi
    install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
    if ! { install $missing || { apt-get -q update && install $missing; }; } >"$folder/packages.log" 2>&1; then
        echo "not all tests of OpenMP programs: apt does not install$missing ($folder/packages.log says why)"
    fi
fi
[ "${1:-}" = full ] || exit 0
# These exclude each other, as packages.
for version in 14 15 16; do
    [ -e "$folder/$version/usr/lib/llvm-$version/lib/libomp.so" ] && continue
    (cd "$folder" && apt-get -q download "libomp5-$version" "libomp-$version-dev" \
        && for package in "libomp5-${version}_"*.deb "libomp-$version-dev_"*.deb; do
            dpkg -x "$package" "$version"
        done) >"$folder/$version.log" 2>&1 \
        || echo "not all tests of OpenMP programs: no libomp-$version ($folder/$version.log says why)"
done
