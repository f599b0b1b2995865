//! What can be wrong with `[workload]`, and where a message points.

use std::fs;

use super::support::{RUNS, inline, on, parsed, refused, resolve};

#[test]
fn a_placeholder_without_a_factor_is_shown_at_its_line_and_column() {
    let text = inline("SELECT 1;\n  SELECT {{kee}};", &format!("[factors]\nkey = [1, 2]\n{RUNS}"))
        .replace("1;", "{{key}};");
    refused(
        &text,
        &on("sqlite", &[]),
        &["no factor or parameter is called `kee`", "mine.toml:5:10", "did you mean `key`"],
    );
    refused(
        &inline("SELECT {{rate}};", RUNS),
        &on("sqlite", &[]),
        &["`rate` has no value here", "mine.toml:4:31"],
    );
}

#[test]
fn a_factor_that_no_text_uses_is_refused_with_the_name_that_was_meant() {
    for (line, phrases) in [
        ("conections = 4", ["`conections`", "did you mean `connections`", "mine.toml:"]),
        ("zzz = 4", ["`zzz`", "write {{zzz}}", "used nowhere"]),
    ] {
        refused(&inline("SELECT 1;", &format!("{RUNS}{line}\n")), &on("sqlite", &[]), &phrases);
    }
    refused(&inline("SELECT 1;", RUNS), &on("sqlite", &[("keys", "1,2")]), &["`keys`", "--set"]);
}

#[test]
fn an_error_of_a_script_is_shown_in_the_text_as_written() {
    let text = inline(
        "SELECT {{key}};\n\\set x random(1, {{key}}) +\n",
        &format!("[factors]\nkey = [12345, 6]\n{RUNS}"),
    );
    refused(&text, &on("sqlite", &[]), &["(in cell key=12345)", "mine.toml:5:"]);
    refused(&inline("\\nope\n", RUNS), &on("sqlite", &[]), &["mine.toml:4:24", "nope"]);
    let text = inline("\\set {{name}} 1\n", &format!("{RUNS}name = \"1x\"\n"));
    refused(&text, &on("sqlite", &[]), &["mine.toml:4:29", "{{name}}"]);
}

#[test]
fn each_mistake_in_the_table_is_shown_at_its_place() {
    let spec = |table: &str| format!("name = \"mine\"\nquestion = \"What?\"\n[workload]\n{table}\n{RUNS}");
    let one = "scripts = [ { sql = \"SELECT 1\" } ]";
    for (table, phrases) in [
        ("", &["[workload] has no scripts", "mine.toml:3:"][..]),
        ("scripts = []", &["[workload] has no scripts"]),
        ("scripts = \"a.sql\"", &["`scripts` takes a list of scripts", "mine.toml:4:"]),
        ("scripts = [ \"a.sql\" ]", &["could not read \"a.sql\"", "mine.toml:4:13", "names no files"]),
        ("scripts = [ { weight = 1 } ]", &["script 1 has no text", "mine.toml:4:13"]),
        (
            "scripts = [ { sql = \"SELECT 1\", weight = -1 } ]",
            &["`weight` takes a whole number", "mine.toml:4:"],
        ),
        ("scripts = [ { sql = \"SELECT 1\", weight = 0 } ]", &["the weights of all scripts are 0"]),
        ("scripts = [ { sql = \"SELECT 1\", wait = 0 } ]", &["`wait` is not a key of a script", "weight"]),
        (
            "scripts = [ { builtin = \"tpcblike\" } ]",
            &["`tpcblike` is no built-in script", "did you mean `tpcb-like`"],
        ),
        ("scripts = [ { builtin = \"s\" } ]", &["`s` is not one built-in script"]),
        ("scripts = [ { builtin = \"select-only\", sql = \"x\" } ]", &["`builtin` or has `sql`, not both"]),
        ("scripts = [ 7 ]", &["`scripts` takes a path", "found a whole number"]),
        (&format!("{one}\nscema = \"a\""), &["`scema` is not a key of [workload]", "did you mean `schema`"]),
        (&format!("{one}\nschema = {{ sqll = \"a\" }}"), &["`sqll`", "did you mean `sql`"]),
        (&format!("{one}\nschema = \"\""), &["\"\" is not the path of a file"]),
        (&format!("{one}\nload = {{ rows = 5 }}"), &["the load has no `script`, `copy` or `table`"]),
        (
            &format!("{one}\nload = {{ script = {{ sql = \"SELECT :row\" }} }}"),
            &["uses `:row`, and `rows` is not given"],
        ),
        (
            &format!("{one}\nload = {{ script = {{ sql = \"SELECT 1\" }}, rows = 0 }}"),
            &["`load.rows` takes a whole number from 1", "found `0`"],
        ),
        (
            &format!("{one}\nload = {{ script = {{ sql = \"SELECT 1\" }}, rows = \"x\" }}"),
            &["`rows` takes a whole number, or \"{{name}}\""],
        ),
        (
            &format!("{one}\nload = {{ table = \"t\", columns = {{ id = \"row\" }} }}"),
            &["the load has no `rows`"],
        ),
        (
            &format!("{one}\nload = {{ table = \"t\", rows = 5, columns = [\"id\"] }}"),
            &["`columns` takes a table with a generator"],
        ),
        (
            &format!("{one}\nload = {{ table = \"t\", rows = 5, columns = {{ id = \"random(1\" }} }}"),
            &["random(1", "mine.toml:5:"],
        ),
        (&format!("{one}\nload = {{ copy = \"t.csv\" }}"), &["could not read \"t.csv\"", "mine.toml:5:17"]),
        (
            &format!("{one}\nload = {{ copy = \"t.csv\", delimiter = \"ab\" }}"),
            &["\"ab\" is not a delimiter"],
        ),
        (&format!("{one}\nload = {{ copy = \"t.csv\", sha256 = \"ab\" }}"), &["`ab` is not a SHA-256"]),
        (&format!("{one}\ndefine = {{ rate = 5 }}"), &["`rate` is a parameter, and no variable of scripts"]),
        (&format!("{one}\ndefine = {{ \"a-b\" = 5 }}"), &["`a-b` cannot be the name of an own factor"]),
        (&format!("{one}\ndefine = {{ server = 5 }}"), &["`server` cannot be the name of an own factor"]),
        (&format!("{one}\ndefine = {{ x = \"a\\u0007\" }}"), &["`x` holds a control character"]),
        (&format!("{one}\ndefine = {{ x = [1] }}"), &["takes one value, found a list"]),
        (&format!("{one}\nafter = {{ sql = \"\\\\set\" }}"), &["mine.toml:5:23"]),
        (
            &format!("{one}\nschema = {{ sql = \"CREATE USER u PASSWORD 'geheim'\" }}"),
            &["holds a password", "mine.toml:5:"],
        ),
    ] {
        refused(&spec(table), &on("sqlite", &[]), phrases);
    }
}

#[test]
fn parameters_of_own_workloads_need_one_and_other_workloads_are_refused_beside_it() {
    let plain = "name = \"n\"\ntitle = \"t\"\nquestion = \"q\"\n[parameters]\nworkload = \"populate\"\nrows_total = 10\n";
    for name in [
        "protocol = \"simple\"",
        "scale = 1",
        "max_tries = 2",
        "on_error = \"retry\"",
        "latency_limit = \"5ms\"",
        "transaction_log = true",
    ] {
        refused(
            &format!("{plain}{name}\n"),
            &on("sqlite", &[]),
            &["parameter of own workloads", "[workload]"],
        );
    }
    refused(&plain.replace("populate", "own"), &on("sqlite", &[]), &["own", "[workload]"]);
    refused(
        &inline("SELECT 1;", &format!("{RUNS}workload = \"populate\"\n")),
        &on("sqlite", &[]),
        &["does not take the value `populate`", "own"],
    );
    refused(
        &inline("SELECT 1;", RUNS),
        &on("sqlite", &[("workload", "select-one")]),
        &["does not take the value `select-one`"],
    );
}

#[test]
fn a_metric_of_what_comes_after_needs_a_direction() {
    let spec = |metric: &str| {
        format!(
            "name = \"m\"\nquestion = \"q\"\n{metric}\n[workload]\nscripts = [ {{ sql = \"SELECT 1\" }} ]\nafter = {{ sql = \"SELECT 1 AS orders_bytes\" }}\n{RUNS}"
        )
    };
    let resolved = resolve(
        &spec("metric = \"orders_bytes\"\nbetter = \"smaller\"\nsecondary = [\"fill_percent_of_orders\"]"),
        &on("sqlite", &[]),
    )
    .unwrap();
    assert_eq!(
        (resolved.design.metric.as_deref(), resolved.design.is_smaller_better),
        (Some("orders_bytes"), Some(true))
    );
    assert_eq!(resolve(&resolved.spec_toml, &on("sqlite", &[])).unwrap(), resolved);
    refused(
        &spec("metric = \"orders_bytes\""),
        &on("sqlite", &[]),
        &["which way `orders_bytes` improves", "better = "],
    );
    refused(
        &spec("metric = \"elapsed_ss\"\nbetter = \"smaller\""),
        &on("sqlite", &[]),
        &["`elapsed_ss` is not a metric", "elapsed_s"],
    );
    refused(
        &spec("metric = \"Orders Bytes\"\nbetter = \"smaller\""),
        &on("sqlite", &[]),
        &["is not a metric of a run"],
    );
    let without = spec("metric = \"orders_bytes\"\nbetter = \"smaller\"").replace("after = ", "schema = ");
    refused(&without, &on("sqlite", &[]), &["is not a metric of a run"]);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spec.toml").to_str().unwrap().to_owned();
    fs::write(directory.path().join("latin1.sql"), b"SELECT 1;\nSELECT '\xe4';\n").unwrap();
    fs::create_dir(directory.path().join("folder.sql")).unwrap();
    for (file, phrases) in [
        ("none.sql", &["could not read \"none.sql\"", "No such file", "spec.toml:4:"][..]),
        ("folder.sql", &["a directory"]),
        ("latin1.sql", &["line 2 is not UTF-8"]),
    ] {
        let text = format!(
            "name = \"m\"\nquestion = \"q\"\n[workload]\nscripts = [ {{ file = \"{file}\" }} ]\n{RUNS}"
        );
        let message = parsed(&path, &text).unwrap_err().to_string();
        for phrase in phrases {
            assert!(message.contains(phrase), "\"{phrase}\" is missing in:\n{message}");
        }
    }
}
