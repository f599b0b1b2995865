//! What PostgreSQL's own tools say to each class of damage, in clusters that were shut down and while the server runs.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Mutex;

use results::check::CheckLevel;

use crate::cluster::transaction_logs;
use crate::running::live_damage;
use crate::scene::clean::check;
use crate::scene::edit::Editor;
use crate::scene::server::Cluster;

/// Clusters that are damaged at the same time: most of the time goes to servers that start.
const WORKERS: usize = 4;
const ALL: [&str; 3] = ["--heapallindexed", "--parent-check", "--rootdescend"];

/// A class of damage, and what is done to a data directory.
pub(crate) type Case<'a> = (&'static str, Box<dyn Fn(&mut Editor) + Sync + 'a>);

/// Classes of damage in one scene: what is done, and the rules that are wanted.
pub(crate) type Classes<S, W = &'static [&'static str]> = [(&'static str, fn(&mut Editor, &S), W)];

/// The classes of one scene.
pub(crate) fn of_scene<'a, S: Sync, W>(scene: &'a S, classes: &'a Classes<S, W>) -> Vec<Case<'a>> {
    let case = |(class, damage, _): &'a (&'static str, fn(&mut Editor, &S), W)| -> Case<'a> {
        (class, Box::new(move |editor| damage(editor, scene)))
    };
    classes.iter().map(case).collect()
}

/// The classes about the logs of transactions; the cluster must have many multixacts.
pub(crate) fn of_transaction_logs<'a>() -> Vec<Case<'a>> {
    let cases = transaction_logs::CASES.iter();
    cases.map(|(class, damage, ..)| -> Case<'a> { (class, Box::new(damage)) }).collect()
}

/// Rows of the table of clusters that were shut down.
pub(crate) fn stopped_rows(cluster: &Cluster, cases: &[Case<'_>]) -> String {
    rows(cases, |damage| {
        let copy = cluster.copied();
        damage(&mut Editor::new(&copy.data()));
        let rules = fathom(&copy);
        let data = copy.data();
        let sums = copy.tool("pg_checksums", &["--check", "-D", data.to_str().unwrap()]) != Some(0);
        // A server that does not start is a finding of sorts.
        let [backup, plain, all] = if copy.starts("") {
            let found = [backs_up_badly(&copy), complains(&copy, &[]), complains(&copy, &ALL)];
            copy.stop("immediate");
            found
        } else {
            [true; 3]
        };
        (rules, vec![sums, plain, all, backup])
    })
}

/// Rows of the table of clusters whose server runs.
pub(crate) fn running_rows(cluster: &Cluster) -> String {
    cluster.run_all("create extension amcheck\ncreate extension pg_prewarm\n");
    cluster.run_all(live_damage::COLD);
    cluster.run_all(transaction_logs::MULTIXACTS);
    let prepared = |prewarm: &str| {
        let copy = cluster.copied();
        assert!(copy.starts("-c wal_level=replica"));
        copy.sql(&["checkpoint", "update hot set id = -id where id % 3 = 0", prewarm]);
        copy
    };
    let first = prepared("select 1");
    let scene = live_damage::Scene::new(&first);
    let is_silent = fathom(&first).is_empty()
        && !(backs_up_badly(&first) || complains(&first, &[]) || complains(&first, &ALL));
    first.stop("immediate");
    assert!(is_silent, "somebody complains about a cluster that is in order");
    let scene = &scene;
    let case = |(class, damage, _): &'static live_damage::Case| -> Case<'_> {
        (class, Box::new(move |editor| damage(editor, scene)))
    };
    let mut cases: Vec<Case<'_>> = live_damage::CASES.iter().map(case).collect();
    cases.extend(of_transaction_logs().into_iter().filter(|(class, _)| class.contains("missing")));
    rows(&cases, |damage| {
        let cold = prepared("select 1");
        damage(&mut Editor::new(&cold.data()));
        let rules = fathom(&cold);
        let found = [backs_up_badly(&cold), complains(&cold, &[]), complains(&cold, &ALL)];
        cold.stop("immediate");
        let cached = prepared("select pg_prewarm(oid) from pg_class where relkind in ('r', 'i', 't', 'm')");
        damage(&mut Editor::new(&cached.data()));
        let all_cached = complains(&cached, &ALL);
        cached.stop("immediate");
        (rules, vec![found[1], found[2], all_cached, found[0]])
    })
}

/// Makes the rows of a table, several at a time: what fathom says, and whether each peer found something.
fn rows(
    cases: &[Case<'_>],
    judge: impl Fn(&dyn Fn(&mut Editor)) -> (Vec<String>, Vec<bool>) + Sync,
) -> String {
    let (next, done) = (Mutex::new(0..cases.len()), Mutex::new(vec![String::new(); cases.len()]));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(number) = next.lock().unwrap().next() else { return };
                    let (class, damage) = &cases[number];
                    let (rules, peers) = judge(damage);
                    let mut row = format!("| {class} |");
                    let said = if rules.is_empty() { "**no**".to_owned() } else { rules.join(" ") };
                    write!(row, " {said} |").unwrap();
                    for found in peers {
                        row.push_str(if found { " yes |" } else { " **no** |" });
                    }
                    done.lock().unwrap()[number] = row + "\n";
                }
            });
        }
    });
    done.into_inner().unwrap().concat()
}

fn fathom(cluster: &Cluster) -> Vec<String> {
    let report = check(cluster, CheckLevel::Full, 2);
    report.rule_counts.iter().map(|count| format!("`{}`", count.rule)).collect()
}

/// Whether `pg_amcheck` reports something, or ends with an error.
fn complains(cluster: &Cluster, options: &[&str]) -> bool {
    let all = [&["-d", "postgres", "-j", "1"][..], options].concat();
    !cluster.client("pg_amcheck", &all).status().unwrap().success()
}

/// Whether a base backup fails, or its verification.
fn backs_up_badly(cluster: &Cluster) -> bool {
    let place = cluster.data().with_file_name("backup");
    let to = place.to_str().unwrap();
    let taken =
        cluster.client("pg_basebackup", &["-c", "fast", "-X", "none", "--no-sync", "-D", to]).status();
    let is_bad = !taken.unwrap().success() || cluster.tool("pg_verifybackup", &["-n", to]) != Some(0);
    let _ = std::fs::remove_dir_all(place);
    is_bad
}
