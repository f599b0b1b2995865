//! What a spec and a command line become on an engine.

use std::path::PathBuf;
use std::time::Duration;

use lab::assignment::Assignment;
use lab::engine::Layout;
use lab::schedule::{Decision, RepeatUntil, Schedule};
use lab::spec::{Experiment, Request, Resolved};
use lab::work::{Amount, Durability, KeyOrder, LoopSide, Placement, WarmUp, Work, Workload};
use results::model::{Level, Scale};

const SPEC: &str = r#"# Question: does it add up?
# Values: made up.
name = "sums"
title = "Sums"
question = "Does it add up?"
repetitions = 3
[factors]
connections = [1, 4]
batch_size = [1, 10, 100]
[parameters]
workload = "populate"
rows_total = 8000
[engine.postgres]
shared_buffers = "64MB"
[engine.sqlite]
page_size = 4096
[validity]
attempts = 5
[[expect]]
claim = "batching helps"
check = 'elapsed_s[batch_size=10] < elapsed_s[batch_size=1]'
[[expect]]
claim = "only at full scale"
scope = "full"
[miniature]
repetitions = 5
[miniature.factors]
batch_size = [1, 10]
[miniature.parameters]
duration = "2s"
connections = 2
[miniature.validity]
start_skew = "10%"
"#;

#[test]
fn a_list_among_the_settings_of_an_engine_is_a_factor_there_and_nowhere_else() {
    let text = SPEC.replace("page_size = 4096", "page_size = [4096, 8192]").replace(
        "[miniature.validity]",
        "[miniature.engine.sqlite]\ncache_size = [10, 20]\n[miniature.validity]",
    ) + "[[expect]]\nclaim = \"small\"\ncheck = 'rows_per_s[sqlite.cache_size=10] > 0'\nscope = \"miniature\"\n";
    // A table after the miniature's would be one of the miniature.
    let (before, claim) = text.split_at(text.rfind("[[expect]]").unwrap());
    let text = before.replacen("[miniature]", &format!("{claim}[miniature]"), 1);
    let names = |scale, engine| -> Vec<String> {
        let resolved = resolve(&text, &Request::plain(scale, crate::engine(engine)));
        resolved.factors.iter().map(|factor| factor.name.clone()).collect()
    };
    assert_eq!(names(Scale::Full, "sqlite"), ["connections", "batch_size", "sqlite.page_size"]);
    assert_eq!(names(Scale::Full, "postgres"), ["connections", "batch_size"]);
    assert_eq!(names(Scale::Miniature, "sqlite"), ["batch_size", "sqlite.cache_size"]);
    assert_eq!(names(Scale::Miniature, "postgres"), ["batch_size"]);
    let claim = |engine| {
        let resolved = resolve(&text, &Request::plain(Scale::Miniature, crate::engine(engine)));
        resolved.expectations.last().unwrap().check.clone()
    };
    assert!(claim("sqlite").is_some() && claim("postgres").is_none());
    let written = resolve(&text, &Request::plain(Scale::Full, crate::engine("sqlite"))).spec_toml;
    let again = resolve(&written, &Request::plain(Scale::Full, crate::engine("sqlite")));
    assert_eq!(again.factors.last().unwrap().levels, [Level::Integer(4096), Level::Integer(8192)]);
}

#[test]
fn samplers_of_a_spec_stand_in_the_record_and_make_no_other_study() {
    let text = format!("samplers = [\"meter --every 1\"]\n{SPEC}");
    let experiment = Experiment::parse("sums.toml", &text).unwrap();
    assert_eq!(experiment.samplers[0].program(), "meter");
    let request = Request::plain(Scale::Full, crate::engine("sqlite"));
    let (with, without) = (experiment.resolve(&request).unwrap(), resolve(SPEC, &request));
    assert!(with.spec_toml.contains("samplers = [\"meter --every 1\"]\n"), "{}", with.spec_toml);
    assert_eq!(with.commands[0].to_string(), "samplers: meter --every 1");
    assert!(without.commands.is_empty());
    let key = |resolved: Resolved| Assignment::new(resolved, vec!["sqlite".to_owned()], "", 1).key();
    assert_eq!(key(with), key(without));
}

#[test]
fn a_server_that_is_not_ours_is_not_asked_for_a_directory() {
    let overrides = vec![("placement".to_owned(), "together,log-apart".to_owned())];
    let request = Request {
        overrides,
        server_is_foreign: true,
        ..Request::plain(Scale::Full, crate::engine("postgres"))
    };
    let error = Experiment::parse("sums.toml", SPEC).unwrap().resolve(&request).unwrap_err().to_string();
    assert!(error.contains("cannot be chosen on a server that is not ours"), "{error}");
}

fn resolve(text: &str, request: &Request) -> Resolved {
    Experiment::parse("sums.toml", text).unwrap().resolve(request).unwrap()
}

fn set(scale: Scale, engine: &str, overrides: &[(&str, &str)]) -> Resolved {
    let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    resolve(SPEC, &Request { overrides, ..Request::plain(scale, crate::engine(engine)) })
}

fn fixed<'a>(resolved: &'a Resolved, name: &str) -> Option<&'a Level> {
    resolved.fixed.iter().find(|(fixed, _)| fixed == name).map(|(_, level)| level)
}

#[test]
fn two_factors_give_the_product_of_their_levels_the_last_fastest() {
    let resolved = set(Scale::Full, "postgres", &[]);
    let labels: Vec<String> = resolved.cells().iter().map(|cell| cell.label()).collect();
    assert_eq!(
        labels,
        [
            "connections=1 batch_size=1",
            "connections=1 batch_size=10",
            "connections=1 batch_size=100",
            "connections=4 batch_size=1",
            "connections=4 batch_size=10",
            "connections=4 batch_size=100",
        ]
    );
    assert!(resolved.cells().iter().zip(0..).all(|(cell, index)| cell.index == index));
    assert_eq!(resolved.repetitions * resolved.cells().len() as u32, 18);
}

#[test]
fn each_cell_works_with_its_own_levels_and_the_seed_of_the_run() {
    let resolved = set(Scale::Full, "postgres", &[]);
    let cells = resolved.cells();
    let work = resolved.work(&cells[5], 77);
    assert_eq!((work.connections, work.batch_size, work.seed), (4, 100, 77));
    assert_eq!(work.amount, Amount::Rows(8000));
    assert_eq!(work.settings.get("shared_buffers").map(String::as_str), Some("64MB"));
}

#[test]
fn settings_of_another_engine_are_ignored() {
    let resolved = set(Scale::Full, "sqlite", &[]);
    assert_eq!(fixed(&resolved, "sqlite.page_size"), Some(&Level::Integer(4096)));
    assert_eq!(fixed(&resolved, "postgres.shared_buffers"), None);
    let work = resolved.work(&resolved.cells()[0], 0);
    assert_eq!(work.settings.into_iter().collect::<Vec<_>>(), [("page_size".to_owned(), "4096".to_owned())]);
}

#[test]
fn the_miniature_replaces_factors_and_overrides_parameters() {
    let resolved = set(Scale::Miniature, "postgres", &[]);
    assert_eq!(resolved.cells().len(), 2);
    assert_eq!(resolved.repetitions, 5);
    let work = resolved.work(&resolved.cells()[0], 0);
    assert_eq!(work.connections, 2);
    assert_eq!(work.amount, Amount::Time(Duration::from_secs(2)), "duration takes the place of rows_total");
    assert_eq!(resolved.validity.attempts, 5, "rules of the full scale hold where the miniature is silent");
    assert_eq!(resolved.validity.start_skew_fraction, 0.1);
    assert_eq!(resolved.expectations.len(), 1);
}

#[test]
fn several_values_make_a_factor_and_one_value_fixes_it() {
    let resolved = set(
        Scale::Full,
        "postgres",
        &[("connections", "8"), ("durability", "full,none"), ("batch", "1, 1_0")],
    );
    let names: Vec<&str> = resolved.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["batch_size", "durability"], "a factor keeps its place, a new one comes last");
    assert_eq!(fixed(&resolved, "connections"), Some(&Level::Integer(8)));
    assert_eq!(resolved.factors[0].levels, [Level::Integer(1), Level::Integer(10)]);
    assert_eq!(resolved.cells().len(), 4);
}

#[test]
fn a_set_takes_the_place_of_its_rival() {
    let plain = set(Scale::Full, "postgres", &[("duration", "1,2"), ("connections", "2")]);
    let resolved = set(Scale::Full, "postgres", &[("duration", "1s,2s"), ("connections", "2")]);
    assert_eq!(format!("{plain:?}"), format!("{resolved:?}"), "a number alone counts seconds, as in pgbench");
    assert_eq!(fixed(&resolved, "rows_total"), None);
    assert_eq!(resolved.work(&resolved.cells()[0], 0).amount, Amount::Time(Duration::from_secs(1)));
}

#[test]
fn settings_of_the_engine_may_vary_and_may_hold_commas_in_quotes() {
    let resolved = set(
        Scale::Full,
        "postgres",
        &[
            ("postgres.shared_buffers", "16MB,64MB"),
            ("postgres.shared_preload_libraries", "\"a,b\""),
            ("postgres.fsync", "false"),
        ],
    );
    let work = resolved.work(&resolved.cells()[1], 0);
    assert_eq!(work.settings["shared_buffers"], "64MB");
    assert_eq!(work.settings["shared_preload_libraries"], "a,b");
    assert_eq!(work.settings["fsync"], "false");
}

#[test]
fn settings_may_be_written_in_three_ways() {
    let ways = [
        "[engine.postgres]\nauto_explain.log_timing = true\n",
        "[parameters.postgres]\nauto_explain = { log_timing = true }\n",
        "[parameters]\n\"postgres.auto_explain.log_timing\" = true\n",
    ];
    for way in ways {
        let text = SPEC.replace("[engine.postgres]\nshared_buffers = \"64MB\"\n", "");
        let text = if way.starts_with("[parameters]") {
            text.replace("[parameters]\n", way)
        } else {
            text.replace("[engine.sqlite]\n", &format!("{way}[engine.sqlite]\n"))
        };
        let resolved = resolve(&text, &Request::plain(Scale::Full, crate::engine("postgres")));
        assert_eq!(
            fixed(&resolved, "postgres.auto_explain.log_timing"),
            Some(&Level::Boolean(true)),
            "{way}"
        );
    }
}

#[test]
fn a_check_without_its_levels_stays_as_words() {
    let resolved = set(Scale::Full, "postgres", &[("batch_size", "1,100")]);
    assert_eq!(resolved.expectations[0].claim, "batching helps");
    assert_eq!(resolved.expectations[0].check, None);
    assert!(set(Scale::Full, "postgres", &[("batch_size", "1,10")]).expectations[0].check.is_some());
}

#[test]
fn every_field_of_work_is_reached_from_a_spec() {
    let text = r#"
name = "all"
title = "All"
question = "All?"
[parameters]
workload = "random-insert"
loop = "client"
duration = "90s"
warm_up = "5s"
connections = 8
jobs = 2
batch_size = 7
key = "sequential"
secondary_indexes = 3
data_files = 4
durability = "relaxed"
rate = 250
placement = "log-apart"
buffer_pool_mib = 16
log_size_mib = 32
label = "b"
[engine.postgres]
work_mem = 4096
[layout]
data = ["/d1", "/d2"]
log = "/log"
"#;
    let resolved = resolve(text, &Request::plain(Scale::Full, crate::engine("postgres")));
    let expected = Work {
        workload: Workload::RandomInsert,
        loop_side: LoopSide::Client,
        amount: Amount::Time(Duration::from_secs(90)),
        warm_up: WarmUp::Time(Duration::from_secs(5)),
        connections: 8,
        jobs: Some(2),
        batch_size: 7,
        key: KeyOrder::Sequential,
        secondary_indexes: 3,
        data_files: 4,
        durability: Durability::Relaxed,
        rate_per_s: Some(250.0),
        placement: Placement::LogApart,
        buffer_pool_mib: Some(16),
        log_size_mib: Some(32),
        manual_checkpoint_every: None,
        settings: [("work_mem".to_owned(), "4096".to_owned())].into(),
        subject: lab::work::SubjectParameters::default(),
        own: None,
        label: "b".to_owned(),
        seed: 9,
    };
    assert_eq!(resolved.cells()[0].label(), "all");
    assert_eq!(resolved.work(&resolved.cells()[0], 9), expected);
    let rows = text
        .replace("warm_up = \"5s\"", "warm_up_rows = 50")
        .replace("duration = \"90s\"", "rows_total = 99");
    let work = resolve(&rows, &Request::plain(Scale::Full, crate::engine("postgres")));
    let work = work.work(&work.cells()[0], 9);
    assert_eq!((work.amount, work.warm_up), (Amount::Rows(99), WarmUp::Rows(50)));
}

#[test]
fn the_order_of_keys_follows_the_workload_and_is_written_down() {
    let key = |workload: &str| {
        let resolved = resolve(
            &SPEC.replace("\"populate\"", workload),
            &Request::plain(Scale::Full, crate::engine("sqlite")),
        );
        (resolved.work(&resolved.cells()[0], 0).key, fixed(&resolved, "key").cloned())
    };
    assert_eq!(key("\"populate\""), (KeyOrder::Sequential, Some(Level::Text("sequential".to_owned()))));
    assert_eq!(key("\"random-insert\""), (KeyOrder::Random, Some(Level::Text("random".to_owned()))));
    let both = set(Scale::Full, "sqlite", &[("workload", "populate,random-insert")]);
    assert_eq!(fixed(&both, "key"), None, "with both workloads no single word is right");
    assert_eq!(both.work(&both.cells()[1], 0).key, KeyOrder::Random);
}

#[test]
fn defaults_are_written_down_and_what_is_not_set_is_left_out() {
    let resolved = set(Scale::Full, "sqlite", &[]);
    assert_eq!(fixed(&resolved, "durability"), Some(&Level::Text("full".to_owned())));
    assert_eq!(fixed(&resolved, "data_files"), Some(&Level::Integer(1)));
    for name in ["rate", "jobs", "buffer_pool_mib", "warm_up", "duration"] {
        assert_eq!(fixed(&resolved, name), None, "{name}");
    }
}

#[test]
fn the_layout_of_the_command_line_takes_the_place_of_the_spec() {
    let text = format!("{SPEC}[layout]\ndata = [\"/spec 1\", \"/spec\\\"2\"]\nlog = \"/spec-log\"\n");
    let mut request = Request::plain(Scale::Full, crate::engine("postgres"));
    assert_eq!(resolve(&text, &request).layout.data, [PathBuf::from("/spec 1"), PathBuf::from("/spec\"2")]);
    request.layout = Layout { data: vec![PathBuf::from("/mine")], log: None };
    let resolved = resolve(&text, &request);
    assert_eq!(resolved.layout, Layout { data: vec!["/mine".into()], log: Some("/spec-log".into()) });
}

#[test]
fn sizes_that_a_spec_fixes_are_left_to_a_foreign_server_unless_they_are_asked_for() {
    let experiment =
        Experiment::parse("populate-batch", lab::spec::find("populate-batch").unwrap().text).unwrap();
    let ours = Request::plain(Scale::Miniature, crate::engine("postgres"));
    let foreign = Request { server_is_foreign: true, ..ours.clone() };
    let work = |request: &Request| {
        let resolved = experiment.resolve(request).unwrap();
        (resolved.work(&resolved.cells()[0], 0).log_size_mib, resolved.left_to_server)
    };
    assert_eq!(work(&ours), (Some(64), Vec::new()));
    assert_eq!(work(&foreign), (None, vec![("log_size_mib".to_owned(), Level::Integer(64))]));
    let asked = Request { overrides: vec![("log_size_mib".to_owned(), "32".to_owned())], ..foreign.clone() };
    assert_eq!(work(&asked), (Some(32), Vec::new()));
    let sizing = Experiment::parse("log-sizing", lab::spec::find("log-sizing").unwrap().text).unwrap();
    let resolved = sizing.resolve(&foreign).unwrap();
    assert!(resolved.left_to_server.is_empty());
    assert_eq!(resolved.work(&resolved.cells()[0], 0).log_size_mib, Some(32), "a factor stays a factor");
}

#[test]
fn the_canonical_text_keeps_overrides_layout_rules_and_claims() {
    let request = Request {
        overrides: vec![
            ("rate".to_owned(), "10,20.5".to_owned()),
            ("label".to_owned(), "\"a \\ 'b' ünï\"".to_owned()),
            ("connections".to_owned(), "2".to_owned()),
            ("sqlite.cache_size".to_owned(), "-2000,1.5,word,true".to_owned()),
        ],
        repetitions: Some(4),
        repeat_until: Some(RepeatUntil {
            half_width_percent: Some(1.25),
            decision: Some(Decision { margin: Some(0.075) }),
            blocks_max: 12,
        }),
        layout: Layout { data: vec!["/a \"b\"".into()], log: None },
        ..Request::plain(Scale::Miniature, crate::engine("sqlite"))
    };
    let first = resolve(SPEC, &request);
    let again = Experiment::parse("again", &first.spec_toml).unwrap();
    let again = again.resolve(&Request::plain(Scale::Miniature, crate::engine("sqlite"))).unwrap();
    assert_eq!(again, first, "{}", first.spec_toml);
    assert_eq!(again.spec_toml, first.spec_toml);
}

#[test]
fn the_same_spec_and_seed_give_the_same_plan() {
    let order = |seed| {
        let resolved = set(Scale::Full, "postgres", &[]);
        let schedule = Schedule::new(resolved.cells().len() as u32, seed);
        (0..resolved.repetitions).map(|block_index| schedule.block(block_index)).collect::<Vec<_>>()
    };
    assert_eq!(order(5), order(5));
    assert_ne!(order(5), order(6));
}

#[test]
fn the_comment_at_the_top_is_kept_for_people() {
    let experiment = Experiment::parse("sums.toml", SPEC).unwrap();
    assert_eq!(experiment.comment, "Question: does it add up?\nValues: made up.");
    assert_eq!(experiment.factors(Scale::Miniature).len(), 1);
}
