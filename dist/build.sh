#!/bin/sh
# Builds what is handed out, into target/dist: a .tar.gz and a .deb with the binary, manual pages,
# completions and the systemd unit, and a .tar.gz of the runtime for C and C++.
#
#   TARGET=aarch64-unknown-linux-gnu   for another machine: cross compiler and qemu-user,
#                                      dist/setup-aarch64.sh
set -eu
cd "$(dirname "$0")/.."
: "${CARGO:=cargo}"
host=$(rustc -vV | sed -n 's/^host: //p')
: "${TARGET:=$host}"
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=${TARGET%%-*}
name=evenkeel-$version-$machine-linux
to=$built/dist
binary=$built/$TARGET/dist/evenkeel

# What runs the binary here.
run=
if [ "$TARGET" != "$host" ]; then
    # Without -L: libc6 of that architecture is installed, and parts of two C libraries together
    # hang.
    run="qemu-$machine"
    upper=$(echo "$TARGET" | tr a-z- A-Z_)
    export "CARGO_TARGET_${upper}_LINKER=$machine-linux-gnu-gcc" "CC_$(echo "$TARGET" | tr - _)=$machine-linux-gnu-gcc"
fi

# sched_ext takes libelf and zlib, which are linked in where their archives are, as in Debian's -dev
# packages.
features=sched_ext,static
export LIBBPF_SYS_LIBRARY_PATH="/usr/lib/$machine-linux-gnu"
for archive in libelf.a libz.a; do
    [ -e "$LIBBPF_SYS_LIBRARY_PATH/$archive" ] || {
        echo "no $LIBBPF_SYS_LIBRARY_PATH/$archive: apt install build-essential pkg-config libelf-dev zlib1g-dev" >&2
        exit 1
    }
done
"$CARGO" build --profile dist --target "$TARGET" -p evenkeel --features "$features"
"$CARGO" build --profile dist --target "$TARGET" -p evenkeel-capi

rm -rf "$to/root" "$to/runtime-$machine" "$to"/evenkeel-*-"$machine"-linux* "$to"/libevenkeel-*-"$machine"-linux*
root=$to/root
mkdir -p "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d" "$root/usr/lib/systemd/system"
cp "$binary" "$root/usr/bin/evenkeel"
$run "$binary" man "$root/usr/share/man/man1"
$run "$binary" completions bash >"$root/usr/share/bash-completion/completions/evenkeel"
$run "$binary" completions zsh >"$root/usr/share/zsh/vendor-completions/_evenkeel"
$run "$binary" completions fish >"$root/usr/share/fish/vendor_completions.d/evenkeel.fish"
cp crates/cli/templates/evenkeel.service "$root/usr/lib/systemd/system"

# A folder that works wherever it is unpacked.
mkdir -p "$to/$name"
# Without the unit: `evenkeel service install` writes one for where the binary is.
cp -r "$root/usr/bin" "$root/usr/share" LICENSE-APACHE LICENSE-MIT LICENSE-GPL-2.0 README.md "$to/$name"
tar -C "$to" -czf "$to/$name.tar.gz" "$name"

PREFIX=/usr DESTDIR=$to/runtime-$machine PROFILE=dist TARGET=$TARGET ./crates/capi/install.sh
tar -C "$to/runtime-$machine/usr" -czf "$to/libevenkeel-$version-$machine-linux.tar.gz" include lib

deb=$built/tools/bin/cargo-deb
if [ ! -x "$deb" ]; then
    "$CARGO" install --quiet cargo-deb --locked --root "$built/tools" || echo "cargo-deb cannot be built: no .deb"
fi
if [ -x "$deb" ]; then
    # What the package is made of is named in crates/cli/Cargo.toml, by a place that does not move.
    mkdir -p target/dist
    [ "$to" = "$(realpath target/dist)" ] || { rm -rf target/dist/root && cp -r "$root" target/dist/root; }
    "$deb" -p evenkeel --no-build --no-strip --target "$TARGET" --profile dist -o "$to/"
fi

limit() {
    bytes=$(wc -c <"$1")
    echo "$1: $((bytes / 1000)) kB"
    [ "$bytes" -le "$2" ] || { echo "$1: more than $2 bytes" >&2; exit 1; }
}
limit "$root/usr/bin/evenkeel" 15000000
limit "$to/runtime-$machine/usr/lib/libevenkeel.so.$version" 3000000
ls -l "$to"/*.tar.gz
ls -l "$to"/*.deb 2>/dev/null || :
