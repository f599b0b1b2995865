#!/usr/bin/env bash
# What fathom's clients cost, beside pgbench on the same server in the same run; the harness alone; memory.
# usage: benches/clients.sh [ROUNDS [SECONDS]]      prints Markdown; docs/benchmarks.md has the ratios; BENCH_ONLY=scripts
set -eu
cd "$(dirname "$0")/.."
exec "${CARGO:-cargo}" run --locked --release -q -p lab-postgres --example bench_clients -- "$@"
