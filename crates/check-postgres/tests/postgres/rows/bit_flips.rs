//! Every bit of infomask, infomask2 and a line pointer, flipped in rows of many histories: whatever changes what the
//! server answers is found.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::CheckLevel;
use skips::{Capability, skip};

use crate::scene::edit::{Editor, pointer, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::{Cluster, servers};

/// Bits that are flipped: 16 of infomask, 16 of infomask2, 32 of the line pointer. The table after them stays as it is.
const BITS: usize = 64;

/// A history of a table `%I(id int primary key, n int, v text, x int)` whose rows 1 to 5 were inserted, and the line pointer
/// that is changed. Each text is run for every table, in a transaction that is committed or rolled back.
struct Kind {
    name: &'static str,
    item: usize,
    steps: &'static [(&'static str, End)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    /// No transaction block may be around it.
    Alone,
}

use End::{Alone, Commit, Rollback};

const LOCKED_TWICE: &str = "perform 1 from %1$I where id = 3 for key share; begin perform 1 from %1$I where id = 3 for share; exception when others then null; end;";
const UPDATED_UNDER_LOCK: &str = "perform 1 from %1$I where id = 3 for key share; begin update %1$I set n = n + 1 where id = 3; exception when others then null; end;";

const KINDS: &[Kind] = &[
    Kind { name: "inserted", item: 3, steps: &[] },
    Kind { name: "read", item: 3, steps: &[("perform count(*) from %1$I;", Commit)] },
    Kind { name: "hot_old", item: 3, steps: &[("update %1$I set n = n + 1 where id = 3;", Commit)] },
    Kind {
        name: "hot_old_read",
        item: 3,
        steps: &[
            ("update %1$I set n = n + 1 where id = 3;", Commit),
            ("perform count(*) from %1$I;", Commit),
        ],
    },
    Kind { name: "hot_new", item: 6, steps: &[("update %1$I set n = n + 1 where id = 3;", Commit)] },
    Kind { name: "moved_old", item: 3, steps: &[("update %1$I set id = 30 where id = 3;", Commit)] },
    Kind { name: "moved_new", item: 6, steps: &[("update %1$I set id = 30 where id = 3;", Commit)] },
    Kind { name: "deleted", item: 3, steps: &[("delete from %1$I where id = 3;", Commit)] },
    Kind {
        name: "deleted_read",
        item: 3,
        steps: &[("delete from %1$I where id = 3;", Commit), ("perform count(*) from %1$I;", Commit)],
    },
    Kind { name: "kept", item: 3, steps: &[("delete from %1$I where id = 3;", Rollback)] },
    Kind { name: "never", item: 6, steps: &[("insert into %1$I values (6, 6, 'never', 6);", Rollback)] },
    Kind {
        name: "key_shared",
        item: 3,
        steps: &[("perform 1 from %1$I where id = 3 for key share;", Commit)],
    },
    Kind { name: "shared", item: 3, steps: &[("perform 1 from %1$I where id = 3 for share;", Commit)] },
    Kind { name: "for_update", item: 3, steps: &[("perform 1 from %1$I where id = 3 for update;", Commit)] },
    Kind { name: "multi_lock", item: 3, steps: &[(LOCKED_TWICE, Commit)] },
    Kind { name: "multi_old", item: 3, steps: &[(UPDATED_UNDER_LOCK, Commit)] },
    Kind { name: "multi_new", item: 6, steps: &[(UPDATED_UNDER_LOCK, Commit)] },
    Kind { name: "frozen", item: 3, steps: &[("vacuum (freeze) %1$I", Alone)] },
    Kind { name: "nulls", item: 6, steps: &[("insert into %1$I values (6, null, null, 6);", Commit)] },
    Kind { name: "last_null", item: 6, steps: &[("insert into %1$I values (6, 6, 'six', null);", Commit)] },
    Kind {
        name: "toasted",
        item: 6,
        steps: &[("insert into %1$I values (6, 6, repeat('t', 5000), 6);", Commit)],
    },
    Kind {
        name: "redirect",
        item: 3,
        steps: &[("update %1$I set n = n + 1 where id = 3;", Commit), ("vacuum %1$I", Alone)],
    },
    Kind {
        name: "led_to",
        item: 6,
        steps: &[("update %1$I set n = n + 1 where id = 3;", Commit), ("vacuum %1$I", Alone)],
    },
    Kind {
        name: "dead",
        item: 3,
        steps: &[("delete from %1$I where id = 3;", Commit), ("vacuum (index_cleanup off) %1$I", Alone)],
    },
];

fn table(kind: &Kind, bit: usize) -> String {
    format!("f_{}_{bit}", kind.name)
}

/// Statements that make all tables, one per line.
fn history() -> String {
    let mut text = String::new();
    let each = |kind: &Kind, body: &str| {
        format!(
            "do $$ begin for i in 0..{BITS} loop execute format('{}', 'f_{}_' || i); end loop; end $$\n",
            body.replace('\'', "''"),
            kind.name
        )
    };
    // `format` takes the text of a DO block, so that PL/pgSQL of a step is run as it stands.
    let block = |step: &str| format!("do $x$ begin {step} end $x$");
    for kind in KINDS {
        text += &each(
            kind,
            "create table %1$I(id int primary key, n int, v text, x int) with (fillfactor = 50, autovacuum_enabled = off)",
        );
        text += &each(kind, "alter table %1$I alter v set storage external");
        text += &each(kind, "insert into %1$I select i, i, repeat('v', i), i from generate_series(1, 5) i");
        for (step, end) in kind.steps {
            match end {
                Alone => (0..=BITS).for_each(|bit| {
                    text += &format!("{}\n", step.replace("%1$I", &table(kind, bit)));
                }),
                Commit => text += &each(kind, &block(step)),
                Rollback => text += &format!("begin\n{}rollback\n", each(kind, &block(step))),
            }
        }
    }
    text
}

/// Flips a bit of the row at a line pointer, or of the line pointer; `false` if there is no row.
fn flip(page: &mut [u8], item: usize, bit: usize) -> bool {
    if bit >= 32 {
        let raw = u32_at(page, pointer(item));
        put_u32(page, pointer(item), raw ^ 1 << (bit - 32));
        return true;
    }
    if u32_at(page, pointer(item)) >> 15 & 3 != 1 {
        return false;
    }
    let at = tuple(page, item) + if bit < 16 { 20 } else { 18 };
    let value = u16_at(page, at) as u16 ^ 1 << (bit % 16);
    page[at..at + 2].copy_from_slice(&value.to_le_bytes());
    true
}

/// What psql answers about a table: by a sequential scan and by the index.
fn answers(cluster: &Cluster, psql: &str, tables: &[String]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut rest = tables;
    while !rest.is_empty() {
        let script: String = rest.iter().map(|name| {
            let what = "count(*), sum(id), sum(n), sum(x), md5(string_agg(v, ',' order by id))";
            format!("\\echo == {name}\nset enable_seqscan = on;\nselect {what} from {name};\nset enable_seqscan = off;\nset enable_bitmapscan = off;\nselect {what} from {name} where id between 0 and 1000;\n\\echo ==\n")
        }).collect();
        let path = cluster.data().with_file_name("questions.sql");
        std::fs::write(&path, script).unwrap();
        let arguments = ["-d", "postgres", "-qAt", "-f", path.to_str().unwrap()];
        let output =
            cluster.client(psql, &arguments).stdout(Stdio::piped()).stderr(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut done = 0;
        for part in text.split("== ").skip(1) {
            let (name, answer) = part.split_once('\n').unwrap_or((part, ""));
            let is_whole = answer.trim_end().ends_with("==");
            let answer = answer.trim_end().trim_end_matches("==").trim().to_owned();
            all.insert(name.to_owned(), if is_whole { answer } else { "the server ended".to_owned() });
            done += 1;
        }
        // A server that ended starts again by itself: asked until it answers.
        rest = &rest[done..];
    }
    all
}

/// Flips that change an answer and that no rule about one cluster can tell from what a server writes, each with the reason.
const MISSES: &[(&str, usize, &str)] = &[];

#[test]
fn a_bit_that_changes_what_the_server_answers_is_found() {
    let all = servers();
    let psql = all.iter().rev().find(|(_, bin)| bin.join("psql").exists());
    let Some((major, bin)) = psql else {
        return skip(Capability::PostgresTools, "no PostgreSQL package with psql");
    };
    let psql = bin.join("psql").to_string_lossy().into_owned();
    let cluster = Cluster::new(bin, if *major < 18 { &["-k"] } else { &[] });
    cluster.run_all(&history());
    crate::scene::clean::assert_silent(&cluster, "before any flip");
    let mut editor = Editor::new(&cluster.data());
    let mut tables = Vec::new();
    let paths = paths(&cluster);
    for kind in KINDS {
        for bit in 0..=BITS {
            let name = table(kind, bit);
            let mut is_flipped = bit == BITS;
            if bit < BITS {
                editor.sealed(&paths[&name], 0, |page| is_flipped = flip(page, kind.item, bit));
            }
            tables.extend(is_flipped.then_some(name));
        }
    }
    let options = Options {
        level: CheckLevel::Full,
        worker_count: 2,
        findings_per_rule_max: 100_000,
        ..Options::default()
    };
    let report = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    let objects: Vec<&str> = report.findings.iter().filter_map(|finding| finding.object.as_deref()).collect();
    let is_found = |name: &str| {
        let of_index = format!("{name}_pkey");
        objects.iter().any(|object| object.ends_with(&format!(".{name}")) || object.ends_with(&of_index))
    };
    cluster.start("-c autovacuum=off");
    let answers = answers(&cluster, &psql, &tables);
    cluster.stop("immediate");
    let (mut faults, mut changed) = (Vec::new(), 0);
    for kind in KINDS {
        let right = &answers[&table(kind, BITS)];
        for bit in 0..BITS {
            let name = table(kind, bit);
            let Some(answer) = answers.get(&name).filter(|answer| *answer != right) else { continue };
            changed += 1;
            let is_known = MISSES.iter().any(|(known, number, _)| *known == kind.name && *number == bit);
            if is_found(&name) == is_known {
                faults.push(format!("{name}: found: {}\n    {answer:?}\n    not {right:?}", is_found(&name)));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {changed}:\n{}", faults.len(), faults.join("\n"));
    assert!(changed > 200, "{changed} answers changed only");
    for kind in KINDS {
        assert!(!is_found(&table(kind, BITS)), "{}", table(kind, BITS));
    }
}

/// Paths of all tables, relative to the data directory.
fn paths(cluster: &Cluster) -> BTreeMap<String, PathBuf> {
    let output = cluster.run_all("select relname as name, pg_relation_filepath(oid) as path from pg_class where relname like 'f\\_%' and relkind = 'r'\n");
    let values: Vec<&str> = output
        .lines()
        .filter(|line| line.contains("name = \"") || line.contains("path = \""))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    values.chunks_exact(2).map(|pair| (pair[0].to_owned(), PathBuf::from(pair[1]))).collect()
}
