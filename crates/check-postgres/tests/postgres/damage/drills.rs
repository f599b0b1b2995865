//! Each class of drill makes damage in a copy that the check finds, and leaves the original as it is.
#![allow(clippy::unwrap_used)]

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use check_postgres::drill::{CLASSES, DrillError, damage};

use crate::advice::assert_safe_advice;
use crate::scene::clean::assert_silent;
use crate::scene::server::{Cluster, servers};

const TABLES: &str = "create table t(id int primary key, k text collate \"C\")
insert into t select i, 'k' || i from generate_series(1, 9000) i
create index on t(k)
create table w(id int primary key, big text)
alter table w alter big set storage external
insert into w select i, repeat('b', 5000) from generate_series(1, 40) i
vacuum (freeze) t
create sequence s
create table a(address inet unique)
insert into a select '10.0.0.0'::inet + i from generate_series(1, 3000) i
";

fn is_index(object: &str) -> bool {
    ["_idx", "_pkey", "_index"].iter().any(|end| object.ends_with(end))
}

#[test]
fn each_drill_is_found_by_the_command_that_it_names() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(TABLES);
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let mut faults = Vec::new();
    for class in CLASSES {
        match damage(&cluster.data(), &copy, class.name, 3) {
            Ok(drill) => {
                let options = Options { worker_count: 2, ..Options::default() };
                let report = check_cluster(&copy, &options, &mut Silent).unwrap();
                assert_safe_advice(&check_postgres::RULES, &report, is_index);
                let found: Vec<_> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
                let is_found = class.rules.iter().any(|rule| found.contains(rule));
                if !is_found || report.exit_code() != 1 || !drill.command.contains("fathom check") {
                    faults.push(format!(
                        "{}: wanted {:?}, found {found:?}, {drill:?}",
                        class.name, class.rules
                    ));
                }
                std::fs::remove_dir_all(&copy).unwrap();
            }
            Err(error) => faults.push(format!("{}: {error}", class.name)),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_silent(&cluster, "the original");
}

#[test]
fn a_cluster_in_use_or_a_place_that_is_taken_is_refused() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let refused = |to: &std::path::Path, class: &str| damage(&cluster.data(), to, class, 1).unwrap_err();
    assert!(matches!(refused(place.path(), "bit-flip"), DrillError::Exists { .. }));
    assert!(matches!(refused(&copy, "no-such"), DrillError::Class { .. }));
    assert!(matches!(refused(&cluster.data().join("copy"), "bit-flip"), DrillError::Inside { .. }));
    assert!(matches!(refused(&copy, "bit-flip"), DrillError::NoPlace { .. }));
    cluster.start("");
    let running = refused(&copy, "control-file");
    cluster.stop("immediate");
    assert!(running.to_string().contains("it is running"), "{running}");
    assert!(matches!(refused(&copy, "control-file"), DrillError::NotStopped { .. }));
    assert!(!copy.exists());
}
