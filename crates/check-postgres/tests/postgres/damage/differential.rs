//! Random damage, judged by the tools of PostgreSQL and by fathom: where `pg_checksums` or amcheck with all its options
//! complains, fathom does too. Each case has a table of its own, so one check and one start of
//! the server do for all. Damage at other places: `FATHOM_DIFFERENTIAL_SEED=7`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use skips::{Capability, skip};

use crate::damage::random::Random;
use crate::running::live::with_clients;
use crate::scene::edit::{BLOCK, Editor, pointer, u16_at, u32_at};
use crate::scene::server::Cluster;

/// Tables that are damaged, one place each. More by `FATHOM_DIFFERENTIAL_CASES`, other damage by `.._SEED`.
const CASES: u64 = 48;

/// Tables with rows, two B-trees, values in TOAST, rows updated in place, and deleted rows.
fn statements(cases: u64) -> String {
    let mut text = String::from("create extension amcheck\n");
    for case in 0..cases {
        let t = format!("case_{case}");
        writeln!(text, "create table {t}(id int primary key, k text, n numeric, big text)").unwrap();
        writeln!(text, "alter table {t} alter big set storage external").unwrap();
        writeln!(text, "create index {t}_k on {t}(k)").unwrap();
        writeln!(text, "insert into {t} select i, md5((i % 500)::text), i * 1.5, case when i % 200 = 0 then repeat('b', 5000) end from generate_series(1, 700) i").unwrap();
        writeln!(text, "delete from {t} where id % 11 = 0").unwrap();
        writeln!(text, "update {t} set n = n + 1 where id % 7 = 0").unwrap();
        if case % 2 == 0 {
            writeln!(text, "vacuum freeze {t}").unwrap();
        }
    }
    text
}

/// Files of each case: the table, its indexes, its TOAST table and the index of that.
fn files_of_cases(cluster: &Cluster) -> BTreeMap<u64, Vec<PathBuf>> {
    let output = cluster.run_all("select string_agg(replace(t.relname, 'case_', '') || ' ' || pg_relation_filepath(f.id) || ';', '' order by f.id) as found from pg_class t, lateral (select t.oid union all select indexrelid from pg_index where indrelid in (t.oid, t.reltoastrelid) union all select t.reltoastrelid) f(id) where t.relname like 'case\\_%' and t.relkind = 'r'\n");
    let line = output.lines().find(|line| line.contains("found = \"")).unwrap();
    let mut found: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for pair in line.split('"').nth(1).unwrap().split(';').filter(|pair| !pair.is_empty()) {
        let (case, path) = pair.split_once(' ').unwrap();
        found.entry(case.parse().unwrap()).or_default().push(PathBuf::from(path));
    }
    found
}

/// Damages one block in one of many ways; says what was done.
fn damage(editor: &mut Editor, files: &[PathBuf], random: &mut Random) -> String {
    // Tables are hit as often as all their indexes.
    let file = &files[if random.below(2) == 0 { 0 } else { random.below(files.len() as u64) as usize }];
    let all = editor.read(file);
    let block = random.below((all.len() / BLOCK) as u64) as usize;
    let other = random.below((all.len() / BLOCK) as u64) as usize;
    let (kind, is_sealed) = (random.below(6), random.below(4) > 0);
    let mut told = String::new();
    let change = |page: &mut [u8]| match kind {
        0 => {
            for _ in 0..=random.below(4) {
                let (at, value) = (random.below(BLOCK as u64) as usize, random.below(256) as u8);
                write!(told, "byte {at} {:#04x}->{value:#04x} ", page[at]).unwrap();
                page[at] = value;
            }
        }
        1 => {
            let (at, bit) = (random.below(24 + 4 * 60) as usize, random.below(8));
            write!(told, "bit {bit} of byte {at}").unwrap();
            page[at] ^= 1 << bit;
        }
        2 | 3 => {
            let items = u16_at(page, 12).saturating_sub(24) / 4;
            let item = 1 + random.below(items as u64) as usize;
            let start = (u32_at(page, pointer(item)) & 0x7FFF) as usize;
            // The header of a tuple, or the tuple with its first columns.
            let (reach, bit) = (if kind == 2 { 24 } else { 48 }, random.below(8));
            let at = (start + random.below(reach) as usize).min(BLOCK - 1);
            write!(told, "bit {bit} of byte {} of item {item}", at - start.min(at)).unwrap();
            page[at] ^= 1 << bit;
        }
        4 => {
            let at = random.below(BLOCK as u64 / 512) as usize * 512;
            write!(told, "sector at {at} zeroed").unwrap();
            page[at..at + 512].fill(0);
        }
        _ => {
            write!(told, "copy of block {other}").unwrap();
            page.copy_from_slice(&all[other * BLOCK..(other + 1) * BLOCK]);
        }
    };
    if is_sealed {
        editor.sealed(file, block, change)
    } else {
        editor.block(file, block, change)
    }
    format!("{} block {block}, sealed {is_sealed}: {told}", file.display())
}

/// What amcheck says of a case with all options of `pg_amcheck`; a lost connection is a complaint.
fn amcheck(cluster: &Cluster, case: u64) -> String {
    let table = format!("case_{case}");
    let heap = format!("select * from verify_heapam('{table}', on_error_stop := false, check_toast := true)");
    let toast = format!("select verify_heapam(reltoastrelid) from pg_class where relname = '{table}'");
    let index = |index: String| format!("select bt_index_parent_check({index}, true, true)");
    let toast_index = format!(
        "(select indexrelid from pg_index where indrelid = (select reltoastrelid from pg_class where relname = '{table}'))"
    );
    let all =
        [heap, toast, index(format!("'{table}_pkey'")), index(format!("'{table}_k'")), index(toast_index)];
    let commands: Vec<&str> = all.iter().flat_map(|statement| ["-c", statement]).collect();
    let arguments = [&["-d", "postgres", "-XAtq"][..], &commands].concat();
    let mut psql = cluster.client("psql", &arguments);
    let output = psql.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.lines().filter(|line| !line.trim().is_empty()).take(3).collect::<Vec<_>>().join(" / ")
}

#[test]
fn where_the_tools_of_postgresql_complain_fathom_does_too() {
    let Some(cluster) = with_clients() else { return };
    if !cluster.has_tool("pg_amcheck") || !cluster.has_tool("pg_checksums") {
        return skip(Capability::PostgresTools, "no PostgreSQL package with pg_amcheck and pg_checksums");
    }
    let wish = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cases = wish("FATHOM_DIFFERENTIAL_CASES").unwrap_or(CASES);
    let seed = wish("FATHOM_DIFFERENTIAL_SEED").unwrap_or(1);
    cluster.run_all(&statements(cases));
    let files = files_of_cases(&cluster);
    assert_eq!(files.len() as u64, cases);
    let mut editor = Editor::new(&cluster.data());
    let mut done = BTreeMap::new();
    for (case, files) in &files {
        let mut random = Random((seed << 32 | (case + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        done.insert(*case, damage(&mut editor, files, &mut random));
    }
    let options = Options { findings_per_rule_max: 100_000, worker_count: 2, ..Options::default() };
    let report = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    let data = cluster.data();
    let arguments = ["--check", "-D", data.to_str().unwrap()];
    let sums = cluster.command("pg_checksums").args(arguments).output().unwrap();
    let sums = String::from_utf8_lossy(&sums.stderr).into_owned();
    let is_of = |files: &[PathBuf], text: &str| {
        files.iter().any(|file| text.contains(&format!("{}", file.display())))
    };
    let is_found = |files: &[PathBuf]| report.findings.iter().any(|finding| is_of(files, &finding.file));
    // Where fathom has found something the tools need not be asked: they may end the server, or never come back.
    let silent: Vec<u64> =
        files.iter().filter(|(_, files)| !is_found(files)).map(|(case, _)| *case).collect();
    assert!(!silent.is_empty() && silent.len() as u64 * 2 < cases, "silent about {silent:?}");
    cluster.start("-c statement_timeout=30s");
    let mut faults = Vec::new();
    for case in silent {
        let by_sums = sums.lines().find(|line| is_of(&files[&case], line)).unwrap_or_default();
        let by_amcheck = amcheck(&cluster, case);
        if !by_sums.is_empty() || !by_amcheck.is_empty() {
            faults.push(format!("case {case}, {}: {by_sums} {by_amcheck}", done[&case]));
            if by_amcheck.contains("server closed") {
                break;
            }
        }
    }
    cluster.stop("immediate");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
