#!/usr/bin/env bash
# `fathom check` beside the checks that the engines bring: quick_check and integrity_check of SQLite, and pg_checksums
# and pg_amcheck where a data directory is named. Prints Markdown; docs/benchmarks-check*.md quote it.
# usage: benches/check.sh [DIRECTORY [ROWS [ROUNDS]]]      the SQLite file is made in DIRECTORY when it is not there
#        BENCH_PGDATA=DATA BENCH_PGBIN=BINDIR benches/check.sh      checks that cluster as well; it must be shut down
set -euo pipefail
cd "$(dirname "$0")/.."
own=$(mktemp -d "${TMPDIR:-/tmp}/bench-check.XXXXXX")
trap 'rm -rf "$own"' EXIT
run=("${CARGO:-cargo}" run --locked --release -q -p check --example)

"${run[@]}" bench_check_sqlite -- "${1:-$own}" "${2:-400000}" "${3:-3}"
if [ -n "${BENCH_PGDATA:-}" ]; then
    "${run[@]}" bench_postgres -- "$BENCH_PGDATA" "${BENCH_PGBIN:?is the directory of pg_checksums}" "${3:-3}"
else
    echo "check.sh: BENCH_PGDATA names no data directory: PostgreSQL is left out" >&2
fi
