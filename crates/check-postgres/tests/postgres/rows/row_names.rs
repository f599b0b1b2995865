//! Findings about rows and entries say which row it is: by its key, with values.
#![allow(clippy::unwrap_used)]

use results::check::CheckLevel;

use crate::scene::clean::check;
use crate::scene::edit::{Editor, put_u32, tuple};
use crate::scene::server::{Cluster, servers};

const TABLES: &str = "create table keyed(id int primary key, v text not null, n int)
insert into keyed select i, 'value ' || i, i * 10 from generate_series(1, 100) i
create index keyed_n on keyed(n)
create table pair(a int, b date, c text, primary key(a, b))
insert into pair select i, date '2024-01-01' + i, 'c' from generate_series(1, 100) i
create table bare(x int, y text)
insert into bare select i, 'y' || i from generate_series(1, 100) i
";

#[test]
fn a_finding_names_the_row_by_its_key_and_shows_the_values_that_differ() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(TABLES);
    let [keyed, pair, bare, index] =
        ["keyed", "pair", "bare", "keyed_pkey"].map(|name| cluster.path_of(name));
    let mut editor = Editor::new(&cluster.data());
    editor.sealed(&keyed, 0, |page| {
        // The value of n in row 17: behind 24 bytes of header, 4 of id and a short text of 8 characters.
        let row = tuple(page, 17);
        put_u32(page, row + 40, 7);
        // Row 30: a transaction of the future.
        let row = tuple(page, 30);
        put_u32(page, row, 0x4000_0000);
    });
    editor.sealed(&pair, 0, |page| {
        let row = tuple(page, 3);
        put_u32(page, row, 0x4000_0000);
    });
    editor.sealed(&bare, 0, |page| {
        let row = tuple(page, 5);
        put_u32(page, row, 0x4000_0000);
    });
    editor.sealed(&index, 1, |page| {
        let raw = crate::scene::edit::u32_at(page, crate::scene::edit::pointer(9));
        put_u32(page, crate::scene::edit::pointer(9), raw | 3 << 15);
    });
    let report = check(&cluster, CheckLevel::Full, 2);
    let row = |rule: &str, object: &str| {
        let found = report.findings.iter().find(|finding| {
            finding.rule == rule && finding.object.as_deref() == Some(&format!("postgres.public.{object}"))
        });
        found.unwrap_or_else(|| panic!("{rule} {object}: {:#?}", report.findings)).clone()
    };
    let differs = row("pg-entry-differs", "keyed");
    assert_eq!(differs.row.as_deref(), Some("id = 17"));
    assert_eq!(differs.found, "row: n = 7; index entry: n = 170");
    assert_eq!(row("pg-xmin-bounds", "keyed").row.as_deref(), Some("id = 30"));
    assert_eq!(row("pg-xmin-bounds", "pair").row.as_deref(), Some("a = 3, b = 2024-01-04"));
    assert_eq!(row("pg-xmin-bounds", "bare").row.as_deref(), Some("ctid = (0,5), x = 5, y = 'y5'"));
    assert_eq!(row("pg-entry-dead", "keyed_pkey").row.as_deref(), Some("id = 9"));
}

#[test]
fn a_null_in_a_column_that_refuses_it_is_named_by_its_column() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(
        "create table t(id int primary key, v text)\ninsert into t select i, nullif('v' || i, 'v7') from generate_series(1, 9) i\n\
         update pg_attribute set attnotnull = true where attrelid = 't'::regclass and attname = 'v'\n",
    );
    let report = check(&cluster, CheckLevel::Full, 1);
    let found = report.findings.iter().find(|finding| finding.rule == "pg-not-null");
    let found = found.unwrap_or_else(|| panic!("{:#?}", report.findings));
    assert_eq!((found.found.as_str(), found.row.as_deref()), ("v = null", Some("id = 7")));
}
