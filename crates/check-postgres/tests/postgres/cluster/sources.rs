//! The same cluster in a directory, in tar files, packed, cut, and as a file by itself.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use check::options::Options;
use check::progress::Silent;
use check_postgres::{check_cluster, check_file, structure_cluster};
use results::check::CheckReport;
use results::structure::StructureMode;

use crate::scene::clean::check;
use crate::scene::edit::Editor;
use crate::scene::server::{Cluster, servers};

const TABLE: &str = "create table t(id int primary key, v text)
insert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i
";

fn newest() -> Option<Cluster> {
    let (_, bin) = servers().pop()?;
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(TABLE);
    Some(cluster)
}

fn tar(cluster: &Cluster, prefix: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let data = cluster.data();
    for entry in std::fs::read_dir(&data).unwrap().flatten() {
        let name = Path::new(prefix).join(entry.file_name());
        if entry.path().is_file() {
            builder.append_path_with_name(entry.path(), name).unwrap();
        } else {
            builder.append_dir_all(name, entry.path()).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn checked(path: &Path) -> CheckReport {
    let options = Options { worker_count: 2, ..Options::default() };
    check_cluster(path, &options, &mut Silent).unwrap()
}

#[test]
fn a_cluster_in_a_tar_file_packed_or_not_is_as_it_is_in_its_directory() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let mut editor = Editor::new(&cluster.data());
    let place = tempfile::tempdir().unwrap();
    for damaged in [false, true] {
        if damaged {
            editor.block(&path, 4, |page| page.fill(0));
        }
        let wanted = check(&cluster, results::check::CheckLevel::Full, 2);
        assert_eq!(wanted.exit_code(), u8::from(damaged));
        // Whoever packs a directory by hand often packs its name.
        let bytes = tar(&cluster, if damaged { "data" } else { "" });
        let mut packed: Vec<(&str, Vec<u8>)> = vec![("a.tar", bytes.clone())];
        if damaged {
            std::fs::write(place.path().join("a.tar"), &bytes).unwrap();
            assert_eq!(checked(&place.path().join("a.tar")).findings, wanted.findings);
            continue;
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        packed.push(("b.tar.gz", gzip.finish().unwrap()));
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&bytes).unwrap();
        packed.push(("c.tar.lz4", lz4.finish().unwrap()));
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        packed.push(("d.tar.zst", ruzstd::encoding::compress_to_vec(bytes.as_slice(), level)));
        for (name, bytes) in packed {
            let file = place.path().join(name);
            std::fs::write(&file, bytes).unwrap();
            let report = checked(&file);
            assert_eq!(report.findings, wanted.findings, "{name}");
            assert_eq!(report.accounting, wanted.accounting, "{name}");
            assert_eq!(report.exit_code(), u8::from(damaged), "{name}");
        }
    }
}

#[test]
fn the_structure_in_tar_files_packed_or_not_is_that_of_the_directory_in_every_mode() {
    let Some(cluster) = newest() else { return };
    let place = tempfile::tempdir().unwrap();
    let bytes = tar(&cluster, "data");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    std::fs::write(place.path().join("b.tar.gz"), gzip.finish().unwrap()).unwrap();
    std::fs::write(place.path().join("cut.tar"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(place.path().join("a.tar"), bytes).unwrap();
    for mode in [StructureMode::Limited, StructureMode::Sampled, StructureMode::Detailed] {
        let options =
            check::structure::Options { mode, with_system: true, worker_count: 2, ..Default::default() };
        let measured = |path: &Path| structure_cluster(path, &options, &mut Silent).unwrap();
        let wanted = measured(&cluster.data());
        assert!(wanted.objects.iter().any(|object| object.table == "postgres.public.t"));
        for name in ["a.tar", "b.tar.gz"] {
            let report = measured(&place.path().join(name));
            assert_eq!(report.objects, wanted.objects, "{name}");
            assert_eq!(report.accounting, wanted.accounting, "{name}");
            assert_eq!(report.exit_code(), 0, "{name}");
        }
        let cut = measured(&place.path().join("cut.tar"));
        assert!(cut.unfinished.as_ref().is_some_and(|why| why.contains("ends inside")), "{cut:?}");
        assert_eq!(cut.exit_code(), 2);
    }
}

#[test]
fn a_base_backup_is_put_together_from_its_tar_files_and_what_is_absent_is_told() {
    let Some(cluster) = newest() else { return };
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("base.tar");
    // As pg_basebackup writes it: tablespaces in files of their own, named in tablespace_map.
    let label = "START WAL LOCATION: FFFF/0 (file 000000010000000000000001)\nCHECKPOINT LOCATION: FFFF/60\n";
    let block = std::fs::read(cluster.data().join(cluster.path_of("t"))).unwrap();
    std::fs::write(cluster.data().join("backup_label"), label).unwrap();
    std::fs::write(cluster.data().join("tablespace_map"), "16999 /somewhere\n").unwrap();
    for segment in std::fs::read_dir(cluster.data().join("pg_wal")).unwrap().flatten() {
        // The WAL of a backup may come from an archive: below, restore_command says so.
        if segment.path().is_file() {
            std::fs::remove_file(segment.path()).unwrap();
        }
    }
    std::fs::write(cluster.data().join("postgresql.auto.conf"), "restore_command = 'cp /a/%f %p'\n").unwrap();
    std::fs::write(&base, tar(&cluster, "")).unwrap();
    let report = checked(place.path());
    assert!(report.facts.contains(&("backup from".to_owned(), "FFFF/0".to_owned())), "{:?}", report.facts);
    let absent = |report: &CheckReport| {
        report.not_checked.iter().any(|gap| gap.object.as_deref() == Some("tablespace 16999"))
    };
    assert!(absent(&report), "{:?}", report.not_checked);
    let version = std::fs::read_to_string(cluster.data().join("PG_VERSION")).unwrap();
    // Without files it has its two directories only.
    let mut builder = tar::Builder::new(File::create(place.path().join("16999.tar")).unwrap());
    let empty = tempfile::tempdir().unwrap();
    builder.append_dir(".", empty.path()).unwrap();
    let control = std::fs::read(cluster.data().join("global/pg_control")).unwrap();
    let catalog_version = u32::from_le_bytes(control[12..16].try_into().unwrap());
    builder.append_dir(format!("PG_{}_{catalog_version}", version.trim()), empty.path()).unwrap();
    builder.finish().unwrap();
    let with_empty = checked(&base);
    assert!(!absent(&with_empty) && with_empty.findings.is_empty(), "{:#?}", with_empty.findings);
    let mut builder = tar::Builder::new(File::create(place.path().join("16999.tar")).unwrap());
    let mut header = tar::Header::new_gnu();
    header.set_size(block.len() as u64);
    header.set_cksum();
    let member = format!("PG_{}_1/5/17000", version.trim());
    builder.append_data(&mut header, member, block.as_slice()).unwrap();
    builder.finish().unwrap();
    let with_space = checked(&base);
    assert!(!absent(&with_space), "{:?}", with_space.not_checked);
    let more = with_space.accounting.page_count - report.accounting.page_count;
    assert_eq!(more, (block.len() / 8192) as u64);
    assert!(with_space.findings.is_empty(), "{:#?}", with_space.findings);
}

#[test]
fn of_a_backup_that_is_cut_everything_before_is_checked_and_what_is_none_is_refused() {
    let Some(cluster) = newest() else { return };
    let place = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_path_with_name(cluster.data().join("PG_VERSION"), "PG_VERSION").unwrap();
    for name in ["base", "global"] {
        builder.append_dir_all(name, cluster.data().join(name)).unwrap();
    }
    let bytes = builder.into_inner().unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let report = checked(&write("cut.tar", &bytes[..bytes.len() / 2]));
    assert!(report.unfinished.as_ref().is_some_and(|why| why.contains("ends inside")), "{report:?}");
    assert!(report.accounting.clean_count > 0 && report.accounting.is_balanced());
    let options = Options::default();
    for (name, bytes) in [("x.tar", &b"no tar at all"[..]), ("y.tar.gz", b"\x1f\x8b\x08"), ("z.tar.zst", b"")]
    {
        let refused = check_cluster(&write(name, bytes), &options, &mut Silent);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(name) && !text.contains(char::is_control), "{text}");
    }
}

#[test]
fn a_relation_file_away_from_its_cluster_is_checked_block_by_block() {
    let Some(cluster) = newest() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("16384");
    let mut bytes = std::fs::read(cluster.data().join(cluster.path_of("t"))).unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let report = check_file(&file, &Options::default(), &mut Silent).unwrap();
    assert_eq!((report.exit_code(), report.accounting.bytes_read), (0, bytes.len() as u64), "{report:#?}");
    bytes[4 * 8192 + 5000] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let report = check_file(&file, &Options::default(), &mut Silent).unwrap();
    let found: Vec<_> = report.findings.iter().map(|found| (found.rule.as_str(), found.page)).collect();
    assert_eq!(found, [("pg-page-checksum", Some(4))]);
}
