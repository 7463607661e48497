#!/bin/sh
# The pages that `compare --html`, `simulate --html` and `reproduce --html` write, of real runs, in
# a real browser (see run-browser.sh).
set -eu
cd "$(dirname "$0")/.."
place=target/pages
mkdir -p "$place"
built=$(./tests/build.sh)
evenkeel() {
    "$built/evenkeel" "$@" >/dev/null
}
evenkeel compare -m odroid-xu3-paper --each -w swaptions -w ferret -w workloads/rtapp-mixed.json --size 0.02 --duration 2s \
    -p pinned,linux,gts:up=600,gts --html "$place/study.html"
evenkeel compare -m quickia -w gamess -w gobmk --size 0.05 -p linux,hsp,acfs --html "$place/mix.html"
evenkeel simulate -m odroid-xu3 --cores 1big+2little -w bodytrack --size 0.02 -p gts --html "$place/one.html"
evenkeel reproduce amc-maturity --quick --html "$place/maturity.html"
evenkeel compare -m odroid-xu3-paper -w workloads/rtapp-mixed.json --duration 2s -p linux,gts,hsp,acfs --html "$place/timed.html"
exec ./tests/run-browser.sh "$place/study.html" "$place/mix.html" "$place/timed.html" "$place/one.html" "$place/maturity.html"
