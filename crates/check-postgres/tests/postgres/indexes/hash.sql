create table ht(id int, t text, d date, n numeric, u uuid)
create index ht_id on ht using hash(id)
create index ht_t on ht using hash(t) with (fillfactor = 30)
create index ht_d on ht using hash(d)
create index ht_n on ht using hash(n)
create index ht_u on ht using hash(u)
create index ht_part on ht using hash(id) where id % 3 = 0
create index ht_expr on ht using hash((id % 100))
insert into ht select i, md5(i::text), date '2000-01-01' + i % 400, i / 7.0, md5(i::text)::uuid from generate_series(1, 9000) i
insert into ht select null, null, null, null, null from generate_series(1, 200)
delete from ht where id % 3 <> 0
vacuum ht
create index ht_built on ht using hash(t)
create index ht_dense on ht using hash(t) with (fillfactor = 100)
insert into ht select i % 50, 'same', date '2020-01-01', 0, '00000000-0000-0000-0000-000000000000' from generate_series(1, 3000) i
delete from ht where t = 'same' and id % 2 = 0
vacuum ht
insert into ht select i, repeat('y', i % 70), null, i, null from generate_series(20001, 23000) i
begin
insert into ht select i, 'gone' || i, date '2001-01-01', i, null from generate_series(30001, 34000) i
rollback
update ht set t = t || 'z' where id % 17 = 0
vacuum ht
begin
insert into ht select i, 'other' || i, date '2001-01-01', i, null from generate_series(40001, 42000) i
savepoint s
insert into ht select i, 'third' || i, date '2001-01-01', i, null from generate_series(42001, 44000) i
rollback to s
commit
create table hs(k bigint)
create index hs_k on hs using hash(k) with (fillfactor = 10)
insert into hs select 7 from generate_series(1, 5000)
insert into hs select i from generate_series(1, 23000) i
delete from hs where k = 7
vacuum hs
insert into hs select i * 31 from generate_series(1, 4000) i
delete from hs where k % 2 = 0
vacuum hs
insert into hs select 11 from generate_series(1, 3000)
create table he(k int)
create index he_k on he using hash(k)
create unlogged table hu(k int)
create index hu_k on hu using hash(k)
insert into hu select i from generate_series(1, 9000) i
create table hg(k int)
insert into hg select i from generate_series(1, 5000) i
create index hg_k on hg using hash(k)
delete from hg
vacuum hg
reindex index ht_t
create table hp(k text, v int) partition by list (v)
create index hp_k on hp using hash(k)
create table hp1 partition of hp for values in (1)
create table hp2 partition of hp for values in (2)
insert into hp select md5(i::text), i % 2 + 1 from generate_series(1, 6000) i
truncate hp1
insert into hp select 'a' || i, 1 from generate_series(1, 100) i
create type mood as enum ('low', 'even', 'high')
create domain positive as bigint check (value > 0)
create collation no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)
create table hk(b bool, c "char", s int2, i int4, l int8, o oid, r real, f float8, n numeric, t text, v varchar(20), p char(12), y bytea, u uuid, m name, d date, h time, w timestamp, z timestamptz, g pg_lsn, a macaddr, e mood, k positive)
insert into hk select i % 2 = 0, (i % 100 + 20)::"char", (i * 7919) % 32768 * (1 - i % 2 * 2), i * 104729 * (1 - i % 2 * 2), i * 10000000019 * (1 - i % 3), i * 1000003::bigint % 4294967296, i / 7.0 * (1 - i % 2 * 2), i * 1e17 / 13 * (1 - i % 2 * 2), (i * 1000003 / 17.0 * (1 - i % 2 * 2))::numeric(20, 6) * (case i % 5 when 0 then 1e40 when 1 then 1e-30 else 1 end), repeat(md5(i::text), i % 4) || i, left(md5(i::text), i % 20), left(md5(i::text), i % 12), decode(repeat(md5(i::text), i % 3), 'hex'), md5(i::text)::uuid, left(md5(i::text), i % 33), date '1990-01-01' + i * 13 * (1 - i % 2 * 2), time '00:00' + i * interval '7.654321 s', timestamp '1999-12-31 12:00' + i * interval '1 h 3.000001 s' * (1 - i % 2 * 2), timestamptz '1999-12-31 12:00' + i * interval '1 h', (i || '/' || to_hex(i * 77777))::pg_lsn, left(md5(i::text), 12)::macaddr, (array['low', 'even', 'high'])[i % 3 + 1]::mood, i * 10000000019 from generate_series(1, 700) i
insert into hk(r, f, n, l, t, p, y, d, w) values (0, 0, 0, -1, '', '', '', 'infinity', '-infinity'), ('-0', '-0', '-0.000', -9223372036854775808, ' ', 'a  b  ', '\x00', '-infinity', 'infinity'), ('nan', 'nan', 'nan', 9223372036854775807, 'x', 'é', '\x0001', '4713-01-01 bc', '4713-01-01 bc'), ('infinity', '-infinity', 'infinity', 4294967296, 'é', null, null, null, null), ('1e-40', '5e-324', '1e1000', -4294967296, null, null, null, null, null), (1, 1, 10000, 0, repeat('long ', 3000), null, decode(repeat('00ff', 9000), 'hex'), null, null)
update hk set t = (select string_agg(md5((abs(hk.i) % 1000 + j)::text), '') from generate_series(1, 200) j) where i % 50 = 0
create index hk_b on hk using hash(b)
create index hk_c on hk using hash(c)
create index hk_s on hk using hash(s)
create index hk_i on hk using hash(i)
create index hk_l on hk using hash(l)
create index hk_o on hk using hash(o)
create index hk_r on hk using hash(r)
create index hk_f on hk using hash(f)
create index hk_n on hk using hash(n)
create index hk_t on hk using hash(t)
create index hk_v on hk using hash(v)
create index hk_p on hk using hash(p)
create index hk_y on hk using hash(y)
create index hk_u on hk using hash(u)
create index hk_m on hk using hash(m)
create index hk_d on hk using hash(d)
create index hk_h on hk using hash(h)
create index hk_w on hk using hash(w)
create index hk_z on hk using hash(z)
create index hk_g on hk using hash(g)
create index hk_a on hk using hash(a)
create index hk_e on hk using hash(e)
create index hk_k on hk using hash(k)
create index hk_bt on hk(i, m) where i % 50 <> 0
create index hk_bti on hk(i)
create table hn(j jsonb, q inet, x int[], v interval, t text collate no_case)
insert into hn select jsonb_build_object('a', i), '10.0.0.0'::inet + i, array[i, i + 1], i * interval '1 day', 'Aa' || i from generate_series(1, 300) i
create index hn_j on hn using hash(j)
create index hn_q on hn using hash(q)
create index hn_x on hn using hash(x)
create index hn_v on hn using hash(v)
create index hn_t on hn using hash(t)
