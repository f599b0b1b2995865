create table t(id int primary key, a bigint, b text collate "C", c numeric, d uuid, e timestamptz, f bool, g float8, h bytea, i name, j char(10), k real, l smallint, m oid, n date, o "char", p money, q time, r interval, s jsonb, u text, v int[])
insert into t select i, (i*7919)%10007, 'txt'||(i%997), (i*1.5-1000)::numeric(12,3), md5(i::text)::uuid, timestamptz '2020-01-01'+ (i||' min')::interval, i%2=0, sin(i)*1e6, decode(md5(i::text),'hex'), 'n'||i, 'c'||(i%50), cos(i), (i%60000-30000)::smallint, i, date '2000-01-01'+i%5000, chr(33+i%90)::"char", i::money, time '00:00'+(i||' s')::interval, (i||' s')::interval, jsonb_build_object('a',i), 'u'||i%77, array[i,i+1] from generate_series(1,6000) i
create index on t(a)
create index on t(b)
create index on t(c)
create index on t(d)
create index on t(e)
create index on t(f,g desc nulls last)
create index on t(h)
create index on t(i)
create index on t(j)
create index on t(k)
create index on t(l)
create index on t(m desc)
create index on t(n)
create index on t(o)
create index on t(p)
create index on t(q)
create index on t(r)
create index on t(s)
create index on t(u)
create index on t(v)
create index t_expression on t((a+1))
create index t_partial on t(a) where f
create unique index on t(id) include (b,c)
create index on t using hash(a)
create index on t using gin(s)
create table pt(p point)
insert into pt select point(i % 100, i % 37) from generate_series(1, 3000) i
create index on pt using gist(p)
create index on pt using spgist(p)
create index on t using brin(e)
create index on t(lower(b), id)
update t set f = not f where id%3=0
update t set a = a+1 where id%5=0
delete from t where id%7=0
begin
insert into t(id,a) select i,i from generate_series(30001,31000) i
rollback
begin
savepoint s1
insert into t(id,a) values (40001,1)
rollback to s1
insert into t(id,a) values(40002,2)
savepoint s2
update t set a=3 where id=40002
release s2
commit
alter table t drop column r
alter table t add column w int default 42
alter table t add column x text not null default 'dflt'
create index on t(w)
create index on t(x)
insert into t(id,a,w) select i,i,i from generate_series(50001,50500) i
update t set w=7 where id<100
update t set x='hot'||id where id between 200 and 300
create table hot(id int primary key, v int) with (fillfactor=70)
insert into hot select i,0 from generate_series(1,5000) i
do $$ begin for k in 1..6 loop update hot set v=v+1 where id%2=0; end loop; end $$
create index hot_v on hot(v)
update hot set v=v+1 where id%4=0
create table tst(id serial primary key, p text, l text, e text, x text, k text)
alter table tst alter e set storage external, alter x set storage main
insert into tst(p,l,e,x,k) select repeat(md5(i::text),200), (select string_agg(md5((i*1000+j)::text),'') from generate_series(1,200) j), repeat('e',5000), (select string_agg(md5((i+j)::text),'') from generate_series(1,50) j), repeat('k'||i,700) from generate_series(1,500) i
create index on tst(k)
create index on tst(md5(p))
update tst set p=p||'x' where id%3=0
delete from tst where id%5=0
begin
insert into tst(p) select repeat(md5(i::text),500) from generate_series(1,50) i
rollback
alter table tst add column y text
update tst set y=l where id%10=1
vacuum full tst
update tst set id=id+10000 where id%11=0
do $$ begin execute 'create table tlz(id int primary key, z text compression lz4, y text compression pglz)'; execute 'insert into tlz select i, repeat(md5(i::text),300), repeat(md5(i::text),100) from generate_series(1,300) i'; execute 'create index on tlz(z)'; exception when others then raise notice '%', sqlerrm; end $$
create unlogged table ul(id int primary key, v text)
insert into ul select i, repeat('x',i%100) from generate_series(1,2000) i
create table part(id int, v int, primary key(id)) partition by range(id)
create table part1 partition of part for values from (0) to (1000)
create table part2 partition of part for values from (1000) to (5000)
create index on part(v)
insert into part select i,i%10 from generate_series(0,4999) i
update part set id=id+2000 where id<500 and false
create table gen(id int primary key, a int, b int generated always as (a*2) stored)
insert into gen(id,a) select i,i from generate_series(1,1000) i
create index on gen(b)
create materialized view mv as select id,a from gen
create unique index on mv(id)
create table nd(a int, b int)
insert into nd select null, i from generate_series(1,100) i
create unique index on nd(a)
create index on nd(a desc nulls last, b)
create table bad(a int)
insert into bad select 1 from generate_series(1,10)
create unique index concurrently bad_a on bad(a)
create table locks(id int primary key, v int)
insert into locks select i,i from generate_series(1,500) i
begin
select count(*) from (select * from locks where id<100 for key share) x
savepoint s
update locks set v=v+1 where id<50
release s
select count(*) from (select * from locks where id<100 for update) x
commit
select lo_from_bytea(0, decode(repeat('ab',10000),'hex'))
create table rnd(id uuid primary key, v text)
insert into rnd select md5(i::text)::uuid, md5(i::text) from generate_series(1,12000) i
delete from rnd where id::text < '4'
vacuum rnd
insert into rnd select md5(i::text)::uuid, md5(i::text) from generate_series(12001,20000) i
create table del(id int primary key)
insert into del select generate_series(1,30000)
delete from del where id between 1000 and 25000
vacuum del
create table empty_one(id int primary key)
create table wide(a text)
insert into wide select repeat('w',1500) from generate_series(1,300)
begin
alter table gen add column zz int
insert into gen(id,a,zz) values (5000,1,2)
rollback
create table dups(a int, b int)
insert into dups select i%3, i from generate_series(1,9000) i
create index on dups(a)
begin
insert into t(id,a) values (60001,1)
update t set a=5 where id=50001
prepare transaction 'p1'
analyze t
do $$ begin execute 'create table nn(a int, b int generated always as (a + 1) virtual not null)'; execute 'insert into nn select i from generate_series(1, 50) i'; execute 'insert into nn(a) values (0)'; execute 'alter table nn add column c int'; execute 'alter table nn add constraint c_set not null c not valid'; exception when others then raise notice '%', sqlerrm; end $$
create table packed(id int primary key, v text)
insert into packed select i, (select string_agg(md5((i*1000+j)::text) || repeat('a', 40), '') from generate_series(1, 200) j) from generate_series(1, 200) i
do $$ begin execute 'alter table packed alter v set compression lz4'; execute 'insert into packed select i, (select string_agg(md5((i*1000+j)::text) || repeat(chr(98), 40), '''') from generate_series(1, 200) j) from generate_series(201, 400) i'; exception when others then raise notice '%', sqlerrm; end $$
update packed set v = v || 'more' where id % 7 = 0
delete from packed where id % 11 = 0
