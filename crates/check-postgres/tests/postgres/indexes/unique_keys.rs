//! Two visible rows with the same key in a unique index, whatever type and collation the key has.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::{CheckLevel, GapKind};
use skips::{Capability, skip};

use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{Editor, tuple};
use crate::scene::server::{Cluster, servers};

/// Name, column definitions, keys of the index, rows with two of the same key among them, and what else the major must have.
const KEYS: &[(&str, &str, &str, &str, u32)] = &[
    ("text_icu", "k text collate x", "k", "'key' || (i % 299)", 14),
    ("varchar_icu", "k varchar(90) collate x", "k", "'key' || (i % 299)", 14),
    ("char_icu", "k char(90) collate x", "k", "'key' || (i % 299)", 14),
    ("long_text", "k text collate x", "k", "repeat('long', 400) || (i % 299)", 14),
    ("address", "k inet", "k", "('10.0.' || (i % 299) / 256 || '.' || (i % 299) % 256)::inet", 14),
    ("span", "k interval", "k", "((i % 299) || ' min')::interval", 14),
    ("list", "k int[]", "k", "array[1, i % 299]", 14),
    ("document", "k jsonb", "k", "jsonb_build_object('a', i % 299)", 14),
    ("expression", "k text collate x", "(lower(k))", "'Key' || (i % 299)", 14),
    ("partial", "k text collate x", "k) where (k <> ''", "'key' || (i % 299)", 14),
    ("two_columns", "k text collate x, n int default 7", "n, k", "'key' || (i % 299)", 14),
    ("included", "k text collate x, n int default 7", "k) include (n", "'key' || (i % 299)", 14),
    ("no_nulls", "k text collate x", "k) nulls not distinct --", "case when i <> 5 then 'key' || i end", 15),
];

/// A unique index whose order is not known here.
pub(crate) struct Scene {
    table: PathBuf,
    index: PathBuf,
}

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(
        "create table a(address inet)\ninsert into a select '10.0.0.0'::inet + i from generate_series(1, 1000) i\ncreate unique index a_key on a(address)\n",
    );
    Scene { table: cluster.path_of("a"), index: cluster.path_of("a_key") }
}

/// The second row gets the key of the first, in the table and in the index: the last byte of the address, which follows a
/// length, a family and a mask.
pub(crate) const CLASSES: &crate::scene::peers::Classes<Scene> = &[(
    "two rows with one key in a unique index whose order is not known",
    |e, s| {
        e.sealed(&s.table, 0, |page| page[tuple(page, 2) + 24 + 6] = 1);
        // The high key stands first.
        e.sealed(&s.index, 1, |page| page[tuple(page, 3) + 8 + 6] = 1);
    },
    &["pg-btree-unique"],
)];

#[test]
fn a_key_that_two_rows_have_is_one_finding() {
    let Some((major, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
    let scene = scene(&cluster);
    assert_silent(&cluster, "before any damage");
    for (_, damage, wanted) in CLASSES {
        damage(&mut Editor::new(&cluster.data()), &scene);
        let report = check(&cluster, CheckLevel::Full, 2);
        let found: Vec<_> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
        assert_eq!(found, *wanted, "{:#?}", report.findings);
    }
}

/// Makes the tables; the indexes are called unique afterwards, as a change of the collation would leave them.
fn statements(major: u32) -> String {
    let mut text = String::from(
        "create collation x (provider = icu, locale = 'en-u-ks-level2', deterministic = false)\n",
    );
    for (name, columns, keys, rows, _) in KEYS.iter().filter(|(.., since)| *since <= major) {
        text += &format!("create table {name}({columns})\n");
        text += &format!("insert into {name}(k) select {rows} from generate_series(1, 299) i\n");
        text += &format!("create unique index {name}_k on {name}({keys})\n");
    }
    text
}

#[test]
fn byte_equal_keys_of_two_visible_rows_are_found_under_every_collation_and_type() {
    let mut majors = servers();
    majors.drain(1.min(majors.len())..majors.len().saturating_sub(1));
    for (major, bin) in majors {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        let kinds: Vec<_> = KEYS.iter().filter(|(.., since)| *since <= major).collect();
        let output = cluster.run(&statements(major));
        assert!(!output.contains("ERROR:"), "{output}");
        let report = assert_silent(&cluster, &format!("PostgreSQL {major}"));
        let gaps: Vec<_> =
            report.not_checked.iter().filter(|gap| gap.what.starts_with("equal keys of different")).collect();
        assert_eq!(gaps.len(), 1, "one for the database: {:#?}", report.not_checked);
        assert_eq!((gaps[0].object.as_deref(), gaps[0].kind), (Some("postgres"), GapKind::Coverage));
        assert!(gaps[0].what.contains(" unique indexes: public."), "{:?}", gaps[0]);
        // A row is inserted while the index is not unique; and a key that is deleted and inserted again.
        for (name, _, _, rows, _) in &kinds {
            cluster.run_all(&format!(
                "update pg_index set indisunique = false where indexrelid = '{name}_k'::regclass\n\
                 insert into {name}(k) select {rows} from generate_series(5, 5) i\n\
                 insert into {name}(k) select {rows} from generate_series(1, 1) i\n\
                 delete from {name} where ctid = '(0,1)'\n\
                 update pg_index set indisunique = true where indexrelid = '{name}_k'::regclass\n"
            ));
        }
        let report = check(&cluster, CheckLevel::Full, 2);
        let found: Vec<String> =
            report.findings.iter().filter_map(|finding| finding.object.clone()).collect();
        let mut wanted: Vec<String> =
            kinds.iter().map(|(name, ..)| format!("postgres.public.{name}_k")).collect();
        wanted.sort();
        let mut names = found.clone();
        names.sort();
        assert_eq!(names, wanted, "PostgreSQL {major}: {:#?}", report.findings);
        assert!(report.findings.iter().all(|finding| finding.rule == "pg-btree-unique"));
        // The same with codes in files.
        let options = Options { memory_bytes_max: 1 << 12, ..Options::default() };
        let spilled = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
        assert_eq!(spilled.findings.len(), wanted.len(), "{:#?}", spilled.findings);
    }
}

#[test]
fn nulls_rolled_back_rows_and_trailing_blanks_of_others_are_no_duplicates() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run_all(
            "create collation x (provider = icu, locale = 'en')\n\
             create table t(k text collate x, c char(9) collate x, d text collate x unique deferrable initially deferred)\n\
             insert into t select 'k' || i, 'c' || i, 'd' || i from generate_series(1, 500) i\n\
             insert into t select null, null, null from generate_series(1, 50) i\n\
             create unique index on t(k)\n\
             create unique index on t(c)\n\
             create unique index on t(k, c)\n\
             insert into t values ('k ', 'other', 'other')\n\
             begin\n\
             insert into t values ('rolled back', 'b', 'b')\n\
             rollback\n\
             insert into t values ('rolled back', 'b', 'b')\n\
             begin\n\
             update t set d = 'd2' where d = 'd1'\n\
             update t set d = 'd1' where d = 'd2' and k = 'k2'\n\
             commit\n\
             update t set c = 'new' || k where k = 'k7'\n\
             delete from t where k = 'k8'\n\
             insert into t values ('k8', 'c8', 'd8')\n",
        );
        let report = assert_silent(&cluster, "no duplicates");
        // Texts under a deterministic collation are equal if their bytes are.
        let gap = report.not_checked.iter().find(|gap| gap.what.starts_with("equal keys of different"));
        assert_eq!(gap, None);
    }
}

#[test]
fn equal_keys_without_overlaps_are_found_and_overlapping_ones_are_listed() {
    let Some((_, bin)) = servers().into_iter().rfind(|(major, _)| *major >= 18) else {
        return skip(Capability::PostgresMajors, "no PostgreSQL 18 or later");
    };
    let cluster = Cluster::new(&bin, &[]);
    cluster.run_all(
        "create table t(k int4range, v int4range, n int, primary key (k, v without overlaps))\n\
         insert into t select int4range(i % 50, i % 50 + 1), int4range(i, i + 1), i from generate_series(1, 3000) i\n\
         delete from t where n = 7\n\
         insert into t values ('[7,8)', '[7,8)', 7)\n",
    );
    let report = assert_silent(&cluster, "before any damage");
    let gap = report.not_checked.iter().find(|gap| gap.what.contains("WITHOUT OVERLAPS"));
    assert!(gap.is_some_and(|gap| gap.kind == GapKind::OutOfScope), "{:#?}", report.not_checked);
    cluster.run_all(
        "update pg_index set indisunique = false, indisexclusion = false where indexrelid = 't_pkey'::regclass\n\
         insert into t select k, v, -n from t where n = 9\n\
         update pg_index set indisunique = true, indisexclusion = true where indexrelid = 't_pkey'::regclass\n",
    );
    let report = check(&cluster, CheckLevel::Full, 2);
    let found: Vec<_> =
        report.findings.iter().map(|finding| (finding.rule.as_str(), finding.object.as_deref())).collect();
    assert_eq!(found, [("pg-btree-unique", Some("postgres.public.t_pkey"))], "{:#?}", report.findings);
}
