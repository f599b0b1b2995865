#!/usr/bin/env bash
# Fuzzes what reads bytes from outside: each target for some seconds, as many at a time as there are CPUs.
#
# usage: scripts/fuzz.sh SECONDS [TARGET...]
# env:   SEED: where the random numbers begin; 0, as without it, is another place each time
#        SANITIZER=none: without AddressSanitizer, which takes half of the time; the checks of Rust stay on
#        JOBS: targets at a time, without it as many as there are CPUs
# exit:  0 nothing found; 1 an input that panics, hangs or takes too much memory, kept in target/fuzz/artifacts; 2 not run
#
# Coverage-guided, with AddressSanitizer, overflow checks and debug assertions, where there are a C++ compiler and the
# sanitizer runtime of the Rust toolchain (stable has it, too: RUSTC_BOOTSTRAP lets it take the flags of nightly). Elsewhere
# it says so, and runs the same targets on their seeds with some bytes changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
for target in "${targets[@]}"; do
    [ -f "fuzz/fuzz_targets/$target.rs" ] || {
        echo "fuzz: there is no target \"$target\": $(cd fuzz/fuzz_targets && echo *.rs | sed 's/\.rs//g')" >&2
        exit 2
    }
done
cargo=${CARGO:-cargo}
sanitizer=${SANITIZER:-address}
place=$(realpath -m "${CARGO_TARGET_DIR:-target}/fuzz")
[ "$sanitizer" != none ] || place+=-plain
host=$(rustc -vV | sed -n 's/^host: //p')
seed=${SEED:-0}
mkdir -p "$place/logs" "$place/artifacts"

missing=
command -v c++ >/dev/null || missing="a C++ compiler"
[ "$sanitizer" = none ] || compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/librustc*_rt.asan.a" >/dev/null ||
    missing="${missing:+$missing and }the sanitizer runtime of $(rustc -V)"
# Not --locked: the crates of the workspace are part of this build, and their dependencies change.
build=("$cargo" build --release --manifest-path fuzz/Cargo.toml --target-dir "$place")
corpus=$(realpath fuzz/corpus)
seeds=$place/seeds

# The folders with inputs of a target.
folders() {
    echo "$seeds/$1"
    [ ! -d "$corpus/$1" ] || echo "$corpus/$1"
}

if [ -n "$missing" ]; then
    echo "fuzz: $missing is not here: the targets run on seeds with some bytes changed, without coverage"
    "${build[@]}" --no-default-features
    programs=$place/release
    run() {
        cd "$place" && exec "$programs/mutate" "$1" "$seconds" "${seed/#0/$RANDOM}" $(folders "$1")
    }
else
    flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
    flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg fuzzing"
    # SQLite is not what is tested, and takes minutes to compile with a sanitizer.
    if [ "$sanitizer" = none ]; then
        build+=(--features plain)
    else
        flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address"
        export CFLAGS="-fno-sanitize=address"
    fi
    env RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" "${build[@]}" --target "$host" --bin seeds $(printf -- '--bin %s ' "${targets[@]}")
    programs=$place/$host/release
    # The largest input, bytes: small ones are read more often. Pages of PostgreSQL may have 1 KiB.
    bytes_max() {
        case $1 in
        postgres_page) echo 2100 ;;
        sqlite_page) echo 4200 ;;
        sqlserver_page | decode | innodb_page) echo 16400 ;;
        sqlserver_file | postgres_cluster) echo 131072 ;;
        *) echo 65536 ;;
        esac
    }
    run() {
        mkdir -p "$place/found/$1"
        cd "$place" && exec "$programs/$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -seed="$seed" \
            -max_len="$(bytes_max "$1")" -print_final_stats=1 -print_pcs=0 -print_funcs=0 -reload=0 \
            -artifact_prefix="artifacts/$1-" "found/$1" $(folders "$1")
    }
    export -f bytes_max
fi
"$programs/seeds" "$seeds" "$corpus"

# One target; its last lines where it found something.
one() {
    if (run "$1") >"$place/logs/$1" 2>&1; then
        count=$(sed -n 's/^stat::number_of_executed_units: *//p; s/^.*: \([0-9]*\) runs in .*/\1/p' "$place/logs/$1" | tail -1)
        echo "fuzz: $1: ${count:-0} runs, nothing found"
    else
        echo "fuzz: $1 FOUND SOMETHING: $place/logs/$1" >&2
        grep -aE "panicked|ERROR|SUMMARY|artifact|crash|slow" "$place/logs/$1" | tail -12 >&2
        return 1
    fi
}

export -f folders one run
export place host programs seeds corpus seconds seed
printf '%s\n' "${targets[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'one {}' || exit 1
