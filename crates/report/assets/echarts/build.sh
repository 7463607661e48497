#!/bin/sh
# Makes echarts.min.js from the npm packages that package-lock.json names, and takes their licences
# in. Needs Node.js. Run it by hand after a change to entry.js or a version; the result is
# committed, so that building Evenkeel needs no npm.
set -eu
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
for package in echarts:LICENSE echarts:NOTICE echarts:licenses/LICENSE-d3; do
    cp "node_modules/${package%%:*}/${package##*:}" .
done
cp node_modules/zrender/LICENSE LICENSE-zrender
cp node_modules/tslib/LICENSE.txt LICENSE-tslib
version=$(node -p 'require("echarts/package.json").version')
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=echarts --legal-comments=none \
    --charset=ascii --outfile=echarts.min.js \
    --banner:js="/*! Apache ECharts $version, Apache-2.0, with zrender (BSD-3-Clause), tslib (0BSD), d3 parts (BSD-3-Clause). https://echarts.apache.org */"
rm -rf node_modules
