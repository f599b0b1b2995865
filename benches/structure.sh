#!/usr/bin/env bash
# What `fathom structure` (detailed) needs beside a plain read of the same files, dbstat, pgstattuple and pgstatindex, cold.
# usage: benches/structure.sh [ROWS [ROUNDS]]      prints Markdown; docs/benchmarks.md has the ratios
# 700,000 rows of the published shape with random keys are 1.6 GB in SQLite (a heap with its index, and a tree that holds
# the rows) and 1.3 GB in PostgreSQL (a heap with its index, and four times as many keys by themselves).
# BENCH_SQLITE=FILE measures an existing SQLite file instead, read only. Wants sqlite3 with dbstat; for PostgreSQL BENCH_BIN
# with server binaries, psql and pgstattuple, else that part is left out. BENCH_DIR: where the databases are made.
set -eu
cd "$(dirname "$0")/.."
rows=${1:-700000} rounds=${2:-3}
"${CARGO:-cargo}" build --locked --release -q -p fathom --example bench_structure
bench="${CARGO_TARGET_DIR:-target}/release/examples/bench_structure"; bench=$(realpath "$bench")
place=$(mktemp -d "${BENCH_DIR:-.}/bench-structure.XXXXXX"); place=$(cd "$place" && pwd)
as=() data="$place/pg/data" bin=${BENCH_BIN:-}
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
cleanup() {
    [ ! -f "$data/postmaster.pid" ] || "${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -m immediate stop || true
    rm -rf "$place"
}
trap cleanup EXIT
file=${BENCH_SQLITE:-}
if [ -z "$file" ]; then
    file="$place/a.db"
    series="WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $rows)"
    # Rows of the tree come in the order in which random keys were drawn, so that its leaves lie in none.
    sqlite3 "$file" "PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off;
        PRAGMA cache_size = -2000000;
        CREATE TABLE heap (id BLOB PRIMARY KEY, pad TEXT); CREATE TABLE rnd (id BLOB PRIMARY KEY, pad TEXT) WITHOUT ROWID;
        $series INSERT INTO heap SELECT randomblob(16), printf('%-1024s', 'x') FROM n;
        INSERT INTO rnd SELECT * FROM heap ORDER BY rowid;" > /dev/null
    printf '## SQLite, %s rows of the published shape twice, ' "$rows"
else
    printf '## SQLite, an existing file, '
fi
"$bench" sqlite "$file" "$rounds"
[ -n "$bin" ] || { echo "PostgreSQL is left out: BENCH_BIN names no directory with server binaries" >&2; exit 0; }
mkdir "$place/pg"
[ "$(id -u)" != 0 ] || { chmod 755 "$place"; chown postgres "$place/pg"; }
cd "$place/pg"
"${as[@]}" "$bin/initdb" -D "$data" -A trust -U postgres --no-sync > /dev/null
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -l /dev/null -o \
    "-k $data -c listen_addresses= -c fsync=off -c max_wal_size=8GB -c shared_buffers=1GB" start
"${as[@]}" "$bin/psql" -h "$data" -U postgres -q postgres -c "create extension pgstattuple" \
    -c "create table heap (id uuid primary key, pad char(1024)); alter table heap alter pad set storage plain" \
    -c "insert into heap select gen_random_uuid(), 'x' from generate_series(1, $rows)" \
    -c "create table keys (id uuid primary key, n int)" \
    -c "insert into keys select gen_random_uuid(), i from generate_series(1, $rows * 4) i" \
    -c "vacuum" -c "checkpoint"
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -m fast stop
printf '\n## PostgreSQL, %s rows of the published shape, %s keys by themselves, ' "$rows" "$((rows * 4))"
"$bench" postgres "$data" "$bin" "$rounds"
