#!/bin/sh
# Builds the peers of the runtime's bench, and the work that it shares with them, into a folder:
# setup.sh FOLDER. Installs what they need where it may. A peer that cannot be had is left out, with
# a line.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/log"
folder=$(cd "$1" && pwd)

# Debian's packages of OpenMP and oneTBB, as they are in its release.
packages="clang-19 libomp-19-dev g++ libtbb-dev"
missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
may_install() { command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; }
install() { DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"; }
if [ -n "$missing" ] && may_install; then
    { install $missing || { apt-get -q update && install $missing; }; } >"$folder/log/packages" 2>&1 \
        || echo "not all packages could be installed ($folder/log/packages)"
fi

# Taskflow is headers only, and new in Debian 13: its package is unpacked here, through lists of our
# own, and nothing is installed.
taskflow=/usr/include
if [ ! -e "$taskflow/taskflow/taskflow.hpp" ]; then
    taskflow=$folder/log/taskflow/usr/include
    if [ ! -e "$taskflow/taskflow/taskflow.hpp" ] && command -v apt-get >/dev/null; then
        mkdir -p "$folder/log/lists/partial"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" >"$folder/log/trixie.list"
        lists="-o Dir::Etc::sourcelist=$folder/log/trixie.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$folder/log/lists"
        lists="$lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache="
        (cd "$folder/log" && apt-get -q $lists update && apt-get -q $lists download libtaskflow-cpp-dev && dpkg -x libtaskflow-cpp-dev_*.deb taskflow) \
            >"$folder/log/taskflow.log" 2>&1
    fi
fi

build() {
    file=$1
    shift
    "$@" -o "$folder/$file.new" >"$folder/log/$file.log" 2>&1 && mv "$folder/$file.new" "$folder/$file" \
        || { rm -f "$folder/$file" "$folder/$file.new"; echo "$file cannot be built: left out ($folder/log/$file.log)"; }
}
peer() { build "$@" "$folder/work.so" '-Wl,-rpath,$ORIGIN'; }
build work.so cc -std=c11 -O3 -ffp-contract=off -fPIC -shared -Wl,-soname,work.so "$here/work.c" -lm
flags="-std=c++17 -O3 -pthread"
peer libomp clang-19 $flags -fopenmp "$here/openmp.cpp" -lstdc++ -lm
peer libgomp g++ $flags -fopenmp "$here/openmp.cpp"
peer onetbb g++ $flags "$here/tbb.cpp" -ltbb
peer taskflow g++ $flags -isystem "$taskflow" "$here/taskflow.cpp"
