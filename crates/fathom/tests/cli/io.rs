//! `fathom io` from the outside; no figure is judged.

use crate::bench::Bench;

const QUICK: [&str; 6] = ["--size", "8m", "--runtime", "400ms", "--ramp-time", "50ms"];

#[test]
fn a_small_matrix_prints_the_published_columns_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let words: Vec<&str> =
        ["io", ".", "--bs", "8k", "--rw", "randread,write", "--iodepth", "1,4", "--no-store"]
            .into_iter()
            .chain(QUICK)
            .collect();
    let (out, _) = bench.expect(0, &words);
    for column in ["KiB", "Read/write", "% random", "Outstanding", "IOPS", "MiB/s", "Max ms", "CPU %"] {
        assert!(out.contains(column), "{out}");
    }
    assert!(out.starts_with("direct I/O") || out.starts_with("page cache"), "{out}");
    let left: Vec<_> =
        std::fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["quick.toml"], "the file that was made is gone");
}

#[test]
fn json_and_csv_have_one_row_per_pattern() {
    let bench = Bench::new();
    let words: Vec<&str> = ["io", ".", "--bs", "4k,8k", "--json"].into_iter().chain(QUICK).collect();
    let table: serde_json::Value = serde_json::from_str(&bench.expect(0, &words).0).unwrap();
    assert_eq!(table["rows"].as_array().unwrap().len(), 2);
    let words: Vec<&str> = ["io", ".", "--bs", "4k", "--format", "csv"].into_iter().chain(QUICK).collect();
    assert_eq!(bench.expect(0, &words).0.lines().count(), 2);
}

#[test]
fn what_was_measured_is_stored_and_shown_again_in_every_form() {
    let bench = Bench::new();
    let (_, err) = bench.expect(2, &["io", "--list"]);
    assert!(err.contains("has no results.db"), "{err}");
    let words: Vec<&str> = ["io", ".", "--bs", "4k", "--json"].into_iter().chain(QUICK).collect();
    let (first, err) = bench.expect(0, &words);
    assert!(err.contains("stored as baseline 1; `fathom io --show 1` prints it again"), "{err}");
    let words: Vec<&str> = ["io", ".", "--only-flushes", "--json", "--runtime", "20ms"].to_vec();
    let second = bench.expect(0, &words).0;
    assert_eq!(bench.expect(0, &["io", "--show", "1", "--json"]).0, first);
    assert_eq!(bench.expect(0, &["io", "--show", "--json"]).0, second);
    assert!(bench.expect(0, &["io", "--show", "1"]).0.contains("chosen rows; "));
    let appends = bench.expect(0, &["io", "--show", "--format", "csv"]).0;
    assert!(appends.starts_with("size_bytes,method,writers,") && appends.lines().count() == 17, "{appends}");
    let list = bench.expect(0, &["io", "--list"]).0;
    assert!(list.starts_with("baseline 1  ") && list.contains("\nbaseline 2  "), "{list}");
    assert!(bench.expect(0, &["io", "--list", "--format", "csv"]).0.starts_with("baseline,began_unix_s,"));
    let all: serde_json::Value =
        serde_json::from_str(&bench.expect(0, &["io", "--list", "--json"]).0).unwrap();
    assert_eq!((all[0]["id"].as_i64(), all[1]["sync_rows"].as_array().unwrap().len()), (Some(1), 16));
    let (_, err) = bench.expect(2, &["io", "--show", "3"]);
    assert!(err.contains("has no baseline 3"), "{err}");
}

#[test]
fn an_existing_file_is_never_written_unless_its_name_is_repeated() {
    let bench = Bench::new();
    let precious = "precious ".repeat(100_000);
    bench.write("file", &precious);
    let words: Vec<&str> = ["io", "file", "--bs", "8k", "--rw", "write"].into_iter().chain(QUICK).collect();
    let (_, err) = bench.expect(2, &words);
    assert!(err.contains("will not write"), "{err}");
    assert_eq!(std::fs::read_to_string(bench.path().join("file")).unwrap(), precious);
}

#[test]
fn odd_words_are_refused_with_what_would_do() {
    let bench = Bench::new();
    for (words, phrase) in [
        (&["io", ".", "--bs", "8q"][..], "8q"),
        (&["io", ".", "--rw", "sideways"], "randread"),
        (&["io", "absent"], "absent"),
        (&["io"], "no path"),
        (&["io", "quick.toml", "--flushes"], "appends need a directory"),
        (&["io", "--job", "absent.fio"], "absent.fio"),
    ] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains(phrase), "{words:?}: {err}");
    }
}
