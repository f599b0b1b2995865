#!/usr/bin/env bash
# Fuzzes what reads bytes from outside: each target for some seconds, as many at a time as there are CPUs.
#
# usage: scripts/fuzz.sh SECONDS [TARGET...]
# env:   SEED: where the random numbers begin; 0, as without it, is another place each time
#        SANITIZER=none: without AddressSanitizer, which takes half of the time; the checks of Rust stay on
#        JOBS: targets at a time, without it as many as there are CPUs
# exit:  0 nothing found; 1 an input that panics, hangs or takes too much memory, kept in target/fuzz/artifacts, with the
#        command that repeats it; 2 not built, or a target was not run to its end
#
# Coverage-guided, with AddressSanitizer, overflow checks and debug assertions, where there are a C++ compiler and the
# sanitizer runtime of the Rust toolchain (stable has it, too: RUSTC_BOOTSTRAP lets it take the flags of nightly). Elsewhere
# it says so, and runs the same targets on their seeds with some bytes changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

names=$(cd fuzz/fuzz_targets && echo *.rs | sed 's/\.rs//g')
# For libFuzzer 0 seconds are no limit.
[[ ${1:-} =~ ^[1-9][0-9]{0,5}$ ]] || {
    echo "fuzz: \"${1:-}\" is no number of seconds from 1 to 999999" >&2
    echo "hint: make fuzz TIME=60 TARGET=\"sqlite_file archive\"; targets: $names" >&2
    exit 2
}
seconds=$1
shift
targets=("$@")
[ ${#targets[@]} != 0 ] || read -ra targets <<<"$names"
for target in "${targets[@]}"; do
    [ -f "fuzz/fuzz_targets/$target.rs" ] || {
        echo "fuzz: there is no target \"$target\"" >&2
        echo "hint: targets: $names" >&2
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
rm -f "$place/logs/outcome."*

not_built() {
    echo "fuzz: the targets could not be built (exit status $?)" >&2
    exit 2
}

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
    "${build[@]}" --no-default-features || not_built
    programs=$place/release
    [ "$seed" != 0 ] || seed=$RANDOM
    run() {
        cd "$place" && exec "$programs/mutate" "$1" "$seconds" "$seed" $(folders "$1")
    }
    again() {
        echo "$programs/mutate $1 ${2:-$seconds $seed $(folders "$1" | tr '\n' ' ')}"
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
    env RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" "${build[@]}" --target "$host" --bin seeds $(printf -- '--bin %s ' "${targets[@]}") ||
        not_built
    programs=$place/$host/release
    # The largest input, bytes: small ones are read more often. Pages of PostgreSQL may have 1 KiB.
    bytes_max() {
        case $1 in
        postgres_page) echo 2100 ;;
        sqlite_page) echo 4200 ;;
        sqlserver_page | decode | innodb_page) echo 16400 ;;
        sqlserver_file | postgres_cluster) echo 131072 ;;
        results_file) echo 196608 ;;
        *) echo 65536 ;;
        esac
    }
    run() {
        mkdir -p "$place/found/$1"
        cd "$place" && exec "$programs/$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -seed="$seed" \
            -max_len="$(bytes_max "$1")" -print_final_stats=1 -print_pcs=0 -print_funcs=0 -reload=0 \
            -artifact_prefix="artifacts/$1-" "found/$1" $(folders "$1")
    }
    again() {
        echo "$programs/$1 ${2:--seed=$seed $(folders "$1" | tr '\n' ' ')}"
    }
    export -f bytes_max
fi
"$programs/seeds" "$seeds" "$corpus" || not_built

# One target; its last lines where it found something. A program that ends without an input, as where it is killed for
# the memory of others, found nothing.
one() {
    local log=$place/logs/$1 status=0 input
    (run "$1") >"$log" 2>&1 || status=$?
    if [ $status = 0 ]; then
        count=$(sed -n 's/^stat::number_of_executed_units: *//p; s/^.*: \([0-9]*\) runs in .*/\1/p' "$log" | tail -1)
        echo "fuzz: $1: ${count:-0} runs, nothing found"
        return
    fi
    input=$(sed -n 's/^.*\(artifacts\/[^ ]*\)$/\1/p' "$log" | tail -1)
    # 134 and 139: aborted, and a stack overflow, without a program that keeps the input.
    if [ -z "$input" ] && [ $status != 134 ] && [ $status != 139 ]; then
        echo "fuzz: $1 was not run to its end (exit status $status): $log" >&2
        tail -3 "$log" >&2
        touch "$place/logs/outcome.not-run"
        return
    fi
    echo "fuzz: $1 FOUND SOMETHING (exit status $status): $log" >&2
    grep -aE "panicked|ERROR|SUMMARY|crash|slow" "$log" | tail -12 >&2
    echo "hint: repeat it with: $(again "$1" "${input:+$place/$input}")" >&2
    touch "$place/logs/outcome.found"
}

export -f again folders one run
export place host programs seeds corpus seconds seed
printf '%s\n' "${targets[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'one {}' || touch "$place/logs/outcome.not-run"
[ ! -e "$place/logs/outcome.found" ] || exit 1
[ ! -e "$place/logs/outcome.not-run" ] || exit 2
