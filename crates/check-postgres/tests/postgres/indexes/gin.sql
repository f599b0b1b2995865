create table g(id int primary key, a int[], t text[], v tsvector, j jsonb, n int, u uuid[], d date[])
create index g_a on g using gin(a)
create index g_t on g using gin(t) with (fastupdate = off)
create index g_v on g using gin(v) with (gin_pending_list_limit = 64)
create index g_j on g using gin(j)
create index g_jp on g using gin(j jsonb_path_ops) with (fastupdate = off)
create index g_two on g using gin(a, t)
create index g_part on g using gin(a) where id % 3 = 0
create index g_expr on g using gin((t || array['always']))
create index g_all on g using gin(u, d, v, a) with (fastupdate = off)
insert into g select i, array[i % 50, i % 7, i, null], array['k' || i % 300, repeat('long', i % 40)], to_tsvector('simple', 'word' || i % 500 || ' common w' || i), jsonb_build_object('a', i % 20, 'b', jsonb_build_array(i, 'x' || i % 9)), i, array[md5((i % 99)::text)::uuid], array['2020-01-01'::date + i % 700] from generate_series(1, 9000) i
insert into g select i, null, null, null, null, null, null, null from generate_series(9001, 9100) i
insert into g select i, '{}', '{}', '', '{}', 0, '{}', '{}' from generate_series(9101, 9200) i
insert into g select i, '{null}', '{null,null,a,a}', 'a b a:1', '[]', 0, '{null}', '{{2020-01-01,2021-01-01},{2022-01-01,2020-01-01}}' from generate_series(9201, 9300) i
begin
insert into g select i, array[i], array['aborted' || i], to_tsvector('simple', 'aborted' || i), '1', 1, null, null from generate_series(9301, 11000) i
rollback
delete from g where id % 4 = 0
vacuum g
insert into g select i, array[i % 50, 1], array['k' || i % 300], to_tsvector('simple', 'common again' || i % 77), '{"a": 1}', i, null, null from generate_series(20001, 24000) i
update g set a = a || 77 where id % 11 = 0
update g set n = n + 1 where id % 5 = 0
insert into g select i, (select array_agg(k) from generate_series(1, 3000) k), (select array_agg('big' || k) from generate_series(1, 500) k), (select to_tsvector('simple', string_agg('lex' || k, ' ')) from generate_series(1, 900) k), null, 0, null, null from generate_series(30001, 30010) i
insert into g select i, array[i % 3], array[repeat(md5(i::text), 30)], to_tsvector('simple', 'tail'), null, 0, null, null from generate_series(40001, 40300) i
