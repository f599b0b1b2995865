//! What a run with a workload of the user's own adds: metrics of its scripts, and what is executed after it.

use results::EngineId;
use results::model::{Metric, Warning};
use results::scripts::{FailureKind, ScriptRecord};

use super::tick::{Course, Tick};
use crate::client::Dispatch;
use crate::engine::{PostRunState, Target, TargetError};
use crate::own::{OwnWorkload, execute_after, metrics_after};
use crate::work::Work;

/// A target without databases for it.
pub(super) fn refused(engine: EngineId) -> TargetError {
    TargetError::refused(
        format!("{engine} cannot run a workload of your own: it has no database for it"),
        "choose another target (--target sqlite, --target postgres)",
    )
}

/// What the engine holds after the run, and what the script `after` finds there.
pub(super) fn post_run_state(
    target: &mut dyn Target,
    work: &Work,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<PostRunState, String> {
    let mut state = target.post_run_state(work).map_err(|error| error.to_string())?;
    if let Some(own) = &work.own {
        look_after(target, work, own, &mut state, on_tick);
    }
    Ok(state)
}

/// Executes what comes after the run, and adds its rows to the metrics.
fn look_after(
    target: &mut dyn Target,
    work: &Work,
    own: &OwnWorkload,
    post_run_state: &mut PostRunState,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) {
    let Some(after) = &own.after else { return };
    let engine = target.engine().id;
    let Some(databases) = target.own_databases() else { return };
    match execute_after(databases, engine, work, own, on_tick) {
        Ok(rows) => {
            let (metrics, warnings) = metrics_after(&rows, &after.file);
            post_run_state.metrics.extend(metrics);
            post_run_state.warnings.extend(warnings);
        }
        Err(reason) => post_run_state.warnings.push(Warning {
            code: "after_failed".to_owned(),
            text: format!("{} was not executed to its end, its metrics are missing: {reason}", after.file),
        }),
    }
}

/// What the scripts did together.
pub(super) fn metrics(work: &Work, dispatch: &Dispatch) -> Vec<Metric> {
    let Some(own) = &work.own else { return Vec::new() };
    let sum = |of: fn(&ScriptRecord) -> u64| dispatch.scripts.iter().map(of).sum::<u64>() as f64;
    let (done, failed) = (sum(|script| script.transactions), sum(ScriptRecord::failed));
    let (retried, retries) = (sum(|script| script.retried), sum(|script| script.retries));
    let skipped: u64 = dispatch.clients.iter().map(|client| client.arrivals_unserved).sum();
    let counted =
        |name: &str, value: f64, unit: &str| Metric::new(name, value, unit, "counted by the clients");
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let mut metrics = vec![
        counted("failed_transactions", failed, "1"),
        counted("failed_transactions_percent", percent(failed, done + failed), "%"),
        counted("retried_transactions", retried, "1"),
        counted("retried_transactions_percent", percent(retried, done + failed), "%"),
        counted("transaction_retries", retries, "1"),
    ];
    for kind in FailureKind::ALL {
        let of_kind = dispatch.scripts.iter().flat_map(|script| &script.failures);
        let count: u64 = of_kind.filter(|failure| failure.kind == kind).map(|failure| failure.count).sum();
        if count > 0 {
            metrics.push(counted(&format!("failed_transactions_{}", kind.word()), count as f64, "1"));
        }
    }
    if let Some(limit) = own.latency_limit {
        let limit_ns = limit.as_nanos() as u64;
        let within: u64 = dispatch
            .clients
            .iter()
            .map(|client| client.response_time.as_ref().unwrap_or(&client.service_time).count_up_to(limit_ns))
            .sum();
        let late = done - within as f64;
        metrics.push(counted("late_transactions", late, "1"));
        metrics.push(counted("skipped_transactions", skipped as f64, "1"));
        let all = done + failed + skipped as f64;
        metrics.push(counted("within_limit_percent", percent(within as f64, all), "%"));
    }
    metrics
}
