//! What runs reached beside what their own devices gave.

use report::summary::CeilingLine;
use results::ceiling::{CeilingPattern, StoredCeiling, SyncCall};
use results::model::Metric;

use crate::made_up::{self, Adding, factor, summarise};

const SLOW: &str = "slow 10 -; ext4 rw";
const FAST: &str = "fast 20 -; ext4 rw";

fn ceiling(role: &str, device: &str, pattern: CeilingPattern, per_s: f64) -> StoredCeiling {
    StoredCeiling {
        role: role.to_owned(),
        device: device.to_owned(),
        pattern,
        per_s,
        latency_ns_mean: 0.0,
        latency_ns_p99: 0,
        measured_unix_s: 0,
        flags: Vec::new(),
    }
}

/// The lines of one run of a second, whose log and data were where `layout` says. Both devices have ceilings.
fn lines(layout: serde_json::Value) -> Vec<CeilingLine> {
    let mut results = made_up::study("placement", vec![factor("batch_size", [1_i64])], 1);
    let appends =
        CeilingPattern::Appends { method: SyncCall::Fdatasync, size_bytes: 8192, fills_first: true };
    let writes = CeilingPattern::Writes { transfer_bytes: 8192, random_percent: 0, outstanding: 16 };
    results.study.fixed.push(("workload".to_owned(), made_up::LevelOf::from("populate").0));
    results.ceilings = vec![
        ceiling("log", SLOW, appends.clone(), 100.0),
        ceiling("log", FAST, appends, 1000.0),
        ceiling("data", SLOW, writes.clone(), 1280.0),
        ceiling("data", FAST, writes, 12_800.0),
    ];
    let mut run = made_up::run(0, 0, 1.0);
    run.environment.layout = layout;
    run.metrics = [
        ("log_flushes", 90.0),
        ("log_bytes", 90.0 * 8192.0),
        ("data_written_bytes", 640.0 * 8192.0),
        ("data_writes", 640.0),
    ]
    .map(|(name, value)| Metric { name: name.to_owned(), value, unit: String::new(), source: String::new() })
    .to_vec();
    results.add(run);
    summarise(&results, &[]).ceilings
}

fn possible(layout: serde_json::Value) -> Vec<(String, f64)> {
    lines(layout).into_iter().map(|line| (line.role, line.possible)).collect()
}

fn role(name: &str, device: &str, size_bytes: u64) -> serde_json::Value {
    serde_json::json!({ "role": name, "storage": {
        "block_devices": [{ "name": device, "size_bytes": size_bytes, "model": null }],
        "mount": { "file_system": "ext4", "super_options": ["rw"] },
    } })
}

#[test]
fn log_and_data_are_compared_with_the_device_that_each_was_on_in_that_cell() {
    let pair = |log: f64, data: f64| vec![("log".to_owned(), log), ("data".to_owned(), data)];
    let (fast, slow) = (|name| role(name, "fast", 20), |name| role(name, "slow", 10));
    assert_eq!(possible(serde_json::json!([fast("data 1"), slow("log")])), pair(100.0, 100.0));
    assert_eq!(possible(serde_json::json!([slow("data 1"), fast("log")])), pair(1000.0, 10.0));
    // Together: the log has no role of its own.
    assert_eq!(possible(serde_json::json!([fast("data 1")])), pair(1000.0, 100.0));
    let elsewhere = serde_json::json!([role("data", "other", 5)]);
    assert_eq!(possible(elsewhere), vec![], "no ceiling of that device was measured");
}

#[test]
fn data_on_several_devices_are_compared_with_the_sum_of_their_ceilings() {
    let lines = lines(serde_json::json!([role("data 1", "fast", 20), role("data 2", "slow", 10)]));
    let data = lines.iter().find(|line| line.role == "data").unwrap();
    assert_eq!((data.achieved, data.possible), (5.0, 110.0));
    assert_eq!(data.flags, ["the ceiling is the sum of 2 devices"]);
    let log = lines.iter().find(|line| line.role == "log").unwrap();
    assert_eq!(log.possible, 1000.0, "the log is with the first data directory");
}
