create table b(id int, k int, t text, n numeric, ts timestamp, u uuid, f float8, h bytea, c char(8), o oid, m name, r int4range, ip inet, wide text) with (autovacuum_enabled = off)
alter table b alter wide set storage plain
create index b_one on b using brin(k, t, n) with (pages_per_range = 1)
create index b_four on b using brin(ts, u, f, h, c, o, m) with (pages_per_range = 4, autosummarize = on)
create index b_multi on b using brin(k int4_minmax_multi_ops, n numeric_minmax_multi_ops, u uuid_minmax_multi_ops, ts timestamp_minmax_multi_ops, f float8_minmax_multi_ops, o oid_minmax_multi_ops) with (pages_per_range = 2)
create index b_bloom on b using brin(k int4_bloom_ops, t text_bloom_ops, id) with (pages_per_range = 3)
create index b_filters on b using brin(n numeric_bloom_ops(n_distinct_per_range = 20), ts timestamp_bloom_ops(n_distinct_per_range = 20), u uuid_bloom_ops(n_distinct_per_range = 20), f float8_bloom_ops(n_distinct_per_range = 20), h bytea_bloom_ops(n_distinct_per_range = 20), c bpchar_bloom_ops(n_distinct_per_range = 20), o oid_bloom_ops(n_distinct_per_range = 20), m name_bloom_ops(n_distinct_per_range = 20)) with (pages_per_range = 1)
create index b_inclusion on b using brin(r, ip inet_inclusion_ops, k) with (pages_per_range = 8)
create index b_partial on b using brin(k) with (pages_per_range = 1) where k > 100
create index b_expression on b using brin((k + 1), ts) with (pages_per_range = 1)
create index b_default on b using brin(k, ts)
