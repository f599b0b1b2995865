//! `[workload]`: what a spec with schema, load, scripts and factors of the user's own becomes.

mod errors;
mod round_trip;
mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lab::assignment::Assignment;
use lab::own::{Load, OnError, Protocol};
use lab::spec::{Request, Resolved};
use lab::work::{Amount, Workload};
use results::model::{Level, Scale};
use support::{RUNS, inline, on, parsed, refused, resolve, workloads};

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
fn blocks_of_levels_belong_to_their_cells_alone_and_keep_the_places_of_errors() {
    let schema = "-- fathom: key=a\nCREATE TABLE t (id int);\n-- fathom: key=b,c\n-- fathom: engine=sqlite\nCREATE TABLE t (\n-- fathom: wide=true\n{{key}} text,\n-- fathom: wide=all\nid text);\n-- fathom: engine=all\n-- fathom: key=all\nSELECT 1;\n";
    let spec = inline(
        "SELECT 1;",
        "[factors]\nkey = [\"a\", \"b\", \"c\"]\nwide = [true, false]\n[parameters]\nduration = \"1s\"\n",
    )
    .replace("[workload]\n", &format!("[workload]\nschema = {{ sql = '''{schema}''' }}\n"));
    let all = workloads(&resolve(&spec, &on("sqlite", &[])).unwrap());
    let text = |index: usize| {
        all[index].schema.as_ref().unwrap().text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text(0), "CREATE TABLE t (id int); -- fathom: engine=sqlite -- fathom: engine=all SELECT 1;");
    assert_eq!(
        text(2),
        "-- fathom: engine=sqlite CREATE TABLE t ( b text, id text); -- fathom: engine=all SELECT 1;"
    );
    assert_eq!(
        text(5),
        "-- fathom: engine=sqlite CREATE TABLE t ( id text); -- fathom: engine=all SELECT 1;"
    );
    assert_eq!(all[2].schema.as_ref().unwrap().text.lines().count(), schema.lines().count());
    refused(
        &spec.replace("SELECT 1;\n'''", "\\nope\n'''"),
        &on("sqlite", &[]),
        &["mine.toml:15:1", "(in cell key=a wide=true)"],
    );
    refused(
        &spec.replace("fathom: wide=true", "fathom: wode=true"),
        &on("sqlite", &[]),
        &["no factor or parameter is called `wode`", "mine.toml:9:12", "did you mean `wide`"],
    );
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
        "SELECT '{{key}} {{batch_size}} {{storage}} {{batch}} {{cache}} {{loop}}', {{is_big}}, {{share}}, {{whole}}, {{rate}};",
        "[factors]\nkey = [\"a\", \"b\"]\nbatch_size = [\"x\", 7]\nis_big = [true, false]\n[parameters]\nstorage = \"plain\"\nbatch = 3\ncache = 1.5\nloop = \"none\"\nshare = 0.25\nwhole = 2.0\nrate = 500\nconnections = 1\nrows = 10\n",
    );
    let resolved = resolve(&text, &on("sqlite", &[])).unwrap();
    let all = workloads(&resolved);
    assert_eq!(all.len(), 8);
    assert_eq!(all[6].scripts[0].sql.text, "SELECT 'b 7 plain 3 1.5 none', true, 0.25, 2.0, 500;");
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
fn parameters_of_own_workloads_reach_the_workload() {
    let rest = "[parameters]\nconnections = 3\ntransactions = 9\nprotocol = \"prepared\"\nmax_tries = 0\non_error = \"retry\"\nlatency_limit = \"2500us\"\nscale = 7\ntransaction_log = true\n";
    let resolved = resolve(
        &inline("SELECT {{scale}}, '{{protocol}}', {{transactions}}, {{connections}};", rest),
        &on("postgres", &[]),
    )
    .unwrap();
    let own = &workloads(&resolved)[0];
    assert_eq!(
        (own.protocol, own.max_tries, own.on_error, own.scale),
        (Protocol::Prepared, 0, OnError::Retry, 7)
    );
    assert_eq!((own.latency_limit, own.transaction_log), (Some(Duration::from_micros(2500)), true));
    assert_eq!(own.scripts[0].sql.text, "SELECT 7, 'prepared', 9, 3;");
    assert!(resolved.spec_toml.contains("latency_limit = \"2500us\""), "{}", resolved.spec_toml);
}

#[test]
fn a_csv_file_is_known_by_its_content() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("orders.csv"), "id;n\n1;2\n").unwrap();
    let path = directory.path().join("spec.toml").to_str().unwrap().to_owned();
    let text = "name = \"m\"\nquestion = \"q\"\n[workload]\nscripts = [ { sql = \"SELECT 1\" } ]\n\
                load = { copy = \"orders.csv\", header = true, delimiter = \";\", columns = [\"id\", \"{{column}}\"] }\n\
                define = { column = \"n\" }\n"
        .to_owned()
        + RUNS;
    let resolved = parsed(&path, &text).unwrap().resolve(&on("sqlite", &[])).unwrap();
    let Some(Load::Copy { path: file, sha256, table, columns, has_header, delimiter, null }) =
        &workloads(&resolved)[0].load
    else {
        panic!()
    };
    assert_eq!(file, &directory.path().join("orders.csv"));
    assert_eq!(sha256, "a715d60412558ec79b5def142c1ac92bdf8653cc32ef2122de0efc236d78257a");
    assert_eq!(
        (table.as_str(), columns.as_slice(), *has_header, *delimiter, null.as_str()),
        ("orders", &["id".to_owned(), "n".to_owned()][..], true, ';', "")
    );
    assert_eq!(resolve(&resolved.spec_toml, &on("sqlite", &[])).unwrap(), resolved);
    let stated = text.replace("header = true", &format!("header = true, sha256 = \"{}\"", "0".repeat(64)));
    let message = parsed(&path, &stated).unwrap_err().to_string();
    assert!(message.contains(sha256) && message.contains("not the one that is stated"), "{message}");
}

#[test]
fn built_in_scripts_and_blocks_of_one_engine_are_parsed_for_the_engine() {
    let text = "name = \"m\"\nquestion = \"q\"\n[workload]\nscripts = [ { builtin = \"tpcb\", weight = 2 }, { sql = '''\n-- fathom: engine=postgres\n\\set x nonsense(1)\n-- fathom: engine=sqlite\nSELECT 1;\n''' } ]\n".to_owned() + RUNS;
    refused(&text, &on("postgres", &[]), &["nonsense", "mine.toml:6:"]);
    let text = text.replace("\\set x nonsense(1)", "SELECT {{n}} FROM pg_class;") + "n = 5\n";
    let own = workloads(&resolve(&text, &on("sqlite", &[])).unwrap());
    assert_eq!((own[0].scripts[0].sql.file.as_str(), own[0].scripts[0].weight), ("tpcb-like", 2));
    assert!(own[0].scripts[0].sql.text.contains("pgbench_accounts"));
}

#[test]
fn a_size_of_a_load_may_be_an_own_factor() {
    let text = inline(
        "SELECT 1;",
        "[workload.load]\ntable = \"t_{{size}}\"\nrows = \"{{size}}\"\n[workload.load.columns]\nid = \"row\"\nn = \"random(1, :size)\"\n\"größe m\" = \"text({{low}}, 9)\"\n[factors]\nsize = [10, 2000]\n[parameters]\nlow = 3\nconnections = 1\nduration = \"1s\"\n",
    );
    let resolved = resolve(&text, &on("sqlite", &[])).unwrap();
    let own = workloads(&resolved);
    let Some(Load::Columns { table, rows, connections, columns }) = &own[1].load else { panic!() };
    assert_eq!(
        (table.as_str(), *rows, *connections, columns[2].1.as_str()),
        ("t_2000", 2000, 1, "text(3, 9)")
    );
    assert_eq!(own[1].definitions, [("size".to_owned(), "2000".to_owned())]);
    assert_eq!(resolve(&resolved.spec_toml, &on("sqlite", &[])).unwrap(), resolved);
    refused(
        &text.replace("[10, 2000]", "[10, -1]"),
        &on("sqlite", &[]),
        &["`load.rows` takes a whole number from 1", "found `-1`"],
    );
}
