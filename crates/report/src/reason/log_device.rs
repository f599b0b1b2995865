//! Does what the log says it wrote agree with what its device says it wrote?
//!
//! Only where the log has a device of its own: on a shared one nobody knows whose bytes they are.

use super::checks::{Check, counted};
use super::evidence::Evidence;
use super::log_place::LogPlace;

/// What one flush adds to the bytes of the log at most: the page in which the flush before it ended, written again, and
/// the rest of its last page. Pages of PostgreSQL's log have 8 KiB.
const FLUSH_ADDS_BYTES: f64 = 2.0 * 8192.0;

/// Share by which the two may differ: they are read one after the other, and the file system writes of its own.
const TOLERANCE: f64 = 0.1;

/// The claim with its figures; `Err` says why it cannot be made. `None` where the engine does not tell the bytes of its
/// log, or did not flush it.
pub(super) fn bytes(evidence: &Evidence) -> Option<Result<Check, String>> {
    let log_bytes = evidence.mean("log_bytes").filter(|bytes| *bytes > 0.0)?;
    let flushes = evidence.mean("log_flushes").filter(|count| *count > 0.0)?;
    let written = |device: &str| evidence.mean(&format!("device_write_bytes.{device}"));
    let not_shown = |reason: String| {
        Some(Err(format!("whether the device wrote the {} of log, because {reason}", megabytes(log_bytes))))
    };
    let device = match &evidence.log_place {
        LogPlace::Own(device) => device,
        LogPlace::Unknown => return not_shown("the log device is unknown".to_owned()),
        LogPlace::Shared(device) => {
            let all =
                written(device).map_or(String::new(), |bytes| format!(", which wrote {}", megabytes(bytes)));
            return not_shown(format!("log and data share device {device}{all}"));
        }
    };
    let Some(device_bytes) = written(device) else {
        return not_shown(format!("device {device} does not count what it writes"));
    };
    let at_most_bytes = log_bytes + flushes * FLUSH_ADDS_BYTES;
    let agrees =
        device_bytes >= (1.0 - TOLERANCE) * log_bytes && device_bytes <= (1.0 + TOLERANCE) * at_most_bytes;
    let text = format!(
        "the log's own device {device} wrote {}, the log {}, or up to {} with whole pages for {}",
        megabytes(device_bytes),
        megabytes(log_bytes),
        megabytes(at_most_bytes),
        counted(flushes, "flush", "flushes")
    );
    Some(Ok(Check { agrees, text }))
}

fn megabytes(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use results::model::Warning;

    use super::super::log_place::SHARED;
    use super::super::made_up::MadeUp;

    fn role(name: &str, device: &str) -> serde_json::Value {
        serde_json::json!({ "role": name, "storage": { "block_devices": [{ "name": device }] } })
    }

    /// 2,000 flushes of 10 MB of log, and what the devices wrote.
    fn said(roles: &[serde_json::Value], written: &[(&'static str, f64)], warnings: Vec<Warning>) -> String {
        let figures = [("log_flushes", 2000.0), ("log_flush_s", 8.0), ("log_bytes", 10e6)];
        let mut run =
            MadeUp::postgres(vec![("IO", "WalSync", false, 32.0, 0.0)]).with(&figures).with(written).run();
        run.environment.layout = serde_json::Value::Array(roles.to_vec());
        run.warnings = warnings;
        super::super::cells(
            &super::super::made_up::study("postgres", vec![run]),
            &super::super::made_up::catalogue(),
        )
        .remove(0)
        .paragraph()
    }

    #[test]
    fn bytes_of_the_log_and_of_its_own_device_agree_or_do_not() {
        let apart = [role("data 1", "vda"), role("log", "vdb")];
        for (bytes, word) in [(10e6, "Agrees"), (30e6, "Agrees"), (8e6, "Disagrees"), (60e6, "Disagrees")] {
            let text = said(&apart, &[("device_write_bytes.vdb", bytes)], Vec::new());
            let claim = format!(
                "the log's own device vdb wrote {:.2} MB, the log 10.00 MB, or up to 42.77 MB with whole pages for 2000 flushes",
                bytes / 1e6
            );
            let (_, after) = text.split_once(word).unwrap_or_else(|| panic!("no {word} in: {text}"));
            assert!(after.contains(&claim), "{bytes}: {text}");
            assert_eq!(text.contains("Disagrees"), word == "Disagrees", "{text}");
        }
    }

    #[test]
    fn on_a_shared_or_unknown_device_nothing_is_claimed_and_that_is_said() {
        let written = [("device_write_bytes.vda", 25e6)];
        let shared = "Not tested: whether the device wrote the 10.00 MB of log, because log and data share device vda, which wrote 25.00 MB.";
        for roles in [vec![role("data 1", "vda")], vec![role("data 1", "vda"), role("log", "vda")]] {
            let text = said(&roles, &written, Vec::new());
            assert!(text.contains(shared), "{text}");
        }
        // Two partitions of one disk have two names.
        let below = Warning {
            code: SHARED.to_owned(),
            text: "data 1 and log share device vda: their I/O competes".to_owned(),
        };
        let text = said(&[role("data 1", "vda1"), role("log", "vda2")], &[], vec![below]);
        assert!(text.contains("because log and data share device vda2."), "{text}");
        let memory = serde_json::json!({ "role": "log", "storage": { "block_devices": [] } });
        for roles in [Vec::new(), vec![role("data 1", "vda"), memory]] {
            let text = said(&roles, &written, Vec::new());
            assert!(text.contains("because the log device is unknown."), "{text}");
        }
    }
}
