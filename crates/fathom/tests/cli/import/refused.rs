//! Files that cannot be imported: status 2, the file, the line, the value, the reason; nothing is stored.

use crate::bench::Bench;

#[track_caller]
fn refused(bench: &Bench, file: &str, expected: &[&str]) {
    let (_, err) = bench.expect(2, &["import", file]);
    for expected in [&[file, "hint: "], expected].concat() {
        assert!(err.contains(expected), "{file}: {expected}: {err}");
    }
    assert!(!bench.results().join("results.db").exists(), "{file} left a results file");
}

#[test]
fn broken_tables_are_refused_with_their_line_and_value() {
    let bench = Bench::new();
    let huge = format!("clients,tps\n1,1{}\n", "0".repeat(400));
    for (name, text, expected) in [
        ("nan.csv", "clients,tps\n1,100\n2,NaN\n", &["line 3", "\"NaN\"", "not a number"][..]),
        ("infinite.csv", "clients,tps\n1,inf\n", &["line 2", "\"inf\""]),
        ("negative.csv", "clients,tps\n1,5\n2,-3\n", &["line 3", "\"-3\"", "below zero"]),
        ("time.csv", "clients,elapsed_s\n1,-3\n", &["line 2", "no time"]),
        ("huge.csv", &huge, &["line 2", "larger than the largest number"]),
        ("comma.csv", "clients;tps\n1;100,5\n", &["line 2", "100,5", "comma"]),
        ("ragged.csv", "clients,tps\n1,2,3\n", &["line 2", "3 cells"]),
        ("twice.csv", "tps,tps\n1,2\n", &["line 1", "the same name"]),
        ("unnamed.csv", "1,2\n3,4\n", &["line 1", "no names"]),
        ("words.csv", "name,remark\na,b\n", &["no column"]),
        ("cut.json", "{\"fio version\": \"fio-3.33\",\n\"jobs\": [{\"jobname\":", &["line 2", "truncated"]),
        ("log", "0 1 4052 0 1795400694 502006\n0 2 -1 0 1795400694 502006\n", &["line 2", "\"-1\""]),
        ("a.hlog", "#[Histogram log format version 1.3]\n0,1,1,HISTAAAA\n", &["line 2"]),
        ("noise", "\u{1}\u{2}no format", &["not recognised"]),
    ] {
        bench.write(name, text);
        let (_, err) = bench.expect(2, &["import", name]);
        for expected in [&[name], expected].concat() {
            assert!(err.contains(expected), "{name}: {expected}: {err}");
        }
        assert!(!bench.results().join("results.db").exists(), "{name} left a results file");
    }
    std::fs::write(bench.path().join("latin.csv"), b"clients,tps,name\n1,5,caf\xE9\n").unwrap();
    refused(&bench, "latin.csv", &["line 2", "0xE9", "UTF-8"]);
    std::fs::write(bench.path().join("wide.csv"), b"\xFF\xFEa\0,\0b\0").unwrap();
    refused(&bench, "wide.csv", &["UTF-16"]);
    bench.write("columns.csv", "clients,tps\n1,5\n");
    for option in ["--factor", "--metric"] {
        let (_, err) = bench.expect(2, &["import", "columns.csv", option, "nothing"]);
        assert!(err.contains("no column \"nothing\"") && err.contains("clients, tps"), "{err}");
    }
}

#[test]
fn one_file_that_is_refused_does_not_stop_the_others() {
    let bench = Bench::new();
    bench.write("bad.csv", "clients,tps\n1,NaN\n");
    // A byte order mark, line ends of Windows and quotes are no fault.
    bench.write("good.csv", "\u{FEFF}clients,\"tps\"\r\n1,\"100\"\r\n2,190\r\n");
    let (out, err) = bench.expect(2, &["import", "bad.csv", "good.csv", "missing.csv"]);
    assert!(out.contains("stored as study 1") && out.contains("2 runs of 2 configurations"), "{out}");
    assert!(err.contains("bad.csv") && err.contains("missing.csv"), "{err}");
}
