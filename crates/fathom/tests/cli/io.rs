//! `fathom io` from the outside; no figure is judged.

use crate::bench::Bench;

const QUICK: [&str; 6] = ["--size", "8m", "--runtime", "400ms", "--ramp-time", "50ms"];

#[test]
fn a_small_matrix_prints_the_published_columns_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let words: Vec<&str> = ["io", ".", "--bs", "8k", "--rw", "randread,write", "--iodepth", "1,4"]
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
        (&["io", "--job", "absent.fio"], "absent.fio"),
    ] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains(phrase), "{words:?}: {err}");
    }
}
