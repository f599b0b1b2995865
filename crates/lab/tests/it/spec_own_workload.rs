//! `[workload]`: what a spec with schema, load, scripts and factors of the user's own becomes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lab::assignment::Assignment;
use lab::own::{Load, OnError, OwnWorkload, Protocol};
use lab::spec::{Experiment, FilesBeside, Request, Resolved, SpecError};
use lab::work::{Amount, Workload};
use results::model::{Level, Scale};

const KEY_CHOICE: &str = r#"name = "key-choice"
question = "What do UUID keys cost our order table?"
metric = "response_time_p99_ms"
[workload]
schema = "schema.sql"                 # once per cell, templated with factors
load   = { rows = 5_000_000, script = "load.sql", connections = 4 }   # or: copy = "orders.csv", or a generator per column
scripts = [ { file = "new-order.sql", weight = 9 }, { file = "read-order.sql", weight = 1 } ]
after  = "after.sql"                  # optional: sizes, checks; its rows become metrics
[factors]
key = ["bigint", "uuidv4", "uuidv7"]  # own factors: {{key}} in SQL, :key in scripts
fillfactor = [70, 100]
[parameters]
rate = 500
connections = 16
duration = "60s"
"#;

const FILES: [(&str, &str); 5] = [
    ("schema.sql", "-- keys\nCREATE TABLE orders (id {{key}}, n int) WITH (fillfactor = {{fillfactor}});\n"),
    ("load.sql", "INSERT INTO orders SELECT i, i FROM generate_series(:first_row, :last_row) i;\n"),
    ("new-order.sql", "\\set n random(1, 1000)\nINSERT INTO orders (n) VALUES (:n);\n"),
    ("read-order.sql", "\\set n random(1, 1000)\nSELECT ':key' FROM orders WHERE n = :n;\n"),
    ("after.sql", "SELECT pg_total_relation_size('orders') AS orders_bytes;\n"),
];

fn key_choice(directory: &Path) -> String {
    for (name, text) in FILES {
        fs::write(directory.join(name), text).unwrap();
    }
    let path = directory.join("key-choice.toml");
    fs::write(&path, KEY_CHOICE).unwrap();
    path.to_str().unwrap().to_owned()
}

fn parsed(path: &str, text: &str) -> Result<Experiment, SpecError> {
    Experiment::parse_with(path, text, &FilesBeside::spec(Path::new(path)))
}

fn on(engine: &str, overrides: &[(&str, &str)]) -> Request {
    let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Request { overrides, ..Request::plain(Scale::Full, crate::engine(engine)) }
}

/// A spec whose only script is `script`.
fn inline(script: &str, rest: &str) -> String {
    format!(
        "name = \"mine\"\nquestion = \"What?\"\n[workload]\nscripts = [ {{ sql = '''{script}''' }} ]\n{rest}"
    )
}

fn resolve(text: &str, request: &Request) -> Result<Resolved, SpecError> {
    Experiment::parse("mine.toml", text)?.resolve(request)
}

fn workloads(resolved: &Resolved) -> Vec<Arc<OwnWorkload>> {
    resolved.cells().iter().map(|cell| resolved.work(cell, 1).own.unwrap()).collect()
}

#[track_caller]
fn refused(text: &str, request: &Request, phrases: &[&str]) {
    let message = match resolve(text, request) {
        Err(error) => error.to_string(),
        Ok(resolved) => panic!("accepted:\n{text}\nas\n{}", resolved.spec_toml),
    };
    for phrase in phrases {
        assert!(message.contains(phrase), "\"{phrase}\" is missing in:\n{message}");
    }
}

const RUNS: &str = "[parameters]\nconnections = 2\nduration = \"1s\"\n";

#[test]
fn a_spec_with_files_becomes_a_workload_of_each_cell_with_its_levels_in_the_texts() {
    let directory = tempfile::tempdir().unwrap();
    let path = key_choice(directory.path());
    let experiment = parsed(&path, KEY_CHOICE).unwrap();
    let resolved = experiment.resolve(&on("postgres", &[])).unwrap();
    assert_eq!((resolved.cells().len(), resolved.title.as_str()), (6, resolved.question.as_str()));
    let cell = &resolved.cells()[3];
    assert_eq!(cell.label(), "key=uuidv4 fillfactor=100");
    let work = resolved.work(cell, 1);
    assert_eq!((work.workload, work.connections, work.rate_per_s), (Workload::Own, 16, Some(500.0)));
    assert_eq!(work.amount, Amount::Time(Duration::from_secs(60)));
    let own = work.own.unwrap();
    let schema = own.schema.as_ref().unwrap();
    assert_eq!(schema.file, "schema.sql");
    assert_eq!(schema.text, "-- keys\nCREATE TABLE orders (id uuidv4, n int) WITH (fillfactor = 100);\n");
    let Some(Load::Script { sql, rows, batch, connections }) = &own.load else { panic!("{:?}", own.load) };
    assert_eq!((sql.file.as_str(), *rows, *batch, *connections), ("load.sql", 5_000_000, 10_000, 4));
    let weights: Vec<_> =
        own.scripts.iter().map(|script| (script.sql.file.as_str(), script.weight)).collect();
    assert_eq!(weights, [("new-order.sql", 9), ("read-order.sql", 1)]);
    assert_eq!(own.definitions, [("key".to_owned(), "uuidv4".to_owned())]);
    assert_eq!(
        (own.protocol, own.max_tries, own.on_error, own.scale),
        (Protocol::Simple, 1, OnError::Abort, 1)
    );
    assert_eq!(own.after.as_ref().unwrap().file, "after.sql");
    let fixed = |name: &str| resolved.fixed.iter().find(|(fixed, _)| fixed == name).map(|(_, level)| level);
    assert_eq!(fixed("workload"), Some(&Level::Text("own".to_owned())));
    assert_eq!(fixed("batch_size").or(fixed("loop")), None);
}

#[test]
fn a_stored_spec_has_the_texts_and_gives_the_same_study_without_any_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = key_choice(directory.path());
    let first = parsed(&path, KEY_CHOICE).unwrap().resolve(&on("postgres", &[])).unwrap();
    let again = resolve(&first.spec_toml, &on("postgres", &[])).unwrap();
    assert_eq!(again, first, "{}", first.spec_toml);
    let key = |resolved: Resolved| Assignment::new(resolved, vec!["postgres".to_owned()], "", 1).key();
    assert_eq!(key(again), key(first.clone()));
    fs::write(directory.path().join("load.sql"), "SELECT :first_row;").unwrap();
    let changed = parsed(&path, KEY_CHOICE).unwrap().resolve(&on("postgres", &[])).unwrap();
    assert_ne!(key(changed), key(first));
}

#[test]
fn cells_whose_texts_and_parameters_are_equal_share_one_workload() {
    let text = inline(
        "SELECT 1;",
        "[factors]\nconnections = [1, 2]\nprotocol = [\"simple\", \"prepared\"]\n[parameters]\nduration = \"1s\"\n",
    );
    let all = workloads(&resolve(&text, &on("sqlite", &[])).unwrap());
    assert!(Arc::ptr_eq(&all[0], &all[2]) && Arc::ptr_eq(&all[1], &all[3]) && !Arc::ptr_eq(&all[0], &all[1]));
    assert_eq!((all[0].protocol, all[1].protocol), (Protocol::Simple, Protocol::Prepared));
}

#[test]
fn names_of_parameters_of_built_in_workloads_are_free() {
    let text = inline(
        "SELECT '{{key}} {{batch_size}} {{storage}} {{batch}} {{cache}} {{loop}}', {{is_big}}, {{share}};",
        "[factors]\nkey = [\"a\", \"b\"]\nbatch_size = [\"x\", 7]\nis_big = [true, false]\n[parameters]\nstorage = \"plain\"\nbatch = 3\ncache = 1.5\nloop = \"none\"\nshare = 0.25\nconnections = 1\nrows = 10\n",
    );
    let resolved = resolve(&text, &on("sqlite", &[])).unwrap();
    let all = workloads(&resolved);
    assert_eq!(all.len(), 8);
    assert_eq!(all[6].scripts[0].sql.text, "SELECT 'b 7 plain 3 1.5 none', true, 0.25;");
    let work = resolved.work(&resolved.cells()[0], 1);
    assert_eq!((work.amount, work.batch_size), (Amount::Rows(10), 1));
}

#[test]
fn own_factors_are_set_from_the_command_line_and_in_the_miniature() {
    let text = inline(
        "SELECT {{n}}, :m, '{{mode}}';",
        "[factors]\nn = [1, 2, 3]\n[parameters]\nm = 5\nmode = \"x\"\nconnections = 2\nduration = \"60s\"\n[miniature.factors]\nn = [1, 2]\n[miniature.parameters]\nduration = \"2s\"\nm = 1\n",
    );
    let sets = [("n", "07,\"8\",true,2.5"), ("mode", "a b"), ("m", "5_000")];
    let all = workloads(&resolve(&text, &on("sqlite", &sets)).unwrap());
    let texts: Vec<_> = all.iter().map(|own| own.scripts[0].sql.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "SELECT 07, :m, 'a b';",
            "SELECT 8, :m, 'a b';",
            "SELECT true, :m, 'a b';",
            "SELECT 2.5, :m, 'a b';"
        ]
    );
    assert_eq!(all[0].definitions, [("m".to_owned(), "5000".to_owned())]);
    let small = resolve(&text, &Request::plain(Scale::Miniature, crate::engine("sqlite"))).unwrap();
    assert_eq!(small.cells().len(), 2);
    assert_eq!(workloads(&small)[1].definitions[0].1, "1");
}

#[test]
fn a_placeholder_without_a_factor_is_shown_at_its_line_and_column() {
    let text = inline("SELECT 1;\n  SELECT {{kee}};", &format!("[factors]\nkey = [1, 2]\n{RUNS}"))
        .replace("1;", "{{key}};");
    refused(
        &text,
        &on("sqlite", &[]),
        &["no factor or parameter is called `kee`", "script 1:2:10", "did you mean `key`"],
    );
    refused(
        &inline("SELECT {{rate}};", RUNS),
        &on("sqlite", &[]),
        &["`rate` has no value here", "script 1:1:8"],
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
    refused(&text, &on("sqlite", &[]), &["(in cell key=12345)", "script 1:2:"]);
    refused(&inline("\\nope\n", RUNS), &on("sqlite", &[]), &["script 1:1:1", "nope"]);
    let text = inline("\\set {{name}} 1\n", &format!("{RUNS}name = \"1x\"\n"));
    refused(&text, &on("sqlite", &[]), &["script 1:1:6", "{{name}}"]);
}
