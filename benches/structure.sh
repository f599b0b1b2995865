#!/usr/bin/env bash
# What `fathom structure` (detailed) needs beside a plain read of the same files, dbstat, pgstattuple and pgstatindex.
# usage: benches/structure.sh [ROWS [ROUNDS]]      prints Markdown; docs/benchmarks-structure.md quotes it
# Wants sqlite3 with dbstat; for PostgreSQL BENCH_BIN with server binaries and pgstattuple, else that part is left out.
set -eu
cd "$(dirname "$0")/.."
rows=${1:-200000} rounds=${2:-3}
"${CARGO:-cargo}" build --locked --release -q -p check --example bench_structure
bench="${CARGO_TARGET_DIR:-target}/release/examples/bench_structure"
place=$(mktemp -d "${BENCH_DIR:-.}/bench-structure.XXXXXX"); place=$(cd "$place" && pwd)
trap 'rm -rf "$place"' EXIT
series="WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $rows)"
sqlite3 "$place/a.db" "PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off;
    PRAGMA cache_size = -1000000;
    CREATE TABLE heap (id BLOB PRIMARY KEY, pad TEXT); CREATE TABLE rnd (id BLOB PRIMARY KEY, pad TEXT) WITHOUT ROWID;
    $series INSERT INTO heap SELECT randomblob(16), printf('%-1024s', 'x') FROM n; INSERT INTO rnd SELECT * FROM heap;" > /dev/null
printf '## SQLite, %s rows of the published shape twice\n\n' "$rows"
"$bench" sqlite "$place/a.db" "$rounds"
bin=${BENCH_BIN:-}
[ -n "$bin" ] || { echo "PostgreSQL is left out: BENCH_BIN names no directory with server binaries" >&2; exit 0; }
as=(); [ "$(id -u)" != 0 ] || { chmod 755 "$place"; mkdir "$place/pg"; chown postgres "$place/pg"; as=(setpriv --reuid=postgres --regid=postgres --clear-groups); }
data="$place/pg/data"; [ -d "$place/pg" ] || mkdir "$place/pg"
cd "$place/pg"
"${as[@]}" "$bin/initdb" -D "$data" -A trust -U postgres --no-sync > /dev/null
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -l /dev/null -o "-k $data -c listen_addresses= -c fsync=off -c max_wal_size=8GB" start
"${as[@]}" "$bin/psql" -h "$data" -U postgres -q postgres -c "create extension pgstattuple" \
    -c "create table heap (id uuid primary key, pad char(1024)); alter table heap alter pad set storage plain" \
    -c "insert into heap select gen_random_uuid(), 'x' from generate_series(1, $rows)" \
    -c "create table keys (id uuid primary key, n int)" \
    -c "insert into keys select gen_random_uuid(), i from generate_series(1, $rows * 4) i" \
    -c "vacuum" -c "checkpoint"
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -m fast stop
printf '\n## PostgreSQL, %s rows of the published shape, %s keys by themselves\n\n' "$rows" "$((rows * 4))"
"$bench" postgres "$data" "$bin" "$rounds"
