//! docs/checks-postgres.md: the rules, and what each checker says to each class of damage. Written by
//! `UPDATE_DOCS=1 cargo test -p check --test postgres document`, which needs a package with pg_amcheck.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use check::rule::rules;
use results::check::CheckLevel;

use crate::brin_classes;
use crate::classes::{CLASSES, scene};
use crate::clean::check;
use crate::edit::Editor;
use crate::free_space;
use crate::gin_classes;
use crate::gist;
use crate::hash;
use crate::server::{Cluster, servers};
use crate::spgist;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks-postgres.md");

#[test]
fn the_document_has_every_rule_and_every_class_of_damage() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, document()).unwrap();
    }
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let about_postgres = rules().filter(|rule| rule.id.starts_with("pg-"));
    let mut absent: Vec<&str> =
        about_postgres.filter(|rule| !text.contains(&rule_row(rule))).map(|rule| rule.id).collect();
    let classes = CLASSES.iter().map(|(class, ..)| *class);
    let classes = classes.chain(brin_classes::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(free_space::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(gin_classes::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(hash::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(gist::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(spgist::CLASSES.iter().map(|(class, ..)| *class));
    absent.extend(classes.filter(|class| !text.contains(&format!("| {class} |"))));
    assert!(absent.is_empty(), "docs/checks-postgres.md lacks {absent:?}: write it with UPDATE_DOCS=1");
}

fn rule_row(rule: &check::rule::Rule) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} |\n",
        rule.id,
        rule.level.name(),
        rule.promise,
        rule.meaning,
        rule.evidence
    )
}

fn document() -> String {
    let mut text = String::from(
        "# What `fathom check` proves about PostgreSQL\n\n\
         Made by `UPDATE_DOCS=1 cargo test -p check --test postgres document`. How a check goes is told in\n\
         [checks.md](checks.md). A cluster that was shut down is tested in full. A running one, one left\n\
         by a crash and a base backup are compared as they were when the last checkpoint began: blocks with an older position in\n\
         the log, and rows of transactions that had ended by then; the report states the share that stood still. Bounds of\n\
         transactions, pg_xact and the visibility map are tested there too, for blocks and map pages that stood still; a table that is\n\
         shorter than its indexes or its map say is accused when the log has no record that cut it, and so is a missing file or segment,\n\
         after a crash and in a backup with its log too, when no record drops or makes it. What is not known of an index is listed: the\n\
         keys of hash and GIN indexes, whose entries are matched with rows by row pointer; keys that an operator class of GiST or SP-GiST computes (full text,\n\
         multiranges, networks in GiST, text in SP-GiST): points, boxes, circles, polygons and ranges are matched; the\n\
         condition of a partial index, the values of expressions. A BRIN\n\
         index may summarise ranges behind the end of its table, which VACUUM leaves, and may know more of a range than its rows\n\
         say, which deleted rows leave: neither is damage. Rows are held against bounds, several ranges, Bloom filters, nulls and\n\
         empty ranges; against what includes a value (box, inet, range types) and under operator classes of extensions by nulls\n\
         and empty ranges at most, and values that a row keeps in TOAST are not compared. A free space map may say\n\
         anything about the space of a block, about blocks that a crash took away, and in its upper pages about the lower ones; what\n\
         cannot be is tested: nodes of a page that do not fit each other (with checksums, since a crash may leave half a page behind),\n\
         and slots of pages that no table can have.\n\n\
         ## Rules\n\n| rule | from level | promise | when it is broken | source |\n|---|---|---|---|---|\n",
    );
    rules().filter(|rule| rule.id.starts_with("pg-")).for_each(|rule| text.push_str(&rule_row(rule)));
    text.push_str(
        "\n## Classes of damage\n\n\
         One damage at a time in a cluster of PostgreSQL 15 with checksums; checksums are made valid again where the class\n\
         needs it. pg_checksums: `--check`. pg_amcheck: with its defaults; all: `--heapallindexed --parent-check\n\
         --rootdescend`. \"yes\": it reported damage or ended with an error; **no**: it found nothing.\n\n\
         | class | fathom | pg_checksums | pg_amcheck | all |\n|---|---|---|---|---|\n",
    );
    for (major, bin) in servers().into_iter().filter(|(_, bin)| bin.join("pg_amcheck").exists()).take(1) {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all("create extension amcheck\n");
        add_rows(&mut text, &cluster, &scene(&cluster), CLASSES);
        add_rows(&mut text, &cluster, &brin_classes::scene(&cluster), brin_classes::CLASSES);
        add_rows(&mut text, &cluster, &free_space::scene(&cluster), free_space::CLASSES);
        add_rows(&mut text, &cluster, &gin_classes::scene(&cluster), gin_classes::CLASSES);
        add_rows(&mut text, &cluster, &hash::scene(&cluster), hash::CLASSES);
        add_rows(&mut text, &cluster, &gist::scene(&cluster), gist::CLASSES);
        add_rows(&mut text, &cluster, &spgist::scene(&cluster), spgist::CLASSES);
    }
    text
}

/// Classes of damage in one scene: what is done, and the rules that are wanted.
type Classes<S> = [(&'static str, fn(&mut Editor, &S), &'static [&'static str])];

fn add_rows<S>(text: &mut String, cluster: &Cluster, scene: &S, classes: &Classes<S>) {
    for (class, damage, _) in classes {
        let copy = cluster.copied();
        damage(&mut Editor::new(&copy.data()), scene);
        let report = check(&copy, CheckLevel::Full, 2);
        let rules: Vec<_> = report.rule_counts.iter().map(|count| format!("`{}`", count.rule)).collect();
        let peers = peers(&copy).map(|found| if found { "yes" } else { "**no**" });
        let fathom = if rules.is_empty() { "**no**".to_owned() } else { rules.join(" ") };
        writeln!(text, "| {class} | {fathom} | {} |", peers.join(" | ")).unwrap();
    }
}

/// Whether `pg_checksums`, `pg_amcheck` and `pg_amcheck` with all its options find something.
fn peers(cluster: &Cluster) -> [bool; 3] {
    let data = cluster.data();
    let data = data.to_str().unwrap();
    let place = Path::new(data).parent().unwrap().to_str().unwrap();
    let sums = cluster.tool("pg_checksums", &["--check", "-D", data]) != Some(0);
    let settings = format!("-c listen_addresses='' -c unix_socket_directories='{place}' -c port=5432");
    let started =
        cluster.tool("pg_ctl", &["-D", data, "-l", &format!("{place}/log"), "-w", "-o", &settings, "start"]);
    if started != Some(0) {
        // A server that does not start is a finding of sorts.
        return [sums, true, true];
    }
    let base = ["-h", place, "-p", "5432", "-U", "postgres", "-d", "postgres", "-j", "1"];
    let plain = cluster.tool("pg_amcheck", &base) != Some(0);
    let all = [&base[..], &["--heapallindexed", "--parent-check", "--rootdescend"]].concat();
    let all = cluster.tool("pg_amcheck", &all) != Some(0);
    cluster.tool("pg_ctl", &["-D", data, "-m", "immediate", "-w", "stop"]);
    [sums, plain, all]
}
