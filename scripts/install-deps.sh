#!/bin/sh
# Installs what a job needs and this machine lacks: Debian packages, with sudo when not root. What is there is left
# alone and not spoken of.
#
# usage: scripts/install-deps.sh demo|test|capabilities
#   demo   a C compiler and a Rust toolchain (the demo brings its own SQLite)
#   test   the same, rustfmt and clippy, PostgreSQL server binaries of major 14 or later, and Chromium and a
#          font for pictures, which the tests of the page do without where they cannot be had
#   capabilities
#          installs nothing; prints for FATHOM_REQUIRE what of this is here, so that no test may be skipped for want
#          of it: each test that needs it looks in the same places
# exit:  0 everything needed is there; 2 something could not be had, with the reason on stderr
#
# Installing PostgreSQL the usual way creates a cluster and starts it. Here the package is told, through a drop-in
# file of its own configuration, not to create one; the drop-in is removed afterwards. Clusters that exist are never
# touched: when any server is found, nothing is installed.
set -eu

# Workspace: rust-version in Cargo.toml.
rust_minor_min=90
postgres_major_min=14
drop_in_directory=/etc/postgresql-common/createcluster.d
drop_in=$drop_in_directory/no-main-cluster-while-fathom-installs.conf

say() {
    echo "install-deps: $*"
}

complain() {
    echo "install-deps: $*" >&2
}

# Runs a command as root; never waits for a password where nobody can type one.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# Is there apt-get, and a way to become root for it? Says what is missing.
require_apt() {
    if ! command -v apt-get >/dev/null 2>&1; then
        complain "cannot install \"$*\": there is no apt-get; install the counterpart from this system's packages"
    elif [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        complain "cannot install \"$*\": not root, and sudo is not installed; as root run: apt-get install $*"
    elif ! as_root true; then
        complain "cannot install \"$*\": sudo refuses; as root run: apt-get install $*"
    else
        return 0
    fi
    return 1
}

# Runs apt-get without questions; what it prints goes to the file in $apt_log.
apt() {
    # DPkg::Lock::Timeout: another apt-get may be at work on a machine that has just started.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        "$@" >>"$apt_log" 2>&1 </dev/null
}

# Installs Debian packages; refreshes the package lists once when they are absent or out of date.
install_packages() {
    require_apt "$@" || return 1
    say "installing Debian packages: $*"
    apt_log=$(mktemp)
    if apt install --no-install-recommends "$@" ||
        { say "refreshing the package lists" && { apt update || true; } && apt install --no-install-recommends "$@"; }; then
        rm -f "$apt_log"
        return 0
    fi
    cat "$apt_log" >&2
    rm -f "$apt_log"
    complain "could not install the Debian packages \"$*\" (apt-get's words are above)"
    return 1
}

need_compiler() {
    command -v cc >/dev/null 2>&1 || install_packages gcc libc6-dev
}

need_rust() {
    cargo=${CARGO:-cargo}
    found=$("$cargo" --version 2>/dev/null) || {
        complain "no Rust toolchain: \"$cargo\" does not run; install one from https://rustup.rs"
        return 1
    }
    minor=$(echo "$found" | sed -n 's/^cargo 1\.\([0-9][0-9]*\)\..*/\1/p')
    if [ -n "$minor" ] && [ "$minor" -lt "$rust_minor_min" ]; then
        complain "the Rust toolchain is too old: \"$found\", needed is 1.$rust_minor_min; run: rustup update stable"
        return 1
    fi
}

need_rust_component() {
    "${CARGO:-cargo}" "$1" --version >/dev/null 2>&1 && return 0
    if command -v rustup >/dev/null 2>&1; then
        say "adding the Rust component $2"
        rustup component add "$2" && return 0
    fi
    complain "cargo has no \"$1\", and rustup could not add the component $2"
    return 1
}

# The same places as crates/lab-postgres/src/discovery.rs.
postgres_directories() {
    { echo "${FATHOM_PG_BIN:-}:$PATH" | tr ':' '\n'; } | grep '^/' || true
    for directory in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin "${HOME:-/nonexistent}"/.cache/fathom/pg/*/bin \
        /var/cache/fathom/pg/*/bin; do
        echo "$directory"
    done
}

has_postgres() {
    postgres_directories | {
        while IFS= read -r directory; do
            [ -x "$directory/postgres" ] && [ -x "$directory/initdb" ] || continue
            major=$("$directory/postgres" --version 2>/dev/null |
                sed -n 's/.*(PostgreSQL) \([0-9][0-9]*\).*/\1/p')
            [ -n "$major" ] && [ "$major" -ge "$postgres_major_min" ] && exit 0
        done
        exit 1
    }
}

remove_drop_in() {
    as_root rm -f "$drop_in"
    as_root rmdir "$drop_in_directory" 2>/dev/null || true
}

need_postgres() {
    has_postgres && return 0
    say "no PostgreSQL server of major $postgres_major_min or later was found"
    require_apt postgresql || return 1
    trap remove_drop_in EXIT INT TERM
    as_root mkdir -p "$drop_in_directory"
    echo "create_main_cluster = false" | as_root tee "$drop_in" >/dev/null
    installed=yes
    install_packages postgresql || installed=no
    remove_drop_in
    trap - EXIT INT TERM
    [ "$installed" = yes ] || return 1
    has_postgres || {
        complain "the package postgresql is installed, yet no server of major $postgres_major_min or later was found"
        return 1
    }
}

# The same names as crates/fathom/tests/browser/browser.rs. Without a browser the page is not tested in one, no more.
want_browser() {
    [ -n "${FATHOM_CHROMIUM:-}" ] && return 0
    for name in chromium chromium-browser google-chrome-stable google-chrome; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    install_packages chromium || complain "going on without Chromium: the page is not tested in a browser"
}

# Without a font `fathom report --format png` says so, and its test looks for that sentence.
want_font() {
    for directory in /usr/share/fonts /usr/local/share/fonts "${HOME:-/nonexistent}/.fonts" "${HOME:-/nonexistent}/.local/share/fonts"; do
        [ -d "$directory" ] && [ -n "$(find "$directory" -name '*.[to]t[fc]' | head -n 1)" ] && return 0
    done
    install_packages fonts-dejavu-core || complain "going on without a font: no picture is drawn as PNG"
}

# Prints the capabilities of crates/skips that are here, separated by commas. A server counts where all tests look for
# it: those of `check` have no other places.
capabilities() {
    found=
    for directory in /usr/lib/postgresql/*/bin /var/cache/fathom/pg/*/bin; do
        case $directory in
            /*/1[4-8]/bin | /*/1[4-8].*/bin) [ -x "$directory/initdb" ] && [ -x "$directory/postgres" ] && found=postgres ;;
        esac
    done
    for name in chromium chromium-browser google-chrome-stable google-chrome; do
        if command -v "$name" >/dev/null 2>&1; then
            found=${found:+$found,}chromium
            break
        fi
    done
    echo "$found"
}

case "${1:-}" in
    capabilities)
        capabilities
        ;;
    demo)
        need_compiler && need_rust || exit 2
        ;;
    test)
        need_compiler && need_rust && need_rust_component fmt rustfmt && need_rust_component clippy clippy &&
            need_postgres || exit 2
        want_browser
        want_font
        ;;
    *)
        complain "usage: scripts/install-deps.sh demo|test|capabilities"
        exit 2
        ;;
esac
