#!/bin/sh
# Builds the program and the examples as `cargo test --workspace` does, so that nothing is built
# twice after it: built by itself, a package has other features of its dependencies. Says where they
# are.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --workspace $(./tests/features.sh) --bins --examples >&2
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
echo "$target/debug"
