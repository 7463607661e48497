#!/bin/sh
# The features with which tests are built here: sched_ext where libelf, zlib and what finds them
# are.
if [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ] && command -v pkg-config >/dev/null; then
    echo --features evenkeel/sched_ext
fi
