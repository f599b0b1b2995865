//! fio 3.33, recorded: `--rw=randread --bs=8k --numjobs=2 --group_reporting`, and `json+` of two clones without it.

use std::io::BufRead;

use import::{ImportError, Observation, Reading};
use results::model::Level;
use serde_json::Value;

const GROUPED: &str = include_str!("recorded/fio-3.33.json");
const CLONES: &str = include_str!("recorded/fio-3.33-plus.json");

fn of(texts: &[&str]) -> Result<Reading, ImportError> {
    let file = |text: &&'static str| ("fio.json".to_owned(), Box::new(text.as_bytes()) as Box<dyn BufRead>);
    let texts: Vec<&'static str> =
        texts.iter().map(|text| &*Box::leak((*text).to_owned().into_boxed_str())).collect();
    import::fio::read(texts.iter().map(file).collect())
}

fn value(run: &Observation, name: &str) -> f64 {
    run.metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn rates_and_percentiles_are_those_that_fio_prints() {
    let printed: Value = serde_json::from_str(GROUPED).unwrap();
    let read = &printed["jobs"][0]["read"];
    let reading = of(&[GROUPED]).unwrap();
    let [run] = reading.observations.as_slice() else { panic!("one job") };
    assert_eq!(reading.tool_version.as_deref(), Some("3.33"));
    assert_eq!(value(run, "raw_iops"), read["iops"].as_f64().unwrap());
    assert_eq!(value(run, "raw_mib_per_s"), read["bw_bytes"].as_f64().unwrap() / f64::from(1 << 20));
    assert_eq!(
        value(run, "raw_latency_ms_p99"),
        read["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap() / 1e6
    );
    assert!((value(run, "raw_latency_ms") - read["lat_ns"]["mean"].as_f64().unwrap() / 1e6).abs() < 1e-9);
    assert_eq!(run.elapsed_ns, Some(read["runtime"].as_u64().unwrap() * 1_000_000));
    let level =
        |name: &str| run.levels.iter().find(|(known, _)| known == name).map(|(_, level)| level.clone());
    assert_eq!((level("bs"), level("numjobs")), (Some(Level::Integer(8192)), Some(Level::Integer(2))));
    assert_eq!(level("rw"), Some(Level::Text("randread".to_owned())));
    assert!(run.doubts.is_empty() && reading.identities[0].contradictions.is_empty());
}

#[test]
fn clones_of_a_job_are_one_run_with_their_sums_and_all_latencies() {
    let printed: Value = serde_json::from_str(CLONES).unwrap();
    let jobs = printed["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2, "without group_reporting each clone is printed");
    let sum = |field: &str| -> f64 {
        jobs.iter()
            .flat_map(|job| ["read", "write"].map(|direction| job[direction][field].as_f64().unwrap()))
            .sum()
    };
    let reading = of(&[CLONES]).unwrap();
    let [run] = reading.observations.as_slice() else { panic!("{} runs", reading.observations.len()) };
    assert!((value(run, "raw_iops") / sum("iops") - 1.0).abs() < 1e-12);
    assert!((value(run, "read_iops") + value(run, "write_iops") - value(run, "raw_iops")).abs() < 1e-6);
    let histogram = &run.clients[0].service_time;
    assert_eq!(histogram.count() as f64, sum("total_ios"), "every I/O is in a bin of json+");
    let slowest = jobs.iter().flat_map(|job| {
        ["read", "write"].map(|direction| job[direction]["clat_ns"]["max"].as_f64().unwrap())
    });
    let slowest = slowest.fold(0.0, f64::max);
    assert!((histogram.max_ns() as f64 / slowest - 1.0).abs() < 0.02, "bins are 1 to 2 % wide");
}

#[test]
fn the_same_job_in_another_file_is_its_repetition() {
    let reading = of(&[GROUPED, GROUPED]).unwrap();
    let matrix = import::study::matrix(reading, &[]).unwrap();
    assert_eq!((matrix.cells.len(), matrix.repetitions), (1, 2));
    let other = GROUPED.replace("\"bs\": \"8k\"", "\"bs\": \"16k\"");
    let matrix = import::study::matrix(of(&[GROUPED, &other]).unwrap(), &[]).unwrap();
    assert_eq!(matrix.factors.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(), ["bs"]);
}

#[test]
fn a_wrong_rate_and_a_failed_job_are_doubted_and_broken_files_are_refused() {
    let printed: Value = serde_json::from_str(GROUPED).unwrap();
    let iops = printed["jobs"][0]["read"]["iops"].to_string();
    let wrong = of(&[&GROUPED.replace(&iops, "99999.5")]).unwrap();
    assert!(
        wrong.observations[0].doubts[0].contains("total I/Os / runtime"),
        "{:?}",
        wrong.observations[0].doubts
    );
    let failed = of(&[&GROUPED.replace("\"error\": 0", "\"error\": 5")]).unwrap();
    assert!(failed.observations[0].doubts[0].contains("error 5"));
    for cut in [10, GROUPED.len() / 2, GROUPED.len() - 3] {
        assert!(of(&[&GROUPED[..cut]]).unwrap_err().reason.contains("truncated"));
    }
    let negative = of(&[&GROUPED.replace(&iops, "-1")]).unwrap_err();
    assert!(negative.reason.contains("-1") && negative.reason.contains("iops"), "{negative}");
    let noise = format!("fio: this is a warning\n{GROUPED}\ntrailing text");
    assert_eq!(of(&[&noise]).unwrap().observations.len(), 1);
}
