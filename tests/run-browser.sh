#!/bin/sh
# Opens pages in headless Chromium: made-up ones, and those given as arguments. Skips, in a line,
# where there is no browser. Pictures and a PDF of each page are left in target/browser/pictures for
# people to look at.
set -eu
for page in "$@"; do
    [ -f "$page" ] || { echo "$page: no such page" >&2; exit 2; }
done
here=$(cd "$(dirname "$0")" && pwd)
ready=0
"$here/setup-browser.sh" || ready=$?
[ "$ready" = 3 ] && exit 0
[ "$ready" = 0 ] || exit "$ready"
place="$here/../target/browser"
rm -rf "$place/pages" "$place/pictures"
"$("$here/build.sh")/examples/made_up_pages" "$place/pages"
cp "$here/html_page.mjs" "$place/html_page.mjs"
node "$place/html_page.mjs" "$place/pictures" "$place"/pages/*.html "$@"
