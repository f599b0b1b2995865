//! docs/checks-postgres.md: the rules, and what each checker says to each class of damage. Written by
//! `UPDATE_DOCS=1 cargo test -p check --test postgres document`, which needs a package with pg_amcheck. With
//! `UPDATE_DOCS=missing` the rows of classes that the document has are kept, and others are made.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use check::rule::rules;

use crate::brin_classes;
use crate::classes::{CLASSES, scene};
use crate::cluster_damage;
use crate::cluster_state;
use crate::free_space;
use crate::gin_classes;
use crate::gist;
use crate::hash;
use crate::live_damage;
use crate::peers::{Case, of_scene, of_transaction_logs, running_rows, stopped_rows};
use crate::row_versions;
use crate::server::{Cluster, servers};
use crate::spgist;
use crate::transaction_logs;
use crate::unique_keys;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks-postgres.md");

const RUNNING: &str = "\n## Damage while the server runs\n\n\
    The same, to files of a server that runs, in tables that nobody has written to since the last checkpoint; beside them others\n\
    are written. pg_checksums refuses to work then. The server has not read the damaged blocks: what stands in shared buffers\n\
    is not read from the file again, and \"all, cached\" is pg_amcheck with all options when every table had been read before.\n\n\
    | class | fathom | pg_amcheck | all | all, cached | backup |\n|---|---|---|---|---|---|\n";

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
    let classes = classes.chain(cluster_state::CASES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(row_versions::CASES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(unique_keys::CLASSES.iter().map(|(class, ..)| *class));
    let classes = classes.chain(cluster_damage::DOCUMENTED.iter().copied());
    absent.extend(classes.filter(|class| !text.contains(&format!("| {class} |"))));
    absent.extend(
        transaction_logs::CASES
            .iter()
            .map(|case| case.0)
            .filter(|class| !text.contains(&format!("| {class} |"))),
    );
    let running = text.split("## Damage while the server runs").nth(1).unwrap_or_default();
    let live = live_damage::CASES.iter().map(|case| case.0);
    absent.extend(live.filter(|class| !running.contains(&format!("| {class} |"))));
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
         keys of GIN indexes and hash values of other types than numbers, dates, text, bytes, uuid, names and enumerations, whose entries are matched with rows by row pointer; keys that an operator class of GiST or SP-GiST computes (full text,\n\
         multiranges, networks in GiST, text in SP-GiST): points, boxes, circles, polygons and ranges are matched; the\n\
         condition of a partial index, the values of expressions. A BRIN\n\
         index may summarise ranges behind the end of its table, which VACUUM leaves, and may know more of a range than its rows\n\
         say, which deleted rows leave: neither is damage. Rows are held against bounds, several ranges, Bloom filters, nulls and\n\
         empty ranges; against what includes a value (box, inet, range types) and under operator classes of extensions by nulls\n\
         and empty ranges at most, and values that a row keeps in TOAST are not compared. A free space map may say\n\
         anything about the space of a block, about blocks that a crash took away, and in its upper pages about the lower ones; what\n\
         cannot be is tested: nodes of a page that do not fit each other (with checksums, since a crash may leave half a page behind),\n\
         and slots of pages that no table can have.\n\n\
         Unique B-trees: where the order of the keys is not known here (text in most collations, inet, interval, arrays, jsonb and\n\
         others), byte-equal keys of two visible rows are found anyway, wherever they stand in the index. That is a complete proof\n\
         where equal values have equal bytes: text and char(n) under a deterministic collation, inet, bit, timetz, enumerations.\n\
         Other unique indexes are listed under \"not checked\", one entry for each database. Entries marked LP_DEAD are compared with\n\
         visible rows in a cluster that was shut down: in other states the mark may reach its file before the deletion does.\n\n\
         What counts as verified: a row, when its values were tested and its entries in all indexes that have one for each row\n\
         were compared (a partial index counts among objects); an index entry, when it was compared with the key of its row, not\n\
         with the TID alone (GIN, values of expressions, keys kept in TOAST); a relation, when nothing of it was left out. One\n\
         block that changed since the moment that is compared leaves out all rows and entries of its relation. Visible rows that\n\
         cannot be compared are counted by their hint bits. Temporary relations, and unlogged ones that replay empties, are not counted. Indexes\n\
         of access methods that are not known (hnsw, ivfflat, rum, bloom) are tested by header, checksum and WAL position; their\n\
         contents are listed under \"not checked\", and so are CHECK, exclusion and foreign key constraints, overlapping keys WITHOUT OVERLAPS, domains, bounds of partitions,\n\
         STORED columns and foreign tables, each kind once a database with the statement that verifies it.\n\n\
         ## Rules\n\n| rule | from level | promise | when it is broken | source |\n|---|---|---|---|---|\n",
    );
    rules().filter(|rule| rule.id.starts_with("pg-")).for_each(|rule| text.push_str(&rule_row(rule)));
    text.push_str(
        "\n## Classes of damage\n\n\
         One damage at a time in a cluster of PostgreSQL 15 with checksums; checksums are made valid again where the class\n\
         needs it. pg_checksums: `--check`. pg_amcheck: with its defaults; all: `--heapallindexed --parent-check\n\
         --rootdescend`. Backup: pg_basebackup, then pg_verifybackup. \"yes\": it reported damage, ended with an error, or the server\n\
         does not start for it; **no**: it found nothing.\n\n\
         | class | fathom | pg_checksums | pg_amcheck | all | backup |\n|---|---|---|---|---|---|\n",
    );
    for (major, bin) in servers().into_iter().filter(|(_, bin)| bin.join("pg_amcheck").exists()).take(1) {
        let checksums: &[&str] = if major < 18 { &["-k"] } else { &[] };
        add_tables(&mut text, || Cluster::new(&bin, checksums));
    }
    text
}

/// Adds the tables of damage in clusters that were shut down, and while the server runs.
fn add_tables(text: &mut String, made: impl Fn() -> Cluster) {
    let known = Known::read();
    let with_peers = || {
        let cluster = made();
        cluster.run_all("create extension amcheck\n");
        cluster
    };
    let cluster = with_peers();
    known.add(text, &cluster, of_scene(&scene(&cluster), CLASSES));
    known.add(text, &cluster, of_scene(&brin_classes::scene(&cluster), brin_classes::CLASSES));
    known.add(text, &cluster, of_scene(&free_space::scene(&cluster), free_space::CLASSES));
    known.add(text, &cluster, of_scene(&gin_classes::scene(&cluster), gin_classes::CLASSES));
    known.add(text, &cluster, of_scene(&hash::scene(&cluster), hash::CLASSES));
    known.add(text, &cluster, of_scene(&gist::scene(&cluster), gist::CLASSES));
    known.add(text, &cluster, of_scene(&spgist::scene(&cluster), spgist::CLASSES));
    cluster.run_all(transaction_logs::MULTIXACTS);
    known.add(text, &cluster, of_transaction_logs());
    let cluster = with_peers();
    known.add(text, &cluster, of_scene(&row_versions::scene(&cluster), row_versions::CASES));
    let cluster = with_peers();
    known.add(text, &cluster, of_scene(&cluster_state::scene(&cluster), cluster_state::CASES));
    let cluster = with_peers();
    known.add(text, &cluster, of_scene(&unique_keys::scene(&cluster), unique_keys::CLASSES));
    let cluster = with_peers();
    known.add(text, &cluster, cluster_damage::of_document(&cluster));
    text.push_str(RUNNING);
    text.push_str(&known.running.clone().unwrap_or_else(|| running_rows(&made())));
}

/// Rows that are kept, as the document has them.
#[derive(Default)]
struct Known {
    by_class: BTreeMap<String, String>,
    /// The table of damage while the server runs.
    running: Option<String>,
}

impl Known {
    fn read() -> Known {
        if std::env::var("UPDATE_DOCS").is_ok_and(|what| what != "missing") {
            return Known::default();
        }
        let text = std::fs::read_to_string(DOCUMENT).unwrap();
        let (stopped, running) = text.split_once(RUNNING).unwrap();
        let rows = stopped.split_once("## Classes of damage").unwrap().1.lines();
        let class =
            |row: &str| row.strip_prefix("| ").and_then(|rest| rest.split(" |").next()).map(str::to_owned);
        let by_class = rows.filter_map(|row| Some((class(row)?, format!("{row}\n")))).collect();
        Known { by_class, running: Some(running.to_owned()) }
    }

    /// Adds the rows of some classes; those that are kept are not made.
    fn add(&self, text: &mut String, cluster: &Cluster, cases: Vec<Case<'_>>) {
        let classes: Vec<&'static str> = cases.iter().map(|(class, _)| *class).collect();
        let wanted: Vec<Case<'_>> =
            cases.into_iter().filter(|(class, _)| !self.by_class.contains_key(*class)).collect();
        let made = stopped_rows(cluster, &wanted);
        let mut made = made.lines();
        for class in classes {
            match self.by_class.get(class) {
                Some(row) => text.push_str(row),
                None => text.extend([made.next().unwrap(), "\n"]),
            }
        }
    }
}
