#!/bin/sh
# Fetches the vendored chart library from the npm registry again and compares it with what is checked in: proves where the
# files come from. Version and checksums are those of VENDOR.toml; nothing else is accepted.
#
# usage: scripts/vendor-uplot.sh [--write]
#   --write   puts the fetched files in place instead of comparing (after VENDOR.toml was changed)
# exit:  0 the same; 1 different; 2 could not be fetched, or the archive is not the one that VENDOR.toml names
set -eu

directory=$(cd "$(dirname "$0")/.." && pwd)/crates/report/vendor/uplot-1.6.32

value() {
    sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" "$directory/VENDOR.toml"
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
curl --fail --silent --show-error --location --output "$temporary/archive.tgz" "$(value url)" || exit 2
found=sha512-$(openssl dgst -sha512 -binary "$temporary/archive.tgz" | base64 -w0)
[ "$found" = "$(value integrity)" ] || {
    echo "vendor-uplot: the archive has the checksum $found, VENDOR.toml names $(value integrity)" >&2
    exit 2
}
tar -xzf "$temporary/archive.tgz" -C "$temporary"
status=0
for path in LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css; do
    file=$(basename "$path")
    if [ "${1:-}" = --write ]; then
        cp "$temporary/package/$path" "$directory/$file"
        echo "\"$file\" = \"$(sha256sum "$directory/$file" | cut -d' ' -f1)\""
    elif cmp -s "$temporary/package/$path" "$directory/$file"; then
        echo "vendor-uplot: $file is that of the registry"
    else
        echo "vendor-uplot: $file differs from that of the registry" >&2
        status=1
    fi
done
exit $status
