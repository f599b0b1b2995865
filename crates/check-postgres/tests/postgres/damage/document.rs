//! docs/check/postgres.md: the rules, and what each checker says to each class of damage. Written by
//! `FATHOM_UPDATE=1 cargo test -p check-postgres document`, which needs a package with pg_amcheck. With
//! `FATHOM_UPDATE=missing` the rows of classes that the document has are kept, and others are made.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use check_postgres::RULES;

use crate::cluster::cluster_damage;
use crate::cluster::cluster_state;
use crate::cluster::transaction_logs;
use crate::damage::classes::{CLASSES, scene};
use crate::indexes::brin_classes;
use crate::indexes::free_space;
use crate::indexes::gin_classes;
use crate::indexes::gist;
use crate::indexes::hash;
use crate::indexes::spgist;
use crate::indexes::unique_keys;
use crate::rows::row_versions;
use crate::running::live_damage;
use crate::scene::peers::{Case, of_scene, of_transaction_logs, running_rows, stopped_rows};
use crate::scene::server::{Cluster, servers};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/check/postgres.md");

const RUNNING: &str = "\n## Damage while the server runs\n\n\
    The same damage, to files of a running server, in tables that are unchanged since the last checkpoint, while other tables\n\
    are written. pg_checksums refuses to run then. The server had not read the damaged blocks: it does not read blocks in\n\
    shared buffers again. \"all, cached\" is pg_amcheck with all options after every table had been read.\n\n\
    | class | fathom | pg_amcheck | all | all, cached | backup |\n|---|---|---|---|---|---|\n";

#[test]
fn the_document_has_every_rule_and_every_class_of_damage() {
    if std::env::var("FATHOM_UPDATE").is_ok_and(|what| what == "1" || what == "missing") {
        std::fs::write(DOCUMENT, document()).unwrap();
    }
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let about_postgres = RULES.iter();
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
    assert!(absent.is_empty(), "docs/check/postgres.md lacks {absent:?}: write it with FATHOM_UPDATE=1");
}

fn rule_row(rule: &check::rule::Rule) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} |\n",
        rule.id,
        rule.level.name(),
        rule.invariant,
        rule.meaning,
        rule.evidence
    )
}

fn document() -> String {
    let written = std::fs::read_to_string(DOCUMENT).unwrap();
    let (introduction, _) = written.split_once("## Rules\n").unwrap();
    let mut text = format!(
        "{introduction}## Rules\n\n| id | level | rule | meaning | source |\n|---|---|---|---|---|\n"
    );
    RULES.iter().for_each(|rule| text.push_str(&rule_row(rule)));
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
        if std::env::var("FATHOM_UPDATE").is_ok_and(|what| what != "missing") {
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
