#!/usr/bin/env bash
# Runs under Miri what can run there: code with raw memory, the transfers by threads that stand on it, and the parsers of
# untrusted bytes. io_uring, SQLite and servers cannot: Miri has no such system calls and no C.
#
# usage: scripts/miri.sh
# exit:  0 nothing found; 2 Miri is not here and cannot be installed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! rustup component add --toolchain nightly miri rust-src >/dev/null 2>&1; then
    echo "miri: rustup cannot install Miri: rustup toolchain install nightly --component miri,rust-src" >&2
    exit 2
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
# Files and the clock are real, and reads are whole.
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-no-short-fd-operations"
# Miri takes a hundred times as long: property tests try a few cases.
export PROPTEST_CASES=4
miri() {
    cargo +nightly miri test --locked "$@"
}

miri -p disk --lib -- buffer:: backend::memory backend::threads
miri -p formats --lib
miri -p check-postgres --lib -- archive::header
miri -p results --lib -- histogram::
