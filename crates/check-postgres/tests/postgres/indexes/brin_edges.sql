create table empty_one(k int)
create index empty_k on empty_one using brin(k)
create table cut(k int, t text)
insert into cut select i, repeat('c', 200) from generate_series(1, 4000) i
create index cut_k on cut using brin(k, t) with (pages_per_range = 2)
delete from cut where k > 500
vacuum (truncate) cut
insert into cut select null, null from generate_series(1, 3000) i
vacuum cut
delete from cut
vacuum (truncate) cut
create unlogged table passing(k int)
create index passing_k on passing using brin(k)
insert into passing select generate_series(1, 1000)
create table kinds(a smallint, b bigint, c real, d float8, e numeric, f date, g timestamptz, h time, i macaddr, j macaddr8, k pg_lsn, l "char", m interval, n bit(9), o timetz)
create index kinds_bounds on kinds using brin(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) with (pages_per_range = 1)
create index kinds_several on kinds using brin(a int2_minmax_multi_ops, b int8_minmax_multi_ops, c float4_minmax_multi_ops, e numeric_minmax_multi_ops, f date_minmax_multi_ops, h time_minmax_multi_ops, i macaddr_minmax_multi_ops, j macaddr8_minmax_multi_ops, k pg_lsn_minmax_multi_ops, m interval_minmax_multi_ops) with (pages_per_range = 1)
create index kinds_filters on kinds using brin(a int2_bloom_ops(n_distinct_per_range = 20), b int8_bloom_ops(n_distinct_per_range = 20), c float4_bloom_ops(n_distinct_per_range = 20), d float8_bloom_ops(n_distinct_per_range = 20), e numeric_bloom_ops(n_distinct_per_range = 20), f date_bloom_ops(n_distinct_per_range = 20), h time_bloom_ops(n_distinct_per_range = 20), i macaddr_bloom_ops(n_distinct_per_range = 20), j macaddr8_bloom_ops(n_distinct_per_range = 20), k pg_lsn_bloom_ops(n_distinct_per_range = 20), l char_bloom_ops(n_distinct_per_range = 20)) with (pages_per_range = 1)
insert into kinds select i % 300 - 150, (i - 500) * 7777777777, i - 500.5, (i - 500) * 1e100, (i - 500) * 1e10 / 7, date '1990-01-01' + i * 11, timestamptz '1990-01-01' + (i || ' min')::interval, time '00:00' + (i || ' s')::interval, ('08:00:2b:01:02:' || lpad(to_hex(i % 256), 2, '0'))::macaddr, ('08:00:2b:01:02:03:04:' || lpad(to_hex(i % 256), 2, '0'))::macaddr8, ('0/' || to_hex(i * 4096))::pg_lsn, chr(33 + i % 90)::"char", (i || ' s')::interval, (i % 512)::bit(9), timetz '00:00+00' + (i || ' s')::interval from generate_series(1, 1000) i
insert into kinds(c, d, e) values ('NaN', 'NaN', 'NaN'), ('-0', '-0', '0.0000'), ('Infinity', '-Infinity', 'Infinity'), (0, 0, '-Infinity'), (1e-30, 1e-300, 1e-100), (null, null, 1000000000000000000000.5000)
vacuum kinds
insert into kinds(c, d, e) values ('-NaN', '-NaN', 'NaN'), ('-0', '-0', '-0.0000'), ('-Infinity', 'Infinity', '-Infinity'), (0, 0, 20000), (1e-30, 1e-300, 1e-100), (null, null, 100000000.000)
create table added(k int)
insert into added select i from generate_series(1, 2000) i
alter table added add column late int default 77
create index added_late on added using brin(late, k) with (pages_per_range = 1)
insert into added values (1, null)
