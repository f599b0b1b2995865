//! One damage, one finding: the cause is named, and what follows from it is counted there.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use results::check::{CheckLevel, CheckReport};

use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple};
use crate::scene::server::{Cluster, servers};

const TABLES: &str = "create table v(id int primary key, k int, name varchar(40), tags int[], spot point, net inet)
insert into v select i, i % 5003, 'Zoë Müller ' || i, array[i % 7, i % 11], point(i % 100, i % 37), ('10.0.' || i % 250 || '.' || i % 200)::inet from generate_series(1, 6000) i
create index v_k on v(k)
create index v_name on v(name)
create index v_gin on v using gin(tags)
create index v_gist on v using gist(spot)
create index v_spgist on v using spgist(net)
create index v_hash on v using hash(k)
create index v_brin on v using brin(id) with (pages_per_range = 4)
create table w(id int primary key, big text)
alter table w alter big set storage external
insert into w select i, repeat('b', 5000) from generate_series(1, 60) i
create sequence s
create table away(id int primary key) tablespace beside
insert into away select generate_series(1, 3000)
create table here(id int primary key, n int)
insert into here select i, i from generate_series(1, 3000) i
create index here_away on here(n) tablespace beside
select count(*) from v
";

struct Scene {
    cluster: Cluster,
}

impl Scene {
    /// With a tablespace, under the collation that most clusters have.
    fn new() -> Option<Scene> {
        let (major, bin) = servers().pop()?;
        let mut arguments = vec!["--locale=en_US.UTF-8"];
        if major < 18 {
            arguments.push("-k");
        }
        let cluster = Cluster::new(&bin, &arguments);
        let space = cluster.data().with_file_name("space");
        assert!(cluster.command("/bin/mkdir").arg(&space).status().unwrap().success());
        cluster.run_all(&format!("create tablespace beside location '{}'\n{TABLES}", space.display()));
        assert_silent(&cluster, "before any damage");
        Some(Scene { cluster })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cluster.path_of(name)
    }

    fn toast(&self) -> PathBuf {
        let query = "select reltoastrelid::regclass as r from pg_class where relname = 'w'\n";
        let output = self.cluster.run_all(query);
        self.path(output.split("r = \"").nth(1).unwrap().split('"').next().unwrap())
    }

    /// One finding, of this rule in this object, that affects so many rows and entries at least, and a balanced account.
    fn faults(&self, what: &str, damage: impl FnOnce(&mut Editor), wanted: Wanted) -> Option<String> {
        let mut editor = Editor::new(&self.cluster.data());
        damage(&mut editor);
        let report = check(&self.cluster, CheckLevel::Full, 2);
        editor.undo();
        wanted.fault(&report).map(|fault| {
            format!("{what}: {fault}\n{}", report::findings::text(&report, &check_postgres::RULES))
        })
    }
}

/// GIN keeps a row under each of its keys, and several rows in one entry.
const ANY: u64 = u64::MAX;

struct Wanted {
    rule: &'static str,
    object: &'static str,
    rows: u64,
    entries: u64,
    /// Blocks that break a rule by their own bytes.
    damaged: u64,
}

impl Wanted {
    fn fault(&self, report: &CheckReport) -> Option<String> {
        let [finding] = report.findings.as_slice() else {
            return Some(format!("{} findings", report.finding_count()));
        };
        let object = &report.objects[0];
        let accounting = &report.accounting;
        let is_right = finding.rule == self.rule
            && finding.object.as_deref() == Some(self.object)
            && object.affected.row_count == self.rows
            && (self.entries == ANY || object.affected.entry_count == self.entries)
            && accounting.damaged_count == self.damaged
            && accounting.is_balanced()
            && report.finding_count() == 1;
        (!is_right).then(|| format!("{}, {:?}, {accounting:?}", finding.rule, object.affected))
    }
}

fn wanted(rule: &'static str, object: &'static str, (rows, entries): (u64, u64), damaged: u64) -> Wanted {
    Wanted { rule, object, rows, entries, damaged }
}

#[test]
fn a_lost_meta_page_root_or_sequence_is_the_one_finding_about_its_file() {
    let Some(scene) = Scene::new() else { return };
    let mut faults = Vec::new();
    for (name, object, block, rule) in [
        ("v_k", "postgres.public.v_k", 0, "pg-btree-meta"),
        ("v_hash", "postgres.public.v_hash", 0, "pg-hash-meta"),
        ("v_brin", "postgres.public.v_brin", 0, "pg-brin-meta"),
        ("v_gin", "postgres.public.v_gin", 0, "pg-gin-meta"),
        ("v_gist", "postgres.public.v_gist", 0, "pg-index-page"),
        ("v_spgist", "postgres.public.v_spgist", 0, "pg-spgist-page"),
        ("s", "postgres.public.s", 0, "pg-sequence"),
    ] {
        let path = scene.path(name);
        let zeroed = |e: &mut Editor| e.block(&path, block, |page| page.fill(0));
        faults.extend(scene.faults(name, zeroed, wanted(rule, object, (0, 0), 1)));
    }
    let index = scene.path("v_k");
    let truncated = |e: &mut Editor| e.file(&index, |bytes| bytes.clear());
    let finding = wanted("pg-btree-meta", "postgres.public.v_k", (6000, 0), 0);
    faults.extend(scene.faults("file of an index truncated to nothing", truncated, finding));
    let missing = |e: &mut Editor| e.remove(&index);
    let finding = wanted("pg-file-missing", "postgres.public.v_k", (6000, 0), 0);
    faults.extend(scene.faults("file of an index missing", missing, finding));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rows_that_are_lost_are_one_finding_for_all_indexes() {
    let Some(scene) = Scene::new() else { return };
    let (v, w, toast) = (scene.path("v"), scene.path("w"), scene.toast());
    let object = "postgres.public.v";
    let mut faults = Vec::new();
    let all = std::fs::read(scene.cluster.data().join(&v)).unwrap();
    let rows_of = |block: usize| {
        u64::from(u16::from_le_bytes([all[block * BLOCK + 12], all[block * BLOCK + 13]]) - 24) / 4
    };
    // Six indexes have an entry for each row; BRIN has none.
    let count = rows_of(20);
    faults.extend(scene.faults(
        "block of a table zeroed",
        |e| e.block(&v, 20, |page| page.fill(0)),
        wanted("pg-entry-without-row", object, (count, 7 * count), 1),
    ));
    let three: u64 = (20..23).map(rows_of).sum();
    faults.extend(scene.faults(
        "blocks of a table zeroed",
        |e| (20..23).for_each(|block| e.block(&v, block, |page| page.fill(0))),
        wanted("pg-entry-without-row", object, (three, 7 * three), 3),
    ));
    faults.extend(scene.faults(
        "line pointer of a row wiped",
        |e| e.sealed(&v, 12, |page| put_u32(page, pointer(4), 0)),
        wanted("pg-entry-without-row", object, (1, 7), 0),
    ));
    faults.extend(scene.faults(
        "two indexed columns of a row changed",
        |e| {
            e.sealed(&v, 12, |page| {
                let row = tuple(page, 4);
                page[row + 28] ^= 1;
                let name = page[row..].windows(3).position(|bytes| bytes == b"Zo\xC3").unwrap();
                page[row + name] = b'Y';
            })
        },
        wanted("pg-entry-differs", object, (1, 3), 0),
    ));
    let last: u64 = (all.len() / BLOCK - 3..all.len() / BLOCK).map(rows_of).sum();
    faults.extend(scene.faults(
        "table truncated",
        |e| e.file(&v, |bytes| bytes.truncate(bytes.len() - 3 * BLOCK)),
        wanted("pg-btree-tid", object, (last, ANY), 0),
    ));
    faults.extend(scene.faults(
        "file of a table missing",
        |e| e.remove(&w),
        wanted("pg-file-missing", "postgres.public.w", (60, 60), 0),
    ));
    let chunks = 180;
    let report = scene.faults(
        "TOAST table truncated",
        |e| e.file(&toast, |bytes| bytes.clear()),
        wanted("pg-btree-tid", "postgres.public.w", (60, chunks), 0),
    );
    assert!(
        report
            .as_ref()
            .is_some_and(|text| text.contains("60 rows of postgres.public.w without all TOAST chunks")
                && text.contains("damage found: 1 finding in 1 object")),
        "{report:?}"
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_lost_block_of_an_index_carries_its_links_and_the_rows_without_entry() {
    let Some(scene) = Scene::new() else { return };
    let index = scene.path("v_k");
    let data = scene.cluster.data();
    let mut editor = Editor::new(&data);
    editor.block(&index, 2, |page| page.fill(0));
    let report = check(&scene.cluster, CheckLevel::Full, 2);
    editor.undo();
    let text = report::findings::text(&report, &check_postgres::RULES);
    assert_eq!(report.finding_count(), 1, "{text}");
    assert_eq!((report.findings[0].page, report.accounting.damaged_count), (Some(2), 1), "{text}");
    assert!(report.findings[0].found.starts_with("a block of zeros"), "{text}");
    assert!(report.objects[0].affected.row_count > 100, "{text}");
    // An entry that is lost without a trace is one finding for the index, with the keys of the rows.
    editor.sealed(&index, 2, |page| {
        let lower = u16::from_le_bytes([page[12], page[13]]) - 12;
        page[12..14].copy_from_slice(&lower.to_le_bytes());
    });
    let report = check(&scene.cluster, CheckLevel::Full, 2);
    editor.undo();
    let text = report::findings::text(&report, &check_postgres::RULES);
    let [finding] = report.findings.as_slice() else { panic!("{text}") };
    let first = (finding.rule.as_str(), finding.object.as_deref());
    assert_eq!(first, ("pg-row-without-entry", Some("postgres.public.v_k")), "{text}");
    assert!(
        finding.found.contains("rows of postgres.public.v without: (") && finding.found.contains("id = "),
        "{text}"
    );
    assert!(report.accounting.affected_count > 0 && report.accounting.is_balanced(), "{text}");
}

#[test]
fn a_lost_tablespace_carries_what_indexes_and_tables_elsewhere_say() {
    let Some(scene) = Scene::new() else { return };
    let links = scene.cluster.data().join("pg_tblspc");
    let link = std::fs::read_dir(&links).unwrap().flatten().next().unwrap().path();
    let target = std::fs::read_link(&link).unwrap();
    std::fs::remove_file(&link).unwrap();
    let report = check(&scene.cluster, CheckLevel::Full, 2);
    std::os::unix::fs::symlink(target, link).unwrap();
    let text = report::findings::text(&report, &check_postgres::RULES);
    let [finding] = report.findings.as_slice() else { panic!("{text}") };
    assert_eq!(finding.rule, "pg-tablespace", "{text}");
    assert!(finding.found.contains("3,000 index entries point to rows of postgres.public.away"), "{text}");
    assert!(finding.found.contains("3,000 rows have no entry in postgres.public.here_away"), "{text}");
}

#[test]
fn a_lost_file_of_pg_xact_is_one_finding_with_the_rows_that_need_it() {
    let Some(scene) = Scene::new() else { return };
    for (what, rule) in [("zeroed", "pg-transaction-end"), ("missing", "pg-transaction-log-missing")] {
        let mut editor = Editor::new(&scene.cluster.data());
        let file = Path::new("pg_xact/0000");
        match what {
            "zeroed" => editor.file(file, |bytes| bytes.fill(0)),
            _ => editor.remove(file),
        }
        let report = check(&scene.cluster, CheckLevel::Full, 2);
        editor.undo();
        let text = report::findings::text(&report, &check_postgres::RULES);
        let [finding] = report.findings.as_slice() else { panic!("{text}") };
        assert_eq!((finding.rule.as_str(), finding.file.as_str()), (rule, "pg_xact/0000"), "{text}");
        assert!(finding.found.contains("6,000 rows in postgres.public.v"), "{text}");
        assert!(report.objects[0].affected.row_count >= 6000, "{text}");
        assert!(finding.next_step.contains("restore this file from a backup"), "{text}");
        assert!(report.accounting.is_balanced() && report.accounting.affected_count > 50, "{text}");
    }
}

#[test]
fn a_catalog_that_lost_rows_is_one_finding_and_explains_nothing_elsewhere() {
    let Some((major, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
    cluster.run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 900)\nselect lo_from_bytea(0, 'large')\nselect lo_from_bytea(0, 'larger')\ncreate database other template postgres\n");
    assert_silent(&cluster, "before any damage");
    let paths = ["pg_class", "pg_attribute", "pg_largeobject_metadata", "pg_index", "pg_namespace"]
        .map(|name| cluster.path_of(name));
    let shared = PathBuf::from("global/1262");
    let mut faults = Vec::new();
    for file in paths.iter().chain([&shared]) {
        for what in ["zeroed", "truncated", "half", "missing"] {
            let mut editor = Editor::new(&cluster.data());
            match what {
                "zeroed" => editor.file(file, |bytes| bytes.fill(0)),
                "truncated" => editor.file(file, |bytes| bytes.clear()),
                "half" => editor.file(file, |bytes| bytes.truncate(bytes.len() / 2 / BLOCK * BLOCK)),
                _ => editor.remove(file),
            }
            let report = check(&cluster, CheckLevel::Full, 2);
            editor.undo();
            let text = report::findings::text(&report, &check_postgres::RULES);
            let first = report.objects.first().map_or("", |object| object.cause_file.as_str());
            let of_catalog = report.objects.len() == 1
                && (file.to_string_lossy() == first || what != "half" || report.findings.len() == 1);
            if !of_catalog || report.finding_count() > 2 || !report.accounting.is_balanced() {
                faults.push(format!(
                    "{} {what}: {} findings, first file {first}\n{text}",
                    file.display(),
                    report.finding_count()
                ));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{}",
        faults
            .iter()
            .map(|fault| fault.chars().take(1800).collect::<String>())
            .collect::<Vec<_>>()
            .join("\n\n")
    );
    // Two damages that have nothing to do with each other.
    let map = paths[0].with_file_name("pg_filenode.map");
    let output = cluster.run_all("select oid as o from pg_database where datname = 'other'\n");
    let oid = output.split("o = \"").nth(1).unwrap().split('"').next().unwrap();
    let copied = PathBuf::from(format!("base/{oid}")).join(cluster.path_of("t").file_name().unwrap());
    let mut editor = Editor::new(&cluster.data());
    editor.file(&map, |bytes| bytes.fill(0));
    editor.block(&copied, 2, |page| page[5000] ^= 1);
    let report = check(&cluster, CheckLevel::Full, 2);
    editor.undo();
    let text = report::findings::text(&report, &check_postgres::RULES);
    assert_eq!(report.finding_count(), 2, "{text}");
    assert!(report.objects.iter().all(|object| object.resolve_first.is_none()), "{text}");
}
