#!/usr/bin/env bash
# Makes the PostgreSQL cluster that benches/check.sh measures on: a table of random keys with a primary key and two more
# indexes, all of them there while rows come in random order; a wide table, appended; vacuumed, shut down. The rows are
# the same each time. 2.5 million rows give 2.4 GB.
# usage: benches/data/postgres.sh DATA BINDIR [ROWS]      DATA must not be there; needs extension amcheck for pg_amcheck
set -euo pipefail
data=$1 bin=$2 rows=${3:-2500000}
[ ! -e "$data" ] || { echo "postgres.sh: \"$data\" is there already" >&2; exit 2; }
mkdir -p "$data"
data=$(cd "$data" && pwd)
as=()
# Servers refuse to run as root.
[ "$(id -u)" != 0 ] || { chown postgres "$data"; as=(setpriv --reuid=postgres --regid=postgres --clear-groups); }
chmod 700 "$data"
cd "${TMPDIR:-/tmp}"
"${as[@]}" "$bin/initdb" -D "$data" -A trust -U postgres -k -E UTF8 --locale=C --no-sync > /dev/null
settings="-k $data -c listen_addresses= -c fsync=off -c full_page_writes=off -c autovacuum=off -c shared_buffers=1GB
    -c max_wal_size=512MB -c wal_level=minimal -c max_wal_senders=0"
"${as[@]}" "$bin/pg_ctl" -D "$data" -w -s -l /dev/null -o "${settings//$'\n'/ }" start
stop() { "${as[@]}" "$bin/pg_ctl" -D "$data" -m fast -w -s stop; }
trap stop EXIT
"${as[@]}" "$bin/psql" -h "$data" -U postgres -q -v ON_ERROR_STOP=1 postgres \
    -c "create extension amcheck" \
    -c "create table keyed (id uuid primary key, account bigint not null, made timestamptz not null, code text,
        amount numeric(12, 2), note text)" \
    -c "create index keyed_account on keyed (account)" -c "create index keyed_code on keyed (code)" \
    -c "insert into keyed select md5('id' || i)::uuid, hashint8extended(i, 7) / 1000,
        timestamptz '2024-01-01 00:00+00' + i * interval '1 second', substr(md5('code' || i), 1, 12),
        i % 1000000 / 100.0, case when i % 4 > 0 then 'note ' || i end from generate_series(1, $rows) i" \
    -c "create table wide (id bigint primary key, made timestamptz, payload text, kind int)" \
    -c "insert into wide select i, timestamptz '2024-01-01 00:00+00' + i * interval '1 second',
        repeat(md5('wide' || i), 32), i % 7 from generate_series(1, $rows * 3 / 5) i" \
    -c "vacuum (analyze)" -c "checkpoint"
