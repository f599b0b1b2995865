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
