#!/bin/sh
# Makes ready what run-browser.sh needs: Chromium, from Debian where this is root on Debian, and
# playwright-core from npm, under target/browser. Exit 0: ready; 3: it cannot be, and a line on
# stdout says what is missing.
set -u
cd "$(dirname "$0")/.." || exit 1
place=target/browser
mkdir -p "$place"
missing() {
    echo "no browser test: $1"
    exit 3
}
command -v node >/dev/null && command -v npm >/dev/null || missing "Node.js with npm is missing"
if ! command -v chromium >/dev/null; then
    if [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ]; then
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } \
            >"$place/apt.log" 2>&1 || missing "chromium does not install ($place/apt.log says why)"
    else
        missing "chromium is missing (Debian: apt-get install chromium)"
    fi
fi
if ! cmp -s tests/package-lock.json "$place/package-lock.json" || [ ! -d "$place/node_modules/playwright-core" ]; then
    cp tests/package.json tests/package-lock.json "$place/"
    (cd "$place" && npm ci --ignore-scripts --no-audit --no-fund) >"$place/npm.log" 2>&1 ||
        { rm -f "$place/package-lock.json"; missing "playwright-core does not install ($place/npm.log says why)"; }
fi
