//! GIN indexes: silent when clean, whatever was done with them; damage named where it was made.
#![allow(clippy::unwrap_used)]

use results::check::CheckLevel;

use crate::clean::{assert_silent, check};
use crate::edit::Editor;
use crate::gin_classes::{CLASSES, scene};
use crate::server::{Cluster, servers};

/// One statement per line: all kinds of keys, nulls, pending lists, deleted rows, aborted ones, VACUUM.
const EVERYTHING: &str = include_str!("gin.sql");
/// Posting trees of several levels whose blocks VACUUM deletes, and which grow again.
const TREES: &str = "create table p(id int, a int[])
create index p_a on p using gin(a) with (fastupdate = off)
insert into p select i, array[1, i % 2] from generate_series(1, 60000) i
delete from p where id between 10000 and 50000
vacuum p
insert into p select i, array[1, 5] from generate_series(60001, 70000) i
delete from p where id > 65000
vacuum p
insert into p select i, array[2] from generate_series(70001, 90000) i
";

#[test]
fn gin_indexes_with_everything_in_them_are_silent_in_every_major() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(&format!("{EVERYTHING}{TREES}"));
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        if major == 18 {
            cluster
                .run_all("select gin_clean_pending_list('g_a'), gin_clean_pending_list('g_v')\nvacuum g\n");
            assert_silent(&cluster, "pending lists cleaned");
        }
    }
}

#[test]
fn each_class_of_damage_in_a_gin_index_is_found() {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        assert_silent(&cluster, "before any damage");
        let mut faults = Vec::new();
        for (class, damage, wanted) in CLASSES {
            let mut editor = Editor::new(&cluster.data());
            damage(&mut editor, &scene);
            let report = check(&cluster, CheckLevel::Full, 2);
            let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
            let is_found = wanted.iter().any(|rule| rules.contains(rule));
            if !is_found || report.exit_code() != 1 || !report.accounting.is_balanced() {
                faults.push(format!("PostgreSQL {major}, {class}: wanted {wanted:?}, found {rules:?}"));
            }
            editor.undo();
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_silent(&cluster, "after all damage was undone");
    }
}
