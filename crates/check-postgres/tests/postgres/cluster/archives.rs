//! Hostile and odd tar files: memory and time stay bounded, and what is not read is refused with a reason.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use check::options::Options;
use check::progress::Silent;
use check_postgres::{CheckError, check_cluster};
use results::check::CheckReport;

/// What a process of ours takes before it reads anything, and the buffers of the reader.
const BASE_MIB: u64 = 64;
/// Says to the test below, in a process of its own, what to check, and with how much memory.
const ORDER: &str = "FATHOM_TEST_ARCHIVE";

fn checked(path: &Path, memory_bytes_max: u64) -> Result<CheckReport, CheckError> {
    let options = Options { worker_count: 1, memory_bytes_max, ..Options::default() };
    check_cluster(path, &options, &mut Silent)
}

fn refused(path: &Path) -> String {
    checked(path, 256 << 20).unwrap_err().to_string()
}

/// A header of ustar with its checksum.
fn header(name: &str, kind: u8, bytes: u64) -> [u8; 512] {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_cksum();
    *header.as_bytes()
}

/// A file of a tar file: header, bytes, zeros up to the next block.
fn member(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let padding = vec![0; bytes.len().next_multiple_of(512) - bytes.len()];
    [&header(name, kind, bytes.len() as u64), bytes, &padding].concat()
}

fn stored(directory: &Path, name: &str, pieces: &[&[u8]]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, pieces.concat()).unwrap();
    path
}

const END: [u8; 1024] = [0; 1024];

fn version() -> Vec<u8> {
    member("PG_VERSION", b'0', b"16\n")
}

/// Checks a file in a process of its own, and returns what it said and its peak memory in MiB.
fn measured(path: &Path, memory_bytes_max: u64) -> (String, u64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cluster::archives::in_a_process_of_its_own", "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{memory_bytes_max} {}", path.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("peak ")).unwrap_or_else(|| panic!("{text}"));
    (text.clone(), line.1.trim().parse::<u64>().unwrap() / 1024)
}

#[test]
fn in_a_process_of_its_own() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let (memory, path) = order.split_once(' ').unwrap();
    match checked(Path::new(path), memory.parse().unwrap()) {
        Ok(report) => println!("status {} {:?}", report.exit_code(), report.unfinished),
        Err(error) => println!("error {error}"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim().trim_end_matches(" kB"));
}

/// A compressed backup with empty files of so many tables.
fn of_empty_files(directory: &Path, count: u32) -> PathBuf {
    let path = directory.join("many.tar.gz");
    let mut gzip = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
    gzip.write_all(&version()).unwrap();
    for number in 0..count {
        gzip.write_all(&header(&format!("base/5/{}", 20_000 + number), b'0', 0)).unwrap();
    }
    gzip.write_all(&END).unwrap();
    gzip.finish().unwrap();
    path
}

#[test]
fn more_members_than_there_is_memory_for_are_refused_with_what_they_need() {
    let directory = tempfile::tempdir().unwrap();
    let path = of_empty_files(directory.path(), 30_000);
    let (text, peak_mib) = measured(&path, 16 << 20);
    assert!(text.contains("its 30001 members need"), "{text}");
    assert!(text.contains("more than the 16777216 bytes of --max-memory\nhint: run it with --max-memory "));
    assert!(peak_mib < 16 + BASE_MIB, "{peak_mib} MiB");
}

#[test]
fn a_backup_with_the_files_of_many_tables_stays_within_its_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = of_empty_files(directory.path(), 50_000);
    let (text, peak_mib) = measured(&path, 64 << 20);
    assert!(text.contains("status "), "{text}");
    assert!(peak_mib < 64 + BASE_MIB, "{peak_mib} MiB");
}

#[test]
fn a_name_or_a_record_that_claims_gigabytes_is_not_read_into_memory() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, start) in [(b'L', &b""[..]), (b'K', b""), (b'x', b"4294967296 comment=")] {
        let path = directory.path().join("claim.tar");
        let mut file = File::create(&path).unwrap();
        file.write_all(&version()).unwrap();
        file.write_all(&header("././@LongLink", kind, 4 << 30)).unwrap();
        file.write_all(start).unwrap();
        file.seek(SeekFrom::Start(1536 + (4 << 30))).unwrap();
        file.write_all(&member("base/5/16384", b'0', &[0; 8192])).unwrap();
        file.write_all(&END).unwrap();
        let (text, peak_mib) = measured(&path, 16 << 20);
        assert!(text.contains("status "), "{text}");
        assert!(peak_mib < 16 + BASE_MIB, "kind {kind}: {peak_mib} MiB");
    }
}

#[test]
fn a_window_of_zstandard_that_claims_terabytes_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    // RFC 8878 3.1.1.1.2: exponent 31 is a window of 2 TiB. Behind it one block of a repeated byte.
    let frame = [0x28, 0xB5, 0x2F, 0xFD, 0, 31 << 3, 3, 0, 0, b'x'];
    let (text, peak_mib) = measured(&stored(directory.path(), "base.tar.zst", &[&frame]), 16 << 20);
    assert!(text.contains("error could not read backup"), "{text}");
    assert!(peak_mib < 16 + BASE_MIB, "{peak_mib} MiB");
}

#[test]
fn zeros_in_a_compressed_backup_take_no_disk_space_and_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zeros.tar.gz");
    let mut gzip = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
    gzip.write_all(&version()).unwrap();
    gzip.write_all(&header("base/5/16384", b'0', 256 << 20)).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..256).for_each(|_| gzip.write_all(&zeros).unwrap());
    gzip.write_all(&END).unwrap();
    gzip.finish().unwrap();
    let (text, peak_mib) = measured(&path, 16 << 20);
    assert!(text.contains("status "), "{text}");
    assert!(peak_mib < 16 + BASE_MIB, "{peak_mib} MiB");
}

#[test]
fn a_sparse_member_is_refused_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let old = stored(directory.path(), "old.tar", &[&version(), &member("base/5/16384", b'S', b""), &END]);
    let record = b"22 GNU.sparse.major=1\n";
    let new = [&member("pax", b'x', record)[..], &member("base/5/16384", b'0', b"1\n0\n")].concat();
    let new = stored(directory.path(), "new.tar", &[&version(), &new, &END]);
    for path in [old, new] {
        let error = refused(&path);
        assert!(error.contains("its member \"base/5/16384\" is stored in parts (tar --sparse)"), "{error}");
        assert!(error.ends_with("\nhint: extract the tar file and check the directory"), "{error}");
    }
}

#[test]
fn names_and_sizes_of_gnu_and_pax_headers_belong_to_the_member_behind_them() {
    let directory = tempfile::tempdir().unwrap();
    let long = member("././@LongLink", b'L', b"PG_VERSION\0");
    let file = member("wrong", b'0', b"16\n");
    let gnu = stored(directory.path(), "gnu.tar", &[&long, &file, &END]);
    let pax = member("pax", b'x', b"19 path=PG_VERSION\n9 size=3\n");
    // The size of the header counts for nothing where a record has one.
    let pax = [&pax[..], &header("wrong", b'0', 0)[..], &member("", b'0', b"16\n")[512..]].concat();
    let pax = stored(directory.path(), "pax.tar", &[&pax, &END]);
    for path in [gnu, pax] {
        let report = checked(&path, 256 << 20).unwrap();
        assert!(report.unfinished.as_ref().is_none_or(|why| !why.contains("incomplete")), "{report:#?}");
    }
}

#[test]
fn a_tar_file_without_the_mark_of_its_end_is_not_whole() {
    let directory = tempfile::tempdir().unwrap();
    let plain = stored(directory.path(), "plain.tar", &[&version()]);
    let zeroed =
        stored(directory.path(), "zeroed.tar", &[&version(), &END[..512], &member("base/5/1", b'0', b"x")]);
    for (path, why) in [(plain, "ends without its end marker"), (zeroed, "has zeros at byte 1024")] {
        let report = checked(&path, 256 << 20).unwrap();
        assert!(report.unfinished.as_ref().is_some_and(|found| found.contains(why)), "{report:#?}");
    }
}

#[test]
fn a_pipe_in_place_of_a_tar_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("base.tar");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = refused(directory.path());
    assert!(error.contains("a pipe"), "{error}");
}

#[test]
fn frames_of_parallel_compressors_are_read_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let whole = [&version()[..], &END].concat();
    let (one, two) = whole.split_at(700);
    let zstandard =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let lz4 = |bytes: &[u8]| {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstandard = stored(directory.path(), "a.tar.zst", &[&zstandard(one), &zstandard(two)]);
    let lz4 = stored(directory.path(), "a.tar.lz4", &[&lz4(one), &lz4(two)]);
    for path in [zstandard, lz4] {
        let report = checked(&path, 256 << 20).unwrap();
        assert!(report.unfinished.as_ref().is_none_or(|why| !why.contains("incomplete")), "{report:#?}");
    }
}
