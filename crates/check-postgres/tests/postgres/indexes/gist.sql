create table gp(id int primary key, p point, pad text)
create index gp_gist on gp using gist(p) include (pad)
insert into gp select i, point((i * 7919) % 10007, (i * 104729) % 9973), repeat('p', 300) from generate_series(1, 6000) i
create index gp_sorted on gp using gist(p)
create index gp_buffered on gp using gist(p) with (buffering = on, fillfactor = 50)
insert into gp select i, null, 'none' from generate_series(6001, 6040) i
update gp set p = point(id % 13, 7) where id % 11 = 0
delete from gp where p[0] between 2000 and 8000
vacuum gp
vacuum gp
insert into gp select i, point(i % 977, (i * 31) % 9973), repeat('q', 200) from generate_series(10001, 12000) i
begin
insert into gp select i, point(i, i), 'gone' from generate_series(20001, 21500) i
rollback
create table gb(b box, c circle, g polygon)
insert into gb select box(point(i % 300, (i * 37) % 500), point(i % 300 + i % 7, (i * 37) % 500 + i % 5)), circle(point(i % 211, i % 307), i % 9), polygon(circle(point(i % 211, i % 307), i % 9 + 1)) from generate_series(1, 5000) i
create index gb_box on gb using gist(b)
create index gb_circle on gb using gist(c) with (buffering = off)
create index gb_polygon on gb using gist(g)
create index gb_both on gb using gist(b, c)
insert into gb select box(point('-0', 0), point(1, 'infinity')), '<(1,1),0>', '((0,0),(1,1),(2,0))'
insert into gb select null, '<(5,5),2>', null from generate_series(1, 300)
delete from gb where b <@ box(point(0, 0), point(150, 600))
vacuum gb
insert into gb select box(point(i % 91, (i * 37) % 500), point(i % 91 + i % 7, (i * 37) % 500 + i % 5)), circle(point(i % 97, i % 89), i % 9), null from generate_series(1, 3000) i
create table gr(r int4range, n numrange, t tsrange, m int4multirange, exclude using gist (r with &&))
insert into gr select int4range(i * 10, i * 10 + i % 10 + 1), numrange(i * 1.5, i * 1.5 + 7, '[]'), tsrange(timestamp '2020-01-01' + (i || ' min')::interval, timestamp '2020-01-02' + (i || ' min')::interval), int4multirange(int4range(i, i + 2), int4range(i + 5, i + 9)) from generate_series(1, 6000) i
insert into gr select 'empty', 'empty', tsrange(null, null), '{}' from generate_series(1, 30)
insert into gr select int4range(null, -5), numrange(null, 0), tsrange(null, '2000-01-01'), null
create index gr_n on gr using gist(n)
create index gr_t on gr using gist(t)
create index gr_m on gr using gist(m)
delete from gr where lower(r) between 10000 and 50000
vacuum gr
insert into gr(r, n) select int4range(i * 10, i * 10 + 3), numrange(i, i + 0.5) from generate_series(1500, 3500) i
reindex index gr_n
create table gi(a inet, v tsvector)
insert into gi select (i % 223 + 1 || '.' || i % 251 || '.' || i % 7 || '.' || i % 97 || '/' || 8 + i % 25)::inet, to_tsvector('simple', md5(i::text) || ' ' || md5((i % 99)::text) || ' w' || i % 500) from generate_series(1, 4000) i
create index gi_inet on gi using gist(a inet_ops)
create index gi_text on gi using gist(v)
insert into gi select '2001:db8::1'::inet + i, to_tsvector('simple', 'more ' || md5(i::text)) from generate_series(1, 1500) i
delete from gi where family(a) = 4 and host(a) < '15'
vacuum gi
create table gone(p point)
create index gone_gist on gone using gist(p)
insert into gone select point(i, i) from generate_series(1, 3000) i
delete from gone
vacuum gone
create unlogged table gu(p point)
create index gu_gist on gu using gist(p)
insert into gu select point(i, i % 50) from generate_series(1, 3000) i
