#!/usr/bin/env bash
# `fathom check` on a large SQL Server data file: the levels beside a sequential read. Prints Markdown;
# docs/benchmarks.md has the ratios.
# usage: benches/check-sqlserver.sh BASE [DIRECTORY [MEBIBYTES [ROUNDS]]]
#        BASE is northwnd-2008-checksum.mdf; large.mdf is made in DIRECTORY when it is not there
set -euo pipefail
base=$(realpath "${1:?is the data file of Northwind, 2008, with checksums}")
directory=$(realpath "${2:-.}")
cd "$(dirname "$0")/.."
own=$(mktemp -d "${TMPDIR:-/tmp}/bench-check.XXXXXX")
trap 'rm -rf "$own"' EXIT
[ $# -ge 2 ] || directory=$own
"${CARGO:-cargo}" run --locked --release -q -p check-sqlserver --example bench_sqlserver -- \
    "$base" "$directory/large.mdf" "${3:-1024}" "${4:-5}"
