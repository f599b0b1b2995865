//! One decision about what limits a configuration: every output of a study names the same limit, or none.

use report::html::{Page, page};
use report::outcome::Answer;
use report::summary::StudySummary;
use report::{export, markdown, text};
use results::ceiling::{CeilingPattern, StoredCeiling, SyncCall, devices_of_role};
use results::model::{Level, Metric, RunState};
use results::observations::Limit;
use results::observations::{How, Observations, SamplerRecord, WaitProfile, WaitRow};
use results::store::{CellLatency, StudyResults};

use crate::made_up::{self, Adding, latencies, summarise};

const LIMITS: [Limit; 8] = [
    Limit::Log,
    Limit::DataDevice,
    Limit::Page,
    Limit::Space,
    Limit::Lock,
    Limit::Cpu,
    Limit::Client,
    Limit::Other,
];

/// What a case is made of.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Class and name of the wait with `wait_s` of 20 s of session time; `None`: nothing recorded waits.
    wait: Option<(&'static str, &'static str)>,
    wait_s: f64,
    idle_s: f64,
    /// Seconds of CPU of other processes; 20 s is all of the machine.
    other_cpu_s: f64,
    /// Share of the log device's ceiling that the run reached, in percent.
    log_ceiling_percent: Option<f64>,
    rate_per_s: Option<f64>,
    unserved: u64,
}

/// A study of one configuration: ten seconds of two sessions on two CPUs, 2000 transactions.
fn study(case: Case) -> StudyResults {
    let mut results = made_up::study("limits", Vec::new(), 1);
    results.study.engine = "postgres".to_owned();
    let mut run = made_up::run(0, 0, 10.0);
    run.environment.machine = serde_json::json!({"processors": {"online": [0, 1]}});
    run.metrics.clear();
    for (name, value) in [
        ("fathom_cpu_s", 0.5),
        ("server_cpu_s", 0.5),
        ("other_cpu_s", case.other_cpu_s),
        ("log_flushes", 1000.0),
        ("log_bytes", 8_192_000.0),
        ("device_busy_s.vda", 9.5),
    ] {
        let (name, unit, source) = (name.to_owned(), String::new(), "made up".to_owned());
        run.metrics.push(Metric { name, value, unit, source });
    }
    run.observations = observations(case);
    for client in &mut run.clients {
        (client.transactions, client.arrivals_unserved) = (1000, case.unserved / 2);
    }
    run.state = RunState::Valid;
    results.add(run);
    if let Some(rate_per_s) = case.rate_per_s {
        results.study.fixed.push(("rate".to_owned(), Level::Float(rate_per_s)));
        results.latencies.push(CellLatency {
            cell_index: 0,
            service_time: latencies([3; 2000]),
            response_time: Some(latencies([4; 2000])),
        });
    }
    let device = devices_of_role(&results.runs[0].run, "log").pop_first().unwrap();
    results.ceilings.extend(case.log_ceiling_percent.map(|percent| ceiling(percent, device)));
    results
}

/// Durable appends of which the run's 100 per second are so many percent.
fn ceiling(percent: f64, device: String) -> StoredCeiling {
    StoredCeiling {
        role: "log".to_owned(),
        device,
        pattern: CeilingPattern::Appends { method: SyncCall::Fdatasync, size_bytes: 8192, fills_first: true },
        per_s: 100.0 / (percent / 100.0),
        latency_ns_mean: 0.0,
        latency_ns_p99: 0,
        measured_unix_s: 0,
        flags: Vec::new(),
    }
}

fn observations(case: Case) -> Observations {
    let mut observations = Observations::default();
    if let Some((class, name)) = case.wait {
        let row = |class: &str, name: &str, wait_s: f64, is_idle: bool| WaitRow {
            class: class.to_owned(),
            name: name.to_owned(),
            is_idle,
            wait_s,
            resource_s: Some(wait_s),
            signal_s: Some(0.0),
            count: None,
            how: How::Sampled { period_ns: 10_000_000 },
        };
        let rows = vec![row(class, name, case.wait_s, false), row("Client", "ClientRead", case.idle_s, true)];
        let profile = WaitProfile {
            group: "clients".to_owned(),
            session_count: 2,
            session_s: 20.0,
            on_cpu_s: Some(0.5),
            run_delay_s: Some(0.5),
            rows,
        };
        observations.waits.push(profile);
    } else {
        observations.samplers.push(SamplerRecord {
            name: "machine".to_owned(),
            period_ns: 1_000_000_000,
            samples_expected: 10,
            samples_taken: 10,
            cpu_s: 0.0,
            problem: None,
        });
    }
    observations
}

fn cases() -> Vec<Case> {
    let waits = [
        None,
        Some(("IO", "WalSync")),
        Some(("IO", "DataFileRead")),
        Some(("Lock", "transactionid")),
        Some(("LWLock", "BufferContent")),
        Some(("Strange", "Thing")),
    ];
    let mut cases = Vec::new();
    for wait in waits {
        for (wait_s, idle_s) in [(18.0, 1.0), (5.0, 1.0), (4.0, 15.0)] {
            for other_cpu_s in [0.5, 19.0] {
                for log_ceiling_percent in [None, Some(93.0)] {
                    for (rate_per_s, unserved) in [(None, 0), (Some(200.0), 0), (Some(2000.0), 18_000)] {
                        cases.push(Case {
                            wait,
                            wait_s,
                            idle_s,
                            other_cpu_s,
                            log_ceiling_percent,
                            rate_per_s,
                            unserved,
                        });
                    }
                }
            }
        }
    }
    cases
}

/// Limits that a text names, in any of the ways in which fathom names one.
fn named(text: &str) -> Vec<Limit> {
    // Lines of a terminal are wrapped, lines of a list are separate elements.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace("The limit", "the limit");
    let by_words = LIMITS.into_iter().filter(|limit| {
        text.contains(&format!("the limit is {}", limit.words()))
            || text.contains(&format!("limit: {}", limit.words()))
    });
    let devices =
        [("the log device is the limit", Limit::Log), ("the data device is the limit", Limit::DataDevice)];
    let by_device = devices.into_iter().filter(|(words, _)| text.contains(words)).map(|(_, limit)| limit);
    by_words.chain(by_device).collect()
}

fn outputs(results: &StudyResults, summary: &StudySummary) -> [(&'static str, String); 4] {
    let page = page(&Page {
        summary,
        results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    });
    // Definitions say what a limit is; they name none of this study.
    let page = page.split("<section id=\"definitions\">").next().unwrap().to_owned();
    [
        ("text", text::study(summary)),
        ("markdown", markdown::study(summary)),
        ("page", page),
        ("json", export::summary_json(summary).to_string()),
    ]
}

#[test]
fn text_page_and_json_name_the_same_limit() {
    for case in cases() {
        let results = study(case);
        let summary = summarise(&results, &[]);
        let decided = summary.reasons.first().and_then(|reason| reason.limit);
        for (name, output) in outputs(&results, &summary) {
            for limit in named(&output) {
                assert_eq!(Some(limit), decided, "{name} of {case:?}:\n{}", summary.reasons[0].paragraph());
            }
        }
        let text = text::study(&summary);
        assert_eq!(named(&text).is_empty(), decided.is_none(), "{case:?}: {text}");
        for line in &summary.ceilings {
            let is_limit = line.limit.is_some();
            assert!(!is_limit || line.limit == decided, "{case:?}: {}", line.sentence);
        }
    }
}

#[test]
fn idle_sessions_of_a_served_rate_have_no_limit() {
    let case = Case {
        wait: Some(("IO", "WalSync")),
        wait_s: 4.0,
        idle_s: 15.0,
        other_cpu_s: 19.0,
        log_ceiling_percent: None,
        rate_per_s: Some(200.0),
        unserved: 0,
    };
    let summary = summarise(&study(case), &[]);
    let reason = &summary.reasons[0];
    assert_eq!(reason.limit, None);
    assert_eq!(
        reason.sentences[0],
        "the offered rate was reached, so no limit applies: 200.0 transactions/s offered, 200.0 achieved; starts \
         were 1.00 ms late on average, a backlog of 0.2 transactions."
    );
    let answer = Answer::of(&summary).limit;
    assert!(answer.starts_with("Limit of all: offered rate reached, no limit; "), "{answer}");
    let offered = reason.offered_rate.unwrap();
    assert!(offered.is_served);
    assert_eq!((offered.offered_per_s, offered.achieved_per_s), (200.0, 200.0));
}

#[test]
fn a_rate_that_was_not_served_says_so_before_its_limit() {
    let case = Case {
        wait: Some(("IO", "WalSync")),
        wait_s: 18.0,
        idle_s: 1.0,
        other_cpu_s: 0.5,
        log_ceiling_percent: None,
        rate_per_s: Some(2000.0),
        unserved: 18_000,
    };
    let summary = summarise(&study(case), &[]);
    let reason = &summary.reasons[0];
    assert_eq!(reason.limit, Some(Limit::Log));
    assert_eq!(
        reason.sentences[0],
        "the offered rate was not reached: 2000.0 transactions/s offered, 200.0 achieved (10.0 %); 18000 transactions \
         were not started by the end; starts were 1.00 ms late on average, a backlog of 2.0 transactions."
    );
    assert!(reason.sentences[1].starts_with("The limit is the log, "), "{:?}", reason.sentences);
}

#[test]
fn runs_without_waits_do_not_name_the_cpus_because_others_use_them() {
    let case = Case {
        wait: None,
        wait_s: 0.0,
        idle_s: 0.0,
        other_cpu_s: 19.0,
        log_ceiling_percent: None,
        rate_per_s: None,
        unserved: 0,
    };
    let summary = summarise(&study(case), &[]);
    let reason = &summary.reasons[0];
    assert_eq!(reason.limit, None);
    assert_eq!(
        reason.sentences[0],
        "not explained: no wait was recorded. The run's own processes used 0.10 CPUs; device vda was busy for 95.0 % \
         of the time; 1.90 of 2 CPUs were used by other processes."
    );
}

#[test]
fn without_waits_a_device_at_its_measured_maximum_is_the_limit() {
    let case = Case {
        wait: None,
        wait_s: 0.0,
        idle_s: 0.0,
        other_cpu_s: 0.5,
        log_ceiling_percent: Some(93.0),
        rate_per_s: None,
        unserved: 0,
    };
    let summary = summarise(&study(case), &[]);
    assert_eq!(summary.reasons[0].limit, Some(Limit::Log));
    assert!(Answer::of(&summary).limit.starts_with("Limit of all: the log; "));
    assert!(summary.ceilings[0].sentence.ends_with("(93 %): the log device is the limit"));
}

#[test]
fn a_device_near_its_maximum_is_not_called_the_limit_against_the_waits() {
    let case = Case {
        wait: Some(("Lock", "transactionid")),
        wait_s: 18.0,
        idle_s: 1.0,
        other_cpu_s: 0.5,
        log_ceiling_percent: Some(93.0),
        rate_per_s: None,
        unserved: 0,
    };
    let summary = summarise(&study(case), &[]);
    assert_eq!(summary.reasons[0].limit, Some(Limit::Lock));
    let sentence = &summary.ceilings[0].sentence;
    assert!(
        sentence.ends_with("(93 %): the log device is near its maximum, and sessions wait for a lock"),
        "{sentence}"
    );
}
