//! Columns against their types: silent for every kind of type and history of a table, found where one field differs.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use results::check::CheckLevel;

use crate::scene::clean::check;
use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::{Cluster, servers};

const EVERYTHING: &str = include_str!("../everything.sql");

/// Kinds of types, and columns that changed their type or were dropped.
const TYPES: &str = "create type mood as enum ('sad', 'ok')
create domain positive as int check (value > 0)
create domain code as varchar(10) collate \"C\"
create type pair as (a int, b text, c mood)
create type span as range (subtype = float8)
create domain pairs as pair
create table types(id int primary key, m mood, p positive, c code, r pair, rs pair[], s span, ss span[], ms mood[], ps positive[], d pairs, ch \"char\", bp char(3), vb varbit, b bit(3), t tsvector, o oidvector, i int2vector, n name, cid cid, x xid, ti tid, bx box, l line, rg regclass, js jsonpath, mac macaddr8, u uuid, f float4, z timetz, iv interval)
create index on types(n)
create index on types using gin(t)
create index on types using gist(bx)
create index on types((p + 1), lower(c))
insert into types(id, m, p, r, n) values (1, 'ok', 5, row(1, 'b', 'sad'), 'name')
alter table types alter p type bigint
alter table types alter c type text
alter table types drop column b
alter table types drop column r
alter table types add column again pair
drop type span cascade
create table types_child(extra int8) inherits (types)
create table types_parted(id int, m mood) partition by list (id)
create table types_part partition of types_parted default
create view types_shown as select id, m, n from types
create materialized view types_kept as select id, m, n from types
create temporary table types_temporary(id int, m mood)
create sequence types_counted as smallint
create table types_rewritten(id int, v text)
alter table types_rewritten alter id type text using id::text
alter table types_rewritten alter v type pair using null
";

#[test]
fn columns_of_every_type_are_silent_in_every_major_under_a_real_locale() {
    for (major, bin) in servers() {
        let checksums = if major < 18 { "-k" } else { "--data-checksums" };
        let cluster = Cluster::new(&bin, &[checksums, "--locale=en_US.UTF-8"]);
        cluster.run(EVERYTHING);
        cluster.run_all(TYPES);
        let report = check(&cluster, CheckLevel::Structure, 2);
        assert!(report.findings.is_empty(), "PostgreSQL {major}: {:#?}", report.findings);
    }
}

/// Offsets in a row of pg_attribute: attlen, attbyval, attalign, attisdropped; atttypid is at 68 in all majors.
fn offsets(major: u32) -> [usize; 4] {
    match major {
        ..=15 => [76, 92, 93, 101],
        16..=17 => [72, 86, 87, 95],
        _ => [72, 82, 83, 91],
    }
}

/// Changes the row of pg_attribute of a column of `t`.
fn change(editor: &mut Editor, file: &Path, table: u32, column: &str, change: impl Fn(&mut [u8])) {
    let blocks = editor.read(file).len() / BLOCK;
    for block in 0..blocks {
        let page = editor.read(file)[block * BLOCK..(block + 1) * BLOCK].to_vec();
        let items = (u16_at(&page, 12) - 24) / 4;
        for item in (1..=items).filter(|item| u32_at(&page, pointer(*item)) >> 15 & 3 == 1) {
            let row = tuple(&page, item);
            let data = row + usize::from(page[row + 22]);
            let name = &page[data + 4..data + 68];
            if u32_at(&page, data) == table && name.starts_with(column.as_bytes()) && name[column.len()] == 0
            {
                return editor.sealed(file, block, |page| change(&mut page[data..]));
            }
        }
    }
    panic!("no column {column}");
}

#[test]
fn a_column_that_is_stored_in_another_way_than_its_type_is_found() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all("create table t(id int primary key, n int, v text, gone int)\ninsert into t select i, i, 'v' || i from generate_series(1, 300) i\nalter table t drop column gone\n");
        let file = cluster.path_of("pg_attribute");
        let output = cluster.run_all("select 't'::regclass::oid as p\n");
        let table: u32 = output.split("p = \"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        let [length, by_value, align, dropped] = offsets(major);
        type Change = Box<dyn Fn(&mut [u8])>;
        let cases: [(&str, &str, Change); 7] = [
            ("attlen", "n", Box::new(move |row| row[length] = 8)),
            ("attlen of variable length", "v", Box::new(move |row| row[length] = 0xFE)),
            ("attbyval", "n", Box::new(move |row| row[by_value] ^= 1)),
            ("attalign", "v", Box::new(move |row| row[align] = b'd')),
            ("atttypid without a type", "v", Box::new(|row| put_u32(row, 68, 25 | 1 << 20))),
            ("atttypid of another type", "v", Box::new(|row| put_u32(row, 68, 23))),
            ("attisdropped", "n", Box::new(move |row| row[dropped] ^= 1)),
        ];
        for (what, column, damage) in cases {
            let mut editor = Editor::new(&cluster.data());
            change(&mut editor, &file, table, column, damage);
            let report = check(&cluster, CheckLevel::Structure, 2);
            let found = report.findings.iter().find(|finding| finding.rule == "pg-catalog-agreement");
            let object = found.and_then(|finding| finding.object.as_deref());
            assert_eq!(
                object,
                Some("postgres.public.t"),
                "PostgreSQL {major}, {what}: {:#?}",
                report.findings
            );
            editor.undo();
        }
    }
}
