#!/usr/bin/env bash
# `fathom io` and the reader of the checker compared with fio: same file, same I/O engine, in turns, ratio of each round.
# usage: benches/io.sh [DIRECTORY [ROUNDS [SECONDS [MIB]]]]
#        writes benches/runs/<date>/io.md with the machine, and prints it
# With huge pages reserved (vm.nr_hugepages) fio gets them, as fathom asks for them by itself.
set -euo pipefail
cd "$(dirname "$0")/.."
own=$(mktemp -d "${TMPDIR:-/tmp}/bench-io.XXXXXX")
trap 'rm -rf "$own"' EXIT
directory=${1:-$own} rounds=${2:-5} seconds=${3:-1} mib=${4:-1024}
document=benches/runs/$(date +%F)/io.md

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

mkdir -p "$(dirname "$document")"
printf '# `fathom io` compared with fio\n\n%s\n\n%s\n' "$machine" "$table" >"$document"
printf '%s\n\n%s\n' "$machine" "$table"
