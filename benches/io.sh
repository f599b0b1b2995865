#!/usr/bin/env bash
# `fathom io` and the reader of the checker beside fio: same file, same engine, in turns, with the ratio of each round.
# usage: benches/io.sh [DIRECTORY [ROUNDS [SECONDS [MIB]]]]
#        replaces the section "The last run" of docs/benchmarks-io.md and the table in docs/benchmarks.md, and names
#        the machine in both
# With huge pages reserved (vm.nr_hugepages) fio gets them, as fathom asks for them by itself.
set -euo pipefail
cd "$(dirname "$0")/.."
own=$(mktemp -d "${TMPDIR:-/tmp}/bench-io.XXXXXX")
trap 'rm -rf "$own"' EXIT
directory=${1:-$own} rounds=${2:-5} seconds=${3:-1} mib=${4:-1024}
document=docs/benchmarks-io.md
heading="## The last run of benches/io.sh"

if ! fio_version=$(fio --version 2>/dev/null); then
    echo "io.sh: fio is not installed; there is nothing to compare with" >&2
    exit 2
fi
words=(--rounds "$rounds" --seconds "$seconds" --mib "$mib")
memory="fio with its default memory"
if [ "$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)" -ge 40 ]; then
    words+=(--huge)
    memory="fio with huge pages (\`--mem=mmaphuge\`)"
fi
load_before=$(cut -d' ' -f1-3 /proc/loadavg)
table=$("${CARGO:-cargo}" run --locked --release -q -p disk --example bench-io -- "$directory" "${words[@]}" 2>/dev/null)
processors=$(nproc)
model=$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
memory_gib=$(awk '/^MemTotal:/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
device=$(findmnt -n -o SOURCE,FSTYPE -T "$directory" | tr -s ' ')

machine="Machine: $processors processors ($model), $memory_gib GiB, Linux $(uname -r); $device; $fio_version; $memory.
Load average before and after: $load_before; $(cut -d' ' -f1-3 /proc/loadavg)."

# usage: replace_section DOCUMENT HEADING TEXT      everything from the heading to the next one of its kind
replace_section() {
    {
        awk -v heading="$2" '$0 == heading { exit } { print }' "$1"
        printf '%s\n\n%s\n' "$2" "$3"
        awk -v heading="$2" '$0 == heading { inside = 1; next } inside && /^## / { inside = 0; after = 1; print "" } after' "$1"
    } >"$own/document"
    cp "$own/document" "$1"
}

# The lines of both tools without the work of kernel threads, for the overview.
ratios=$(awk -F'|' '!/^\|/ { print } NF == 10 { print "|" $2 "|" $3 "|" $4 "|" $5 "|" $6 "|" $7 "|" }' <<<"$table" | cat -s)
replace_section "$document" "$heading" "$machine

$table"
replace_section docs/benchmarks.md "## Raw I/O beside fio" "Written by \`benches/io.sh\`; [benchmarks-io.md](benchmarks-io.md) says how, and what was learned.
$machine

$ratios"
printf '%s\n\n%s\n' "$machine" "$table"
