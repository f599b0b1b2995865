//! A report says what was verified of what there is, and lists the rest.
#![allow(clippy::unwrap_used)]

use results::check::{CheckLevel, GapKind, Share};
use skips::{Capability, skip};

use crate::running::live::with_clients;
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::{Cluster, servers};

const PLAIN: &str = "create table t(id int primary key, v text, w text)
insert into t select i, repeat('v', i % 90), repeat('w', 3000) from generate_series(1, 3000) i
create index on t(v)
delete from t where id % 7 = 0
update t set v = 'new' where id % 5 = 0
create unlogged table u(id int primary key)
insert into u select generate_series(1, 100)
create sequence s
create materialized view m as select id from t
";

fn newest(statements: &str) -> Option<Cluster> {
    let (_, bin) = servers().pop()?;
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(statements);
    Some(cluster)
}

#[test]
fn all_that_a_level_verifies_of_an_ordinary_cluster_is_verified() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(PLAIN);
        for (level, count) in
            [(CheckLevel::Read, 0), (CheckLevel::Page, 1), (CheckLevel::Structure, 3), (CheckLevel::Full, 5)]
        {
            let report = check(&cluster, level, 2);
            let shares: Vec<_> = report.coverage.shares().collect();
            assert_eq!(shares.len(), count, "PostgreSQL {major}, {level:?}: {shares:?}");
            assert!(report.coverage.is_complete(), "PostgreSQL {major}, {level:?}: {shares:?}");
            assert!(shares.iter().all(|(_, share)| share.total_count > 0), "{shares:?}");
            assert_eq!(report.is_fully_verified(), level == CheckLevel::Full, "{:?}", report.not_checked);
        }
        let report = check(&cluster, CheckLevel::Full, 1);
        assert_eq!(report.coverage.pages.unwrap().total_count, report.accounting.page_count);
        assert!(report.coverage.rows.unwrap().total_count > 5600, "{:?}", report.coverage);
        assert!(report.coverage.entries.unwrap().total_count > 5200, "{:?}", report.coverage);
    }
}

#[test]
fn entries_that_are_compared_by_tid_alone_do_not_count_as_verified() {
    let Some(cluster) = newest("create table g(id int primary key, a int[], v text)\n") else { return };
    let before = assert_silent(&cluster, "before").coverage.entries.unwrap();
    cluster.run_all(
        "insert into g select i, array[i, i + 1], 'v' || i from generate_series(1, 1000) i\n\
         create index on g using gin(a)\ncreate index on g(lower(v))\n",
    );
    let report = assert_silent(&cluster, "with indexes");
    let entries = report.coverage.entries.unwrap();
    assert!(entries.missing_count() >= 3000 && before.is_complete(), "{entries:?}");
    assert!(entries.verified_count >= before.verified_count + 1000, "{entries:?} {before:?}");
    assert!(report.coverage.rows.unwrap().is_complete(), "{:?}", report.coverage);
    assert!(!report.coverage.objects.unwrap().is_complete() && !report.is_fully_verified());
}

#[test]
fn rows_of_a_table_that_changed_since_the_checkpoint_are_counted_and_not_verified() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(
        "create table quiet(id int primary key)\ninsert into quiet select generate_series(1, 2000)\n\
         create table busy(id int primary key)\ninsert into busy select generate_series(1, 5000)\n",
    );
    cluster.start("");
    cluster.sql(&["checkpoint", "insert into busy select generate_series(5001, 9000)"]);
    let running = check(&cluster, CheckLevel::Full, 2);
    cluster.stop("immediate");
    let crashed = check(&cluster, CheckLevel::Full, 2);
    for report in [running, crashed] {
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        let rows = report.coverage.rows.unwrap();
        // Which blocks of the busy table reached its file is up to the server.
        assert!(rows.verified_count >= 2000, "{:?} {:?}", report.coverage, report.facts);
        let objects = report.coverage.objects.unwrap();
        assert!(objects.total_count > objects.verified_count, "{:?}", report.coverage);
        assert!(!report.is_fully_verified());
    }
}

#[test]
fn blocks_of_an_access_method_that_is_not_known_are_tested_by_their_header_and_not_called_clean() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        if cluster.run("create extension bloom\n").contains("ERROR:") {
            continue;
        }
        cluster.run_all(
            "create table b(id int primary key, n int)\ninsert into b select i, i from generate_series(1, 5000) i\n\
             create index b_bloom on b using bloom(n)\n",
        );
        let report = assert_silent(&cluster, "bloom");
        let gap = report.not_checked.iter().find(|gap| gap.why.starts_with("unknown access method bloom"));
        assert_eq!(gap.unwrap().what, "contents of 1 index: public.b_bloom", "{:?}", report.not_checked);
        assert_eq!(gap.unwrap().kind, GapKind::Coverage);
        let path = cluster.path_of("b_bloom");
        let mut editor = Editor::new(&cluster.data());
        let blocks = (editor.read(&path).len() / BLOCK) as u64;
        assert_eq!(report.accounting.skipped_count(), blocks, "{:?}", report.accounting);
        assert_eq!(report.coverage.page_contents.unwrap().missing_count(), blocks);
        assert!(report.coverage.pages.unwrap().is_complete());
        assert!(!report.is_fully_verified());
        editor.block(&path, 2, |page| page[5000] ^= 1);
        editor.sealed(&path, 3, |page| page[12..14].copy_from_slice(&9000u16.to_le_bytes()));
        let report = check(&cluster, CheckLevel::Full, 2);
        let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
        assert_eq!(rules, ["pg-page-bounds", "pg-page-checksum"], "{:#?}", report.findings);
        return;
    }
    skip(Capability::PostgresContrib, "no PostgreSQL package with bloom");
}

const CONSTRAINTS: &str = "create table parent(id int primary key)
create table child(id int primary key, parent int references parent, c int constraint positive check (c > 0), g int generated always as (c * 2) stored)
create domain even as int constraint is_even check (value % 2 = 0)
create table spans(r int4range, d even, exclude using gist (r with &&))
create table parted(id int not null) partition by range (id)
create table parted_1 partition of parted for values from (0) to (1000)
create table parted_2 partition of parted for values from (1000) to (2000)
create table not_valid(n int)
alter table not_valid add constraint later check (n > 0) not valid
create foreign data wrapper nothing
create server away foreign data wrapper nothing
create foreign table elsewhere(n int) server away
";

#[test]
fn constraints_that_no_level_verifies_are_listed_once_a_kind_with_the_statement_that_does() {
    let Some(cluster) = newest("create table t(id int primary key, n int not null)\n") else { return };
    let out_of_scope = |cluster: &Cluster| {
        let report = assert_silent(cluster, "constraints");
        let gaps = report.not_checked.iter().filter(|gap| gap.kind == GapKind::OutOfScope);
        gaps.map(|gap| (gap.object.clone().unwrap(), gap.what.clone())).collect::<Vec<_>>()
    };
    assert_eq!(out_of_scope(&cluster), []);
    cluster.run_all(CONSTRAINTS);
    let wanted = [
        "1 CHECK constraint: public.positive",
        "1 STORED generated column: public.child.g",
        "1 constraint of a domain: public.is_even",
        "1 exclusion constraint: public.spans_r_excl",
        "1 foreign key: public.child_parent_fkey",
        "1 foreign table: public.elsewhere",
        "2 partitions: public.parted_1, public.parted_2",
    ];
    let wanted: Vec<_> = wanted.iter().map(|what| ("postgres".to_owned(), (*what).to_owned())).collect();
    assert_eq!(out_of_scope(&cluster), wanted);
}

#[test]
fn a_check_that_was_stopped_counts_what_it_did_not_reach() {
    let Some(cluster) = newest(PLAIN) else { return };
    let options = check::options::Options {
        time_max: Some(std::time::Duration::ZERO),
        page_batch: Some(1),
        worker_count: 1,
        ..check::options::Options::default()
    };
    let report =
        check_postgres::check_cluster(&cluster.data(), &options, &mut check::progress::Silent).unwrap();
    let Share { verified_count, total_count } = report.coverage.pages.unwrap();
    assert!(report.unfinished.is_some() && verified_count < total_count, "{:?}", report.coverage);
    assert_eq!(total_count, report.accounting.page_count);
    let objects = report.coverage.objects.unwrap();
    assert!(objects.verified_count < objects.total_count, "{objects:?}");
}
