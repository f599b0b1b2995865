//! The checks on the published wait tables.

use stats::identities::{
    Outcome, Printed, ascending, average, common_total, descending, smallest_prefix, wait_sum,
    waits_within_elapsed, within_limit,
};
use stats::summary::Summary;

use crate::Answer;
use crate::tables::{Row, Tables};

pub(crate) fn recompute(id: &str, tables: &Tables) -> Option<Answer> {
    match id {
        "C-S0-SAMPLE" => {
            let (sample, whole) = (tables.wait_table("S0-W00"), tables.wait_table("S0-W03"));
            let printed = sample[1].as_printed("percentage");
            Answer::new(printed.check(whole[1].number("percentage")), whole[1].text("percentage").to_owned())
        }
        "C-S0-ELAPSED-W02" => {
            let elapsed_s = tables.rows("best_times")[0].number("elapsed_s");
            Answer::only(waits_against(tables, "S0-W02", elapsed_s))
        }
        "C-S1-ELAPSED-S1-W02" => {
            // The larger of the two elapsed times that the text gives for this layout.
            let times = tables
                .rows("best_times")
                .iter()
                .filter(|row| row.text("seed") == "S1" && row.has("elapsed_s"));
            let slowest_s = times.map(|row| row.number("elapsed_s")).fold(0.0, f64::max);
            let seconds = seconds_per_connection(tables, "S1-W02")?;
            Answer::new(waits_against(tables, "S1-W02", slowest_s), format!("{seconds:.0} s"))
        }
        "C-S0-PIOLSSD" => {
            // Fewer page waits were said to mean a faster run: then all waits together cannot be more.
            let (more, fewer) = (total_s(tables, "S0-W09"), total_s(tables, "S0-W10"));
            Answer::only(within_limit(fewer, more))
        }
        "C-S1-50" => {
            let change = |column: &str| {
                100.0
                    * (first(tables, "S1-W03").number(column) / first(tables, "S1-W01").number(column) - 1.0)
            };
            Answer::only(Printed::new(50.0, 0).check(change("avg_res_s")))
        }
        "C-S1-37MS" => {
            let row = first(tables, "S1-W04");
            let milliseconds = 1000.0 * row.number("resource_s") / row.number("wait_count");
            Answer::new(Printed::new(3.7, 1).check(milliseconds), format!("{milliseconds:.2} ms"))
        }
        "C-S1-SIG" => {
            let milliseconds = ["S1-W01", "S1-W02", "S1-W03", "S1-W04"].map(|table| {
                let row = first(tables, table);
                1000.0 * row.number("signal_s") / row.number("wait_count")
            });
            let outcome = milliseconds
                .iter()
                .fold(Outcome::Holds, |all, &each| all.and(Printed::new(0.7, 1).check(each)));
            let figures = milliseconds.map(|each| format!("{each:.2}")).join(", ");
            Answer::new(outcome, figures)
        }
        "C-S1-PCT" => {
            let shares =
                ["S1-W01", "S1-W02", "S1-W03"].map(|table| first(tables, table).number("percentage"));
            let figures = shares.map(|share| format!("{share:.2}")).join(" -> ");
            Answer::new(ascending(&shares), figures)
        }
        "C-S1-TASKS" => Answer::only(waiting_tasks(tables)),
        "C-S3-WAITS" => {
            let shares: Vec<Printed> = tables
                .filtered("populate_waits_share", &[("unit", "% of waits")])
                .iter()
                .map(|row| row.as_printed("value"))
                .collect();
            Answer::only(smallest_prefix(&shares, 95.0))
        }
        _ => of_one_table(id, tables),
    }
}

/// The checks whose names are made of a table and a kind: `C-S0-W01-SUM-2`.
fn of_one_table(id: &str, tables: &Tables) -> Option<Answer> {
    let rest = id.strip_prefix("C-")?;
    let table_id = rest.get(..6).filter(|id| tables.wait_table_ids().contains(id))?;
    let rows = tables.wait_table(table_id);
    let parts: Vec<&str> = rest.get(7..)?.split('-').collect();
    match parts[..] {
        ["SUM", rank] => {
            let row = of_rank(&rows, rank);
            let (resource, signal) = (row.printed("resource_s", 2), row.printed("signal_s", 2));
            let outcome = wait_sum(row.printed("wait_s", 2), resource, signal);
            Answer::new(outcome, format!("{:.2}", resource.value + signal.value))
        }
        ["AVG", rank, column] => {
            let row = of_rank(&rows, rank);
            let seconds = row
                .printed(&column.replace("avg_", "").replace("res", "resource").replace("sig", "signal"), 2);
            let count = row.count("wait_count");
            let outcome = average(row.printed(column, 4), seconds, count);
            Answer::new(outcome, format!("{:.6}", seconds.value / count as f64))
        }
        ["TOTAL"] => {
            // The record takes the seconds as exact; the outcome allows for their rounding too.
            let exact: Vec<_> =
                shares(&rows).iter().map(|share| (Printed::new(share.0.value, 9), share.1)).collect();
            let total = common_total(&exact);
            let figure = format!("total in [{:.1}, {:.1}] s", total.low, total.high);
            Answer::new(common_total(&shares(&rows)).outcome, figure)
        }
        ["TOP95"] => {
            let percentages: Vec<Printed> = rows.iter().map(|row| row.as_printed("percentage")).collect();
            let cumulative: f64 = percentages.iter().map(|percentage| percentage.value).sum();
            Answer::new(smallest_prefix(&percentages, 95.0), format!("cumulative {cumulative:.2}"))
        }
        ["ORDER"] => {
            let seconds: Vec<f64> = rows.iter().map(|row| row.number("wait_s")).collect();
            Answer::only(descending(&seconds))
        }
        _ => None,
    }
}

/// The waits of each connection, from the middle of the totals that the percentages allow.
pub(crate) fn seconds_per_connection(tables: &Tables, table_id: &str) -> Option<f64> {
    Some(total_s(tables, table_id) / first(tables, table_id).number("connections"))
}

fn waits_against(tables: &Tables, table_id: &str, elapsed_s: f64) -> Outcome {
    let connections = first(tables, table_id).count("connections");
    waits_within_elapsed(common_total(&shares(&tables.wait_table(table_id))).low, connections, elapsed_s)
}

fn total_s(tables: &Tables, table_id: &str) -> f64 {
    let total = common_total(&shares(&tables.wait_table(table_id)));
    (total.low + total.high) / 2.0
}

fn shares(rows: &[&Row]) -> Vec<(Printed, Printed)> {
    rows.iter().map(|row| (row.printed("wait_s", 2), row.as_printed("percentage"))).collect()
}

/// The thirteen waiters: one kind of wait on one page that is a page-free-space page, and waiting as long as the
/// average of that wait says.
fn waiting_tasks(tables: &Tables) -> Outcome {
    let rows = tables.rows("waiting_tasks");
    assert_eq!(rows.len(), 13);
    let page = rows[0].count("page_id");
    assert!(rows.iter().all(|row| row.text("wait_type") == "PAGELATCH_UP" && row.count("page_id") == page));
    assert_eq!(stats::pages::whole_multiple(page, stats::pages::PFS_INTERVAL_PAGES), Some(188));
    let milliseconds: Vec<f64> = rows.iter().map(|row| row.number("wait_duration_ms")).collect();
    let summary = Summary::of(&milliseconds).unwrap();
    assert_eq!(format!("{:.1}", summary.mean), "14.3");
    let average_ms = 1000.0 * tables.wait_table("S1-W01")[1].number("avg_res_s");
    let is_within = summary.interval.unwrap().contains(average_ms);
    if is_within { Outcome::Holds } else { Outcome::Broken { expected: average_ms, found: summary.mean } }
}

fn first<'tables>(tables: &'tables Tables, table_id: &str) -> &'tables Row {
    tables.wait_table(table_id)[0]
}

fn of_rank<'tables>(rows: &[&'tables Row], rank: &str) -> &'tables Row {
    rows.iter().find(|row| row.text("rank") == rank).unwrap()
}
