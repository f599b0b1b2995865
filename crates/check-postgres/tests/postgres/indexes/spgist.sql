create table sq(id int, p point, pad text)
create index sq_quad on sq using spgist(p)
create index sq_kd on sq using spgist(p kd_point_ops) include (id)
insert into sq select i, point((i * 7919) % 10007, (i * 6007) % 9973), repeat('p', 50) from generate_series(1, 9000) i
insert into sq select i, point(5, 5), 'same' from generate_series(1, 700) i
insert into sq select i, null, 'none' from generate_series(1, 900) i
delete from sq where p[0] between 2000 and 6000 or id % 400 = 0
vacuum sq
insert into sq select i, point(i % 977, (i * 31) % 9973), 'more' from generate_series(10001, 13000) i
begin
insert into sq select i, point(i, i), 'gone' from generate_series(20001, 21500) i
rollback
update sq set p = point(p[1], p[0]) where id % 9 = 0
vacuum sq
insert into sq select i, point(i % 17, i % 19), 'again' from generate_series(13001, 14500) i
create index sq_built on sq using spgist(p)
create table st(id int, v text)
create index st_v on st using spgist(v)
insert into st select i, 'www.' || md5((i % 3000)::text) || '/' || i from generate_series(1, 7000) i
insert into st select i, repeat('same', 10) from generate_series(1, 600) i
insert into st select i, repeat(md5((i % 10)::text), i % 60) from generate_series(1, 1500) i
insert into st select i, null from generate_series(1, 600) i
insert into st select i, '' from generate_series(1, 50) i
delete from st where v like 'www.a%' or id % 5 = 0
vacuum st
vacuum st
insert into st select i, 'ftp.' || i || md5(i::text) from generate_series(1, 3000) i
update st set v = v || 'x' where id % 7 = 0
reindex index st_v
insert into st select i, md5(i::text) from generate_series(1, 2000) i
create table sr(r int4range, a inet, b box, g polygon)
create index sr_r on sr using spgist(r)
create index sr_a on sr using spgist(a)
create index sr_b on sr using spgist(b)
create index sr_g on sr using spgist(g)
insert into sr select int4range(i % 700, i % 700 + i % 40), (i % 223 + 1 || '.' || i % 251 || '.' || i % 7 || '.' || i % 97 || '/' || 8 + i % 25)::inet, box(point(i % 300, (i * 37) % 500), point(i % 300 + i % 7, (i * 37) % 500 + i % 5)), polygon(circle(point(i % 211, i % 307), i % 9 + 1)) from generate_series(1, 5000) i
insert into sr select 'empty', '::1', null, null from generate_series(1, 100)
delete from sr where lower(r) < 300
vacuum sr
insert into sr select int4range(null, i), '2001:db8::1'::inet + i, box(point(i, i), point(i, i)), '((0,0),(1,1),(2,0))' from generate_series(1, 1500) i
create table se(v text, exclude using spgist (v with =))
insert into se select md5(i::text) from generate_series(1, 3000) i
delete from se
vacuum se
insert into se select md5(i::text) from generate_series(1, 500) i
create table s0(v text)
create index s0_v on s0 using spgist(v)
