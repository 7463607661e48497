#!/bin/sh
# Installs mdBook, which makes the book, into target/tools where it is not on the PATH. Says in a
# line where it cannot be had; that is no failure.
set -u
version=0.5.4
cd "$(dirname "$0")/.." || exit 1
command -v mdbook >/dev/null && exit 0
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools")
test -x "$tools/bin/mdbook" && exit 0
mkdir -p "$tools"
echo "Installing mdbook $version into $tools, which takes some minutes once"
# Without its web server, which brings half of what it is made of.
set -- mdbook --version "$version" --locked --no-default-features --features search --root "$tools"
if ! "${CARGO:-cargo}" install "$@" >"$tools/mdbook.log" 2>&1; then
    echo "no book: cargo does not install mdbook $version ($tools/mdbook.log says why)"
fi
