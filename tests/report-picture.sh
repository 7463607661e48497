#!/bin/sh
# Makes docs/pictures/report.png anew: the first screens of the page that `make demo` wrote, or of
# the one given, in Chromium (see setup-browser.sh).
set -eu
cd "$(dirname "$0")/.."
page=${1:-report.html}
[ -f "$page" ] || { echo "$page: no such page; \`make demo\` writes report.html" >&2; exit 2; }
./tests/setup-browser.sh
cp tests/report_picture.mjs target/browser/report_picture.mjs
node target/browser/report_picture.mjs "$page" docs/pictures/report.png
