#!/bin/sh
# Prints what the tests of one run skipped, from the file that they wrote (crates/skips).
#
# usage: scripts/skips.sh FILE
#   each line of FILE: capability, test, reason, separated by tabs; a test may skip several parts of itself
set -eu

[ -s "$1" ] || {
    echo "skipped: none"
    exit 0
}
sort -u "$1" | awk -F '\t' '
    function end_of_group() {
        if (tests) printf "skipped: %d %s for want of %s (%s)\n%s", tests, tests == 1 ? "test" : "tests", capability, reason, names
    }
    $1 != capability { end_of_group(); capability = $1; reason = $3; tests = 0; names = ""; test = "" }
    $2 != test { test = $2; tests++; names = names "  " test "\n" }
    END { end_of_group() }'
