//! Each way in which a spec or a `--set` can be wrong, and what the user is told.

use lab::spec::{Experiment, Request, SpecError};
use results::model::Scale;

/// Lines 1 to 7; a test adds from line 8 on.
const HEAD: &str = r#"name = "night"
title = "A night"
question = "What happens?"
[parameters]
workload = "populate"
rows_total = 8000
connections = 4
"#;

fn refused(text: &str) -> SpecError {
    match Experiment::parse("night.toml", text) {
        Err(error) => error,
        Ok(experiment) => match experiment.resolve(&Request::plain(Scale::Full, crate::engine("postgres"))) {
            Err(error) => error,
            Ok(resolved) => panic!("accepted:\n{text}\nas\n{}", resolved.spec_toml),
        },
    }
}

/// The message of `HEAD` plus `added` names the line and holds all the phrases.
#[track_caller]
fn check(added: &str, line: usize, phrases: &[&str]) {
    check_text(&format!("{HEAD}{added}"), line, phrases);
}

#[track_caller]
fn check_text(text: &str, line: usize, phrases: &[&str]) {
    let error = refused(text);
    let message = error.to_string();
    assert_eq!(error.line(), Some(line), "{message}");
    assert!(message.contains(&format!("night.toml:{line}:")), "{message}");
    for phrase in phrases {
        assert!(message.contains(phrase), "\"{phrase}\" is missing in:\n{message}");
    }
    assert!(message.starts_with(error.title()), "{message}");
}

fn set(overrides: &[(&str, &str)]) -> Result<lab::spec::Resolved, SpecError> {
    let experiment = Experiment::parse("night.toml", HEAD).unwrap();
    let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    experiment.resolve(&Request { overrides, ..Request::plain(Scale::Full, crate::engine("postgres")) })
}

#[track_caller]
fn check_set(key: &str, value: &str, phrases: &[&str]) {
    let message = set(&[(key, value)]).unwrap_err().to_string();
    for phrase in phrases {
        assert!(message.contains(phrase), "\"{phrase}\" is missing in:\n{message}");
    }
}

#[test]
fn the_head_alone_is_accepted() {
    set(&[]).unwrap();
}

#[test]
fn text_that_is_not_toml_shows_the_place() {
    check("rows = = 3\n", 8, &["the spec is not TOML", "rows = = 3", "^"]);
    check("key = \"sequential\n", 8, &["the spec is not TOML"]);
    check("rows_total = 3\n", 8, &["duplicate key"]);
}

#[test]
fn a_key_that_is_not_known_names_the_nearest() {
    check("[miniture]\n", 8, &["`miniture` is not a key of a spec", "did you mean `miniature`?"]);
    check(
        "[validity]\nclient_cpus = \"9%\"\n",
        9,
        &["`client_cpus` is not a key of [validity]", "`client_cpu`"],
    );
    check("[layout]\nlogs = \"/log\"\n", 9, &["`logs` is not a key of [layout]", "`log`"]);
    check("[[expect]]\nclam = \"c\"\n", 9, &["`clam` is not a key of [[expect]]", "`claim`"]);
    check(
        "[miniature]\nlayout = 1\n",
        9,
        &["`layout` is not a key of [miniature]", "repetitions, against, factors"],
    );
    check("[repeat_until]\nwidth = 1\n", 9, &["`width` is not a key of [repeat_until]", "half_width"]);
    check("[engine.postgresql]\n", 8, &["`postgresql` is not a key of [engine]", "did you mean `postgres`?"]);
}

#[test]
fn a_parameter_that_is_not_known_names_the_nearest() {
    check(
        "batchsize = 3\n",
        8,
        &["`batchsize` is not a parameter", "did you mean `batch_size`?", "^^^^^^^^^"],
    );
    check("[factors]\nconections = [1]\n", 9, &["`conections` is not a parameter", "`connections`"]);
    check("autovacuum = \"x\"\n", 8, &["`autovacuum` is not a parameter", "parameters are workload, loop"]);
    check("repetitions = 3\n", 8, &["`repetitions` is not a parameter", "above the first table"]);
    check("\"oracle.sga\" = 3\n", 8, &["`oracle` is not an engine", "noop, sqlite, postgres"]);
    check("\"postgres.a;b\" = 3\n", 8, &["`a;b` is not the name of a setting"]);
}

#[test]
fn a_level_of_the_wrong_type_says_what_is_expected_and_found() {
    check(
        "batch_size = \"10\"\n",
        8,
        &["takes a whole number from 1", "found the text `10`", "write 10 without quotes"],
    );
    check("batch_size = true\n", 8, &["`batch_size`", "found a boolean"]);
    check("batch_size = 1.5\n", 8, &["found a decimal number"]);
    check("batch_size = 1979-05-27\n", 8, &["takes a single value, found a date"]);
    check("key = 3\n", 8, &["`key` takes one of `sequential`, `random`", "found a whole number"]);
    check("label = 3\n", 8, &["`label` takes text of at most 64 characters"]);
    check("rate = \"fast\"\n", 8, &["`rate` takes a number", "found the text `fast`"]);
    check("warm_up = 5\n", 8, &["`warm_up` takes a time", "write \"5s\" if seconds are meant"]);
    check("[factors]\nbatch_size = [1, \"ten\", 100]\n", 9, &["found the text `ten`", "whole number"]);
    check("[factors]\nbatch_size = [1, [2]]\n", 9, &["takes a single value, found a list"]);
}

#[test]
fn a_level_out_of_range_says_the_range() {
    check("batch_size = 0\n", 8, &["a whole number from 1 to 100000000", "found `0`"]);
    check("secondary_indexes = 9\n", 8, &["from 0 to 8", "found `9`"]);
    check("batch_size = 99999999999999999999\n", 8, &["does not fit in 64 bits"]);
    check("rate = inf\n", 8, &["`inf` is not a finite number"]);
    check("warm_up = \"3 weeks\"\n", 8, &["found the text `3 weeks`"]);
    check("warm_up = \"25h\"\n", 8, &["a time from 1ms to 24h", "found `\"25h\"`"]);
    check(&format!("label = \"{}\"\n", "a".repeat(65)), 8, &["at most 64 characters", "…"]);
}

#[test]
fn a_word_that_is_not_allowed_names_the_nearest() {
    check("key = \"randm\"\n", 8, &["`key` does not take the value `randm`", "did you mean `random`?"]);
    check("durability = \"maybe\"\n", 8, &["known here: full, relaxed, none"]);
    check_text("kind = \"pubished\"\n", 1, &["did you mean `published`?"]);
    check("[[expect]]\nclaim = \"c\"\nscope = \"ful\"\n", 10, &["did you mean `full`?"]);
    check("[[expect]]\nclaim = \"c\"\nrequires = \"durable\"\n", 10, &["durable_commit, separate_devices"]);
}

#[test]
fn a_factor_without_levels_is_refused() {
    check("[factors]\nbatch_size = []\n", 9, &["factor `batch_size` has no levels", "remove the factor"]);
}

#[test]
fn a_factor_with_one_value_in_place_of_a_list_is_refused() {
    check("[factors]\nbatch_size = 10\n", 9, &["factor `batch_size` takes a list of levels", "[parameters]"]);
    check(
        "batch_size = [1, 10]\n",
        8,
        &["parameter `batch_size` takes one value, found a list", "[factors]"],
    );
    check("factors = 3\n", 8, &["`factors` is not a parameter"]);
    check_text("factors = 3\n", 1, &["`factors` takes a table, found a whole number"]);
}

#[test]
fn a_level_given_twice_is_refused_also_when_written_differently() {
    check(
        "[factors]\nbatch_size = [1, 10, 1_0]\n",
        9,
        &["level `10` of factor `batch_size` is given twice", "first here"],
    );
    check("[factors]\nrate = [10, 10.0]\n", 9, &["is given twice"]);
    check("[factors]\nwarm_up = [\"60s\", \"1m\"]\n", 9, &["level `1m`"]);
}

#[test]
fn a_factor_that_is_also_a_parameter_is_refused() {
    check("[factors]\nconnections = [1]\n", 9, &["`connections` is set twice", "first", "second"]);
    check("[factors]\nclients = [1]\n", 9, &["`connections` is set twice"]);
    check("clients = 3\n", 8, &["`connections` is set twice"]);
    let both = "\"postgres.work_mem\" = 3\n[engine.postgres]\nwork_mem = 4\n";
    check(both, 10, &["`postgres.work_mem` is set twice"]);
}

#[test]
fn a_run_ends_by_rows_or_by_time() {
    check("duration = \"10s\"\n", 8, &["`rows_total` and `duration` are both given"]);
    check("[factors]\nduration = [\"10s\"]\n", 9, &["both given", "first"]);
    let neither = HEAD.replace("rows_total = 8000\n", "");
    check_text(&neither, 1, &["neither `rows_total` nor `duration` is given"]);
    check("warm_up = \"1s\"\nwarm_up_rows = 3\n", 9, &["`warm_up` and `warm_up_rows` are both given"]);
}

#[test]
fn a_missing_workload_name_title_or_question_is_said() {
    check_text(&HEAD.replace("workload = \"populate\"\n", ""), 1, &["no `workload` is given"]);
    check_text(&HEAD.replace("name = \"night\"\n", ""), 1, &["the spec has no `name`"]);
    check_text(&HEAD.replace("title = \"A night\"\n", ""), 1, &["the spec has no `title`"]);
    check_text("", 1, &["the spec has no `name`"]);
    check_text(&HEAD.replace("\"night\"", "\"a night\""), 1, &["`a night` is not a name of an experiment"]);
}

#[test]
fn parameters_that_cannot_stand_together_show_both_places() {
    check("batch_size = 2001\n", 8, &["a client has 2000 rows", "with this `rows_total`", "at least 8004"]);
    check("jobs = 5\n", 8, &["`jobs` is 5 for 4 connections", "with this `connections`"]);
    check("rate = 100\nloop = \"server\"\n", 8, &["`rate` needs the loop in the client", "with this `loop`"]);
    check("placement = \"log-apart\"\n", 8, &["no log directory", "[layout]"]);
    check("placement = \"data-apart\"\n[layout]\nlog = \"/log\"\n", 8, &["the layout has none"]);
    let select = HEAD.replace("populate", "select-one");
    check_text(
        &format!("{select}batch_size = 2\n"),
        8,
        &["`batch_size` has no meaning", "with this `workload`"],
    );
    check_text(&format!("{select}secondary_indexes = 2\n"), 8, &["`secondary_indexes` has no meaning"]);
    check_text(
        &format!("{select}loop = \"server\"\n"),
        8,
        &["a workload that adds no rows to a table needs the loop in the client"],
    );
}

#[test]
fn a_conflict_of_one_cell_names_the_cell() {
    check("[factors]\nbatch_size = [1, 4000]\n", 9, &["(in cell batch_size=4000)"]);
    let many = HEAD.replace("connections = 4\n", "") + "[factors]\nconnections = [1, 9000]\n";
    check_text(&many, 8, &["8000 rows are too few for 9000 connections", "(in cell connections=9000)"]);
}

#[test]
fn a_factor_of_another_engine_is_refused() {
    check(
        "[factors]\n\"sqlite.page_size\" = [4096, 8192]\n",
        9,
        &["a setting of another engine", "runs on postgres", "[engine.sqlite]"],
    );
}

#[test]
fn samplers_are_a_list_of_commands() {
    let with = |value: &str| format!("samplers = {value}\n{HEAD}");
    check_text(&with("\"meter\""), 1, &["a list of commands"]);
    check_text(&with("[\"meter\", \" \"]"), 1, &["the command of a sampler is empty"]);
}

#[test]
fn limits_of_validity_are_checked() {
    check("[validity]\nattempts = 0\n", 9, &["`attempts` takes a whole number from 1 to 100, found 0"]);
    check("[validity]\nstart_skew = 0.02\n", 9, &["a percentage", "such as \"2%\""]);
    check("[validity]\nclient_cpu = \"101%\"\n", 9, &["from 0% to 100%"]);
    check("[validity]\nstart_skew_floor = \"2h\"\n", 9, &["a time up to one hour"]);
    check("[repeat_until]\nmargin = \"5%\"\nblocks_max = 9\n", 9, &["`margin` needs `decision = true`"]);
    check("[repeat_until]\ndecision = 1\nblocks_max = 9\n", 9, &["true or false"]);
    check(
        "[repeat_until]\ndecision = false\nblocks_max = 9\n",
        8,
        &["a width above zero or decision = true"],
    );
    check("[repeat_until]\nhalf_width = \"0%\"\nblocks_max = 9\n", 8, &["a width above zero"]);
    check(
        "[repeat_until]\nhalf_width = \"2%\"\nblocks_max = 2\n",
        1,
        &["ends after 2 blocks, but 6 repetitions"],
    );
    check("[layout]\ndata = \"/d\"\n", 9, &["`data` takes a list of directories"]);
    check("[layout]\nlog = \"\"\n", 9, &["a directory of the layout has no name"]);
    check_text("repetitions = 0\n", 1, &["`repetitions` takes a whole number from 1 to 10000"]);
}

#[test]
fn a_claim_points_into_its_check() {
    let added = "[factors]\nbatch_size = [1, 10]\n[[expect]]\nclaim = \"c\"\ncheck = 'elapsed_s[batch_size=11] < 3'\n";
    check(added, 12, &["`11` is not a level of `batch_size`", "its levels are 1, 10", "night.toml:12:31"]);
    check("[[expect]]\nclaim = \"c\"\ncheck = 'elapsed_s <'\n", 10, &["expected a metric or a number"]);
    check("[[expect]]\ncheck = 'rows equal'\n", 8, &["an expectation has no `claim`"]);
    check("[[expect]]\nclaim = \"c\"\ncheck = \"\"\"\nrows\nequal\"\"\"\n", 10, &["in the claim"]);
}

#[test]
fn a_set_that_is_wrong_is_shown_like_a_line_of_a_spec() {
    check_set(
        "conections",
        "4",
        &["`conections` is not a parameter", "--set:1:1", "conections=4", "`connections`"],
    );
    check_set("connections", "many", &["a whole number from 1 to 10000, found `many`", "--set:1:13", "^^^^"]);
    check_set("connections", "1,,4", &["`connections` is given no value"]);
    check_set("connections", "", &["`connections` is given no value"]);
    check_set("connections", "1,4,1", &["level `1` of factor `connections` is given twice", "--set:1:17"]);
    check_set("repetitions", "4", &["command line"]);
    check_set("sqlite.page_size", "4096", &["a setting of sqlite, and this runs on postgres"]);
    check_set("batch_size", "1,4000", &["(in cell batch_size=4000)", "--set:1:1"]);
    let twice = set(&[("connections", "1"), ("clients", "2")]).unwrap_err().to_string();
    assert!(twice.contains("`connections` is set twice on the command line"), "{twice}");
}

#[test]
fn requests_outside_the_possible_are_refused() {
    let experiment = Experiment::parse("night.toml", HEAD).unwrap();
    let plain = Request::plain(Scale::Full, crate::engine("postgres"));
    let refused = |request: Request| experiment.resolve(&request).unwrap_err().to_string();
    assert!(
        refused(Request::plain(Scale::Miniature, crate::engine("sqlite")))
            .contains("`night` has no miniature")
    );
    assert!(refused(Request { repetitions: Some(0), ..plain.clone() }).contains("0 repetitions"));
    let until = |half_width_percent: f64, blocks_max| {
        let half_width_percent = Some(half_width_percent);
        Some(lab::schedule::RepeatUntil { half_width_percent, decision: None, blocks_max })
    };
    assert!(refused(Request { repeat_until: until(0.0, 10), ..plain.clone() }).contains("above 0 %"));
    assert!(refused(Request { repeat_until: until(f64::NAN, 10), ..plain.clone() }).contains("above 0 %"));
    assert!(
        refused(Request { repeat_until: until(2.0, 2), ..plain.clone() }).contains("ends after 2 blocks")
    );
    let decision = |margin: Option<f64>, blocks_max| {
        let decision = Some(lab::schedule::Decision { margin });
        Some(lab::schedule::RepeatUntil { half_width_percent: None, decision, blocks_max })
    };
    assert!(
        refused(Request { repeat_until: decision(Some(0.0), 20), ..plain.clone() })
            .contains("a margin of 0 %")
    );
    assert!(
        refused(Request { repeat_until: decision(None, 101), ..plain })
            .contains("between the repetitions and 100")
    );
}

#[test]
fn a_matrix_beyond_all_measure_is_refused() {
    let levels: Vec<String> = (1..=1000).map(|level| level.to_string()).collect();
    let levels = levels.join(",");
    let error =
        set(&[("connections", &levels), ("batch_size", &levels), ("data_files", &levels)]).unwrap_err();
    assert!(error.to_string().contains("more than 10000 cells: 1000 connections × 1000"), "{error}");
    let levels = format!("{levels},1001");
    assert!(set(&[("connections", &levels)]).unwrap_err().to_string().contains("at most 1000"));
}

#[test]
fn hostile_text_is_refused_without_panic() {
    let deep_list = format!("a = {}", "[".repeat(100_000));
    let deep_table = format!("a = {}", "{a=".repeat(100_000));
    let deep_key = format!("{}=1", vec!["a"; 100_000].join("."));
    let deep_header = format!("[{}]", vec!["engine"; 50_000].join("."));
    let deep_setting = format!("{HEAD}[engine.postgres.{}]\nx=1", vec!["a"; 60].join("."));
    let huge = "#".repeat(2 << 20);
    let many_keys: String = (0..50_000).map(|index| format!("k{index} = 1\n")).collect();
    let long_key = format!("{HEAD}{} = 1\n", "a".repeat(100_000));
    let long_value = format!("{HEAD}key = \"{}\"\n", "é".repeat(100_000));
    let controls = "name = \"a\\u0007\"\n".to_owned();
    let texts = [
        deep_list,
        deep_table,
        deep_key,
        deep_header,
        deep_setting,
        huge,
        many_keys,
        long_key,
        long_value,
        controls,
    ];
    for text in &texts {
        let message = refused(text).to_string();
        assert!(message.len() < 5000, "{} bytes of message for {} bytes of text", message.len(), text.len());
    }
}

#[test]
fn no_damaged_spec_makes_the_reader_panic() {
    let spec = lab::spec::find("populate-batch").unwrap().text;
    let mut random = stats::random::Random::new(5);
    for _ in 0..3000 {
        let mut bytes = spec.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = b"[]{}=\".,'\n#0a\\"[random.below(14) as usize],
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.remove(at)),
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match Experiment::parse("damaged.toml", &text) {
            Err(error) => drop(error.to_string()),
            Ok(experiment) => {
                for scale in experiment.scales() {
                    if let Err(error) = experiment.resolve(&Request::plain(scale, crate::engine("postgres")))
                    {
                        drop(error.to_string());
                    }
                }
            }
        }
    }
}
