//! Metrics of what a run left and of its clients.

use results::model::Metric;

use crate::client::Dispatch;
use crate::engine::PostRunState;

/// What the engine counted after the run.
pub(super) fn post_run_metrics(post_run_state: &Result<PostRunState, String>) -> Vec<Metric> {
    let Ok(post_run_state) = post_run_state else { return Vec::new() };
    let mut metrics = Vec::new();
    let mut add = |name: &str, value: Option<u64>, unit: &str| {
        if let Some(value) = value {
            metrics.push(Metric::new(name, value as f64, unit, "counted by the engine after the run"));
        }
    };
    add("table_rows", post_run_state.rows, "1");
    add("table_pages", post_run_state.table_pages, "1");
    add("database_bytes", post_run_state.total_bytes, "bytes");
    metrics.extend(post_run_state.metrics.iter().cloned());
    metrics
}

/// What the records of the clients add up to.
pub(super) fn outcome_metrics(dispatch: &Dispatch) -> Vec<Metric> {
    let retries: u64 = dispatch.clients.iter().map(|client| client.retries).sum();
    let cpu_ns: u64 = dispatch.workers.iter().map(|worker| worker.cpu_ns).sum();
    vec![
        Metric::new("retries", retries as f64, "1", "counted by the clients"),
        Metric::new(
            "client_cpu_s",
            cpu_ns as f64 / 1e9,
            "s",
            "CLOCK_THREAD_CPUTIME_ID of the worker threads",
        ),
    ]
}
