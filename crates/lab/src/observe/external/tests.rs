//! A sampler of the user: its lines, its clock, its end.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn columns_become_series_on_the_clock_of_the_run() {
    let text = "host,Time,\"supply, main (W)\",note\n\
                a,1000.5,12.5,x\n\
                a,1970-01-01T00:16:41.5Z,,x\n\
                a,1002.5,\"13\",x\n\
                a,1999,99,x\n\
                a,10";
    let table = read_table(&lines(text)).unwrap();
    let series = table.series(1000.0, 5_000_000_000, "command \"meter\"");
    assert_eq!(series.len(), 1, "columns without numbers make no series: {series:?}");
    assert_eq!((series[0].name.as_str(), series[0].unit.as_str()), ("external.supply, main", "W"));
    assert_eq!(series[0].at_ns, [500_000_000, 1_500_000_000, 2_500_000_000]);
    assert_eq!(series[0].values, [Some(12.5), None, Some(13.0)]);
    assert_eq!(period_ns(&series[0].at_ns), Some(1_000_000_000));
}

#[test]
fn what_is_no_table_is_refused_with_the_reason() {
    let reason = |text: &str| read_table(&lines(text)).unwrap_err();
    assert_eq!(reason(""), "it printed nothing");
    assert_eq!(reason("watts\n3\n"), "its first line \"watts\" does not name a time and a value");
    assert_eq!(reason("time,watts\nnoon,3\n"), "no line has a time in its column \"time\": \"noon,3\"");
    assert!(read_table(&lines("time,watts\n")).unwrap().times_s.is_empty());
    assert!(read_table(&lines("\"time,\u{0}\n,,,,\"\"\"\n")).is_err());
}

fn run(command: &str, until: impl Fn() -> bool) -> Observations {
    let sampler = ExternalSampler::new(ExternalCommand::parse(command).unwrap());
    let running = Box::new(sampler).start();
    let began = Instant::now();
    while !until() {
        std::thread::yield_now();
    }
    running.stop(Window { began, ended: Instant::now() })
}

#[test]
fn a_command_that_runs_until_it_is_ended_is_aligned_and_has_no_problem() {
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("mark");
    let command = format!(
        "echo time,load; while :; do \
         [ -e {0} ] && echo $(date +%s.%N),7 && touch {0}2; sleep 0.01; done",
        mark.display()
    );
    let released = std::cell::Cell::new(false);
    let seen = run(&command, || {
        // A line is printed only after the barrier, and only then does the run end.
        if !released.replace(true) {
            std::fs::write(&mark, "").unwrap();
        }
        place.path().join("mark2").exists()
    });
    assert_eq!(seen.samplers[0].problem, None);
    assert_eq!(seen.series[0].name, "external.load");
    assert!(seen.series[0].values.iter().all(|value| *value == Some(7.0)));
}

#[test]
fn a_command_that_fails_is_named_with_its_last_word() {
    let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
    let mut child = child;
    child.wait().unwrap();
    let reason = failure(Some(end(child)), Some("one\ncannot open meter\n\n")).unwrap();
    assert_eq!(reason, "it ended before the run did, with exit status: 3: cannot open meter");
    assert_eq!(failure(None, None).unwrap(), "it could not be started");
    assert_eq!(failure(Some(None), Some("a warning")), None);
}

#[test]
fn an_empty_command_is_refused_and_only_the_program_is_shown() {
    assert!(ExternalCommand::parse("  ").is_err());
    assert_eq!(ExternalCommand::parse(" meter --password x ").unwrap().program(), "meter");
}
