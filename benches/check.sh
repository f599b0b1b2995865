#!/usr/bin/env bash
# `fathom check` beside the checks that the engines bring: quick_check and integrity_check of SQLite, and pg_checksums
# and pg_amcheck of PostgreSQL. Prints Markdown; docs/benchmarks.md has the ratios. Databases are made where they are
# not there yet, in DIRECTORY if one is named; a cluster needs the server of Debian's packages, or BENCH_PGBIN.
# usage: benches/check.sh [DIRECTORY [ROWS [ROUNDS]]]      ROWS are those of the SQLite file, 2.3 GB from 4 million on
#        BENCH_PGDATA=DATA BENCH_PGBIN=BINDIR benches/check.sh      a cluster of your own; it must be shut down
#        BENCH_ONLY=postgres, or sqlite      one engine alone
set -euo pipefail
cd "$(dirname "$0")/.."
own=$(mktemp -d "${TMPDIR:-/tmp}/bench-check.XXXXXX")
trap 'rm -rf "$own"' EXIT
# The server has a user of its own.
chmod 755 "$own"
run=("${CARGO:-cargo}" run --locked --release -q --example)

if [ "${BENCH_ONLY:-sqlite}" = sqlite ]; then
    "${run[@]}" bench_check_sqlite -p check-sqlite -- "${1:-$own}" "${2:-400000}" "${3:-3}"
fi
if [ "${BENCH_ONLY:-postgres}" = postgres ]; then
    bins=(/usr/lib/postgresql/*/bin)
    bin=${BENCH_PGBIN:-${bins[-1]}}
    if [ ! -x "$bin/pg_checksums" ]; then
        echo "check.sh: there is no \"$bin/pg_checksums\", and BENCH_PGBIN names no directory: PostgreSQL is left out" >&2
        exit 0
    fi
    data=${BENCH_PGDATA:-${1:-$own}/pgdata}
    [ -e "$data" ] || benches/data/postgres.sh "$data" "$bin" "${BENCH_PGROWS:-2500000}"
    "${run[@]}" bench_postgres -p check-postgres -- "$data" "$bin" "${3:-3}"
fi
