#!/usr/bin/env bash
# What looking at a run costs: wait samplers, counters and the timed VFS, each switched on and off within one run.
# usage: benches/observe.sh [PAIRS]      less than 3 minutes with 8; prints Markdown; docs/benchmarks.md has the ratios
set -eu
cd "$(dirname "$0")/.."
pairs=${1:-8}
cargo=${CARGO:-cargo}
"$cargo" build --locked --release -q -p lab-postgres --example bench_waits -p lab-sqlite --example bench_vfs
target=$("$cargo" metadata --locked --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
examples=$target/release/examples
echo '| sampler | connections | CPU per tx, on / off | tx/s, on / off | of one core | looks present |'
echo '|---|---|---|---|---|---|'
for what in 'nothing 64' 'memory 64' 'memory 132' 'sql 64' 'series 64'; do
	# shellcheck disable=SC2086
	"$examples/bench_waits" $what "$pairs" 1 | grep '^|'
done
echo
"$examples/bench_vfs" $(((pairs + 1) / 2)) 1
