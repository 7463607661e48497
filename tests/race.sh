#!/bin/sh
# Runs the tests of the runtime under ThreadSanitizer. It needs a nightly toolchain with the
# standard library's sources, since that library must be built with the sanitizer, too; rustup
# fetches them if it is installed. If something is missing, the target names it and fails: it must
# not seem passed.
set -eu
cd "$(dirname "$0")/.."

sysroot=$(rustc +nightly --print sysroot 2>/dev/null) || { echo "no nightly toolchain: ThreadSanitizer cannot be had"; exit 1; }
sources=$sysroot/lib/rustlib/src/rust/library
test -d "$sources" || rustup component add rust-src --toolchain nightly || true
test -d "$sources" || { echo "no rust-src in nightly: ThreadSanitizer cannot be had"; exit 1; }
host=$(rustc +nightly -vV | sed -n 's/^host: //p')

# A thief reads a slot of a deque before it knows that the slot is still its own, and throws away
# what it read if not (Chase and Lev): crossbeam-deque does so on purpose, and says so where it
# does. Fences, which ThreadSanitizer does not know, it replaces where this is set.
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
echo 'race:crossbeam_deque::deque::Buffer' >"$suppressions"

TSAN_OPTIONS="suppressions=$suppressions" RUSTFLAGS="-Zsanitizer=thread --cfg crossbeam_sanitize_thread" \
	cargo +nightly test -Zbuild-std --target "$host" --target-dir "${CARGO_TARGET_DIR:-target}/tsan" -p evenkeel-runtime --lib --tests --no-fail-fast
