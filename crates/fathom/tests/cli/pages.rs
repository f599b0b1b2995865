//! What `report`, `compare` and `history` write, under which name, and what they refuse to write.

use crate::bench::Bench;

fn with_a_study_and_a_check() -> Bench {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let database = rusqlite::Connection::open(bench.path().join("unrelated-app.db")).unwrap();
    database.execute_batch("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x');").unwrap();
    drop(database);
    bench.expect(0, &["check", "unrelated-app.db"]);
    bench.expect(0, &["structure", "unrelated-app.db"]);
    bench
}

#[test]
fn a_page_is_a_file_whose_name_is_printed_whatever_command_writes_it() {
    let bench = with_a_study_and_a_check();
    for (words, name) in [
        (&["report"][..], "study-1.html"),
        (&["report", "--check", "1"], "check-1.html"),
        (&["report", "--structure", "1"], "structure-1.html"),
        (&["compare", "1/batch_size=1", "1/batch_size=5"], "compare-1-batch_size-1-1-batch_size-5.html"),
        (&["history", "quick"], "history-quick-elapsed_s.html"),
    ] {
        // Twice: an older page of the same is replaced.
        for _ in 0..2 {
            let (out, _) = bench.expect(0, &[words, &["--format", "html"]].concat());
            assert!(
                out.trim_end().ends_with(&format!("fathom-results/{name}")) && out.lines().count() == 1,
                "{out}"
            );
        }
        let page = std::fs::read_to_string(bench.results().join(name)).unwrap();
        assert!(page.starts_with("<!doctype html>"), "{words:?}");
        let own = format!("own-{name}");
        let (out, _) = bench.expect(0, &[words, &["-o", &own]].concat());
        assert_eq!(out, format!("{own}\n"));
        assert_eq!(std::fs::read_to_string(bench.path().join(&own)).unwrap(), page, "{words:?}");
        let (_, err) = bench.expect(2, &[words, &["-o", &own]].concat());
        assert!(err.contains("hint: choose a name that does not exist"), "{err}");
        let (out, _) = bench.expect(0, &[words, &["--format", "html", "-o", "-"]].concat());
        assert_eq!(out, page, "{words:?}");
    }
}

#[test]
fn an_ending_without_a_format_or_with_another_one_is_refused() {
    let bench = with_a_study_and_a_check();
    for words in [&["report"][..], &["report", "--check", "1"], &["compare", "1", "1"], &["history"]] {
        let (_, err) = bench.expect(2, &[words, &["-o", "x.pdf"]].concat());
        assert!(err.contains("no format has the extension .pdf"), "{err}");
        assert!(err.contains("hint: extensions are .html, .svg, .png, .md, .json and .txt"), "{err}");
        let (_, err) = bench.expect(2, &[words, &["-o", "x.json", "--format", "html"]].concat());
        assert!(err.contains("\"x.json\" does not have the extension of --format html"), "{err}");
        bench.expect(2, &[words, &["-o", "x.pdf", "--format", "html"]].concat());
        bench.expect(2, &[words, &["-o", "x.html", "--json"]].concat());
    }
    assert!(!bench.path().join("x.pdf").exists() && !bench.path().join("x.json").exists());
    let (out, _) = bench.expect(0, &["report", "-o", "notes.log", "--format", "text"]);
    assert_eq!(out, "notes.log\n");
}

#[test]
fn a_picture_in_pixels_needs_a_build_with_the_feature() {
    let bench = with_a_study_and_a_check();
    let slide = bench.path().join("slide.png");
    if cfg!(feature = "png") {
        let output = bench.run(&["report", "1", "-o", "slide.png"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(slide.is_file() || err.contains("hint: install a font"), "{err}");
        return;
    }
    let (_, err) = bench.expect(2, &["report", "1", "-o", "slide.png"]);
    assert!(err.contains("could not draw a PNG: this build is without the feature \"png\""), "{err}");
    assert!(err.contains("hint: write slide.svg") && err.contains("--features png"), "{err}");
    assert!(!slide.exists());
}

#[test]
fn a_study_is_named_by_its_experiment_too() {
    let bench = with_a_study_and_a_check();
    bench.expect(0, &["run", "quick.toml", "--again"]);
    let (latest, _) = bench.expect(0, &["report", "quick"]);
    assert_eq!(bench.expect(0, &["report", "2"]).0, latest);
    assert_eq!(bench.expect(0, &["report", "quick~1"]).0, bench.expect(0, &["report", "1"]).0);
    assert_eq!(bench.expect(0, &["export", "quick~1"]).0, bench.expect(0, &["export", "1"]).0);
    let (_, err) = bench.expect(2, &["report", "populate-batch"]);
    assert!(err.contains("has no study of \"populate-batch\""), "{err}");
    bench.expect(2, &["report", "1/batch_size=1"]);
}

#[test]
fn the_page_of_a_study_shows_no_check_and_no_structure_of_another_database() {
    let bench = with_a_study_and_a_check();
    let (page, _) = bench.expect(0, &["report", "--format", "html", "-o", "-"]);
    assert!(!page.contains("unrelated-app"), "a database that is not of the study");
    for words in [["report", "--check", "1"], ["report", "--structure", "1"]] {
        let (page, _) = bench.expect(0, &[&words[..], &["--format", "html", "-o", "-"]].concat());
        assert!(page.contains("unrelated-app"));
    }
}
