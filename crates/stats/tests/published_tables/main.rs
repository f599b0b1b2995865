//! The published tables, reproduced: each check that is arithmetic is recomputed by the identities of this crate and
//! must come out as the record of checks says, the known bad figures included.
//!
//! The tables lie beside the repository, in `../shared/domain/published-tables` (or below `$FATHOM_SHARED`). Without
//! them there is nothing to reproduce; one line on stderr says so.

#![allow(clippy::unwrap_used)]

mod other_checks;
mod storage_checks;
mod tables;
mod wait_checks;

use std::collections::BTreeMap;

use stats::change::{improvement_factor, speed_up};
use stats::identities::{ByteUnit, Outcome, PrintStyle, common_total, throughput, throughput_unit};
use stats::waits::{TOP_PERCENT, Wait, top_waits};

use tables::{Row, Tables};

/// What the library makes of one published check.
pub(crate) struct Answer {
    outcome: Outcome,
    /// The recomputed figure in the words of the record, where these are one figure.
    recomputed: Option<String>,
}

impl Answer {
    pub(crate) fn new(outcome: Outcome, recomputed: String) -> Option<Self> {
        Some(Self { outcome, recomputed: Some(recomputed) })
    }

    pub(crate) fn only(outcome: Outcome) -> Option<Self> {
        Some(Self { outcome, recomputed: None })
    }

    fn verdict(&self) -> &'static str {
        match self.outcome {
            Outcome::Holds => "OK",
            Outcome::Rounding => "ROUNDING",
            Outcome::Broken { .. } => "MISMATCH",
            Outcome::Implausible { .. } => "IMPLAUSIBLE",
            Outcome::WrongUnit { .. } => "UNIT_ERROR",
        }
    }
}

/// Why a check is not recomputed; each such row is counted under its reason.
fn reason_left_out(check: &Row) -> Option<&'static str> {
    match check.text("verdict") {
        "INFERENCE" => Some("a conclusion drawn from the figures, not a figure to check"),
        "CONTRADICTION" => Some("two sentences, or a sentence and a table, that disagree"),
        "UNVERIFIABLE" => Some("the figures are only in a graph or in another text"),
        _ => match check.text("check_id") {
            "C-S3-NICUNIT" | "C-S4-8B" => Some("a typing error inside a sentence"),
            _ => None,
        },
    }
}

#[test]
fn every_published_check_comes_out_as_recorded_or_is_left_out_for_a_reason() {
    let Some(tables) = Tables::load() else { return };
    let mut recomputed = BTreeMap::<&str, u32>::new();
    let mut left_out = BTreeMap::<&str, u32>::new();
    let mut differences = Vec::new();
    for check in tables.rows("checks") {
        let id = check.text("check_id");
        if let Some(reason) = reason_left_out(check) {
            *left_out.entry(reason).or_default() += 1;
            continue;
        }
        let answer = wait_checks::recompute(id, &tables)
            .or_else(|| storage_checks::recompute(id, &tables))
            .or_else(|| other_checks::recompute(id, &tables));
        let Some(answer) = answer else {
            differences.push(format!("{id}: neither recomputed nor left out"));
            continue;
        };
        *recomputed.entry(answer.verdict()).or_default() += 1;
        if answer.verdict() != check.text("verdict") {
            differences.push(format!("{id}: {:?}, recorded {}", answer.outcome, check.text("verdict")));
        }
        if answer.recomputed.as_deref().is_some_and(|figure| figure != check.text("recomputed")) {
            differences.push(format!("{id}: {:?}, recorded {}", answer.recomputed, check.text("recomputed")));
        }
    }
    println!("recomputed: {recomputed:?}\nleft out: {left_out:?}");
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    let counted = recomputed.values().sum::<u32>() + left_out.values().sum::<u32>();
    assert_eq!(counted as usize, tables.rows("checks").len());
    assert_eq!((recomputed.values().sum::<u32>(), left_out.values().sum::<u32>()), (274, 72));
}

#[test]
fn a_changed_figure_changes_the_outcome_of_its_checks() {
    // The outcome comes from the figures: with one digit of each kind changed, each check that holds must fail.
    let Some(tables) = Tables::load() else { return };
    let row = tables.wait_table("S1-W00")[0];
    let (wait, resource, signal) =
        (row.printed("wait_s", 2), row.printed("resource_s", 2), row.printed("signal_s", 2));
    assert!(stats::identities::wait_sum(wait, resource, signal).is_consistent());
    let changed = stats::identities::Printed::new(wait.value + 1.0, 2);
    assert!(!stats::identities::wait_sum(changed, resource, signal).is_consistent());
    for row in tables.rows("iometer_matrix") {
        let wrong = stats::identities::Printed::new(row.number("mbytes_per_s") * 1.01 + 1.0, 0);
        assert!(
            !throughput(row.number("iops"), row.count("transfer_kb") * 1024, wrong).outcome.is_consistent()
        );
    }
}

#[test]
fn the_rule_of_95_percent_selects_the_rows_of_all_17_wait_tables() {
    let Some(tables) = Tables::load() else { return };
    let ids = tables.wait_table_ids();
    assert_eq!(ids.len(), 17);
    for id in ids {
        let rows = tables.wait_table(id);
        let shares: Vec<_> =
            rows.iter().map(|row| (row.printed("wait_s", 2), row.as_printed("percentage"))).collect();
        let total = common_total(&shares);
        let printed: Vec<Wait> = rows.iter().map(|row| wait(row)).collect();
        // What was not printed is known by its sum alone; a hundred equal types stand for it.
        let unprinted_s =
            (total.low + total.high) / 2.0 - printed.iter().map(|wait| wait.wait_s).sum::<f64>();
        let rest = (0..100).map(|index| Wait {
            wait_type: format!("REST_{index:02}"),
            wait_s: unprinted_s / 100.0,
            resource_s: None,
            signal_s: None,
            count: None,
        });
        let table =
            top_waits(&rest.chain(printed.iter().rev().cloned()).collect::<Vec<_>>(), TOP_PERCENT).unwrap();
        let selected: Vec<&Wait> = table.rows.iter().map(|row| &row.wait).collect();
        assert_eq!(selected, printed.iter().collect::<Vec<_>>(), "{id}");
        assert_eq!(table.rest_type_count, 100);
        for (computed, row) in table.rows.iter().zip(&rows) {
            assert!(row.as_printed("percentage").check(computed.percentage).is_consistent(), "{id} {row:?}");
        }
    }
}

#[test]
fn all_39_averages_follow_from_seconds_and_counts() {
    let Some(tables) = Tables::load() else { return };
    let mut checked = 0;
    for row in tables.rows("wait_stats").iter().filter(|row| row.has("avg_wait_s")) {
        let table = top_waits(&[wait(row)], TOP_PERCENT).unwrap();
        let computed = &table.rows[0];
        for (column, average) in [
            ("avg_wait_s", computed.avg_wait_s()),
            ("avg_res_s", computed.avg_resource_s()),
            ("avg_sig_s", computed.avg_signal_s()),
        ] {
            assert_eq!(row.printed(column, 4).check(average.unwrap()), Outcome::Holds, "{column} of {row:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 39);
}

#[test]
fn all_15_iometer_rows_are_mebibytes_nine_rounded_and_six_cut() {
    let Some(tables) = Tables::load() else { return };
    let rows: Vec<_> = tables
        .rows("iometer_matrix")
        .iter()
        .map(|row| (row.number("iops"), row.count("transfer_kb") * 1024, row.printed("mbytes_per_s", 0)))
        .collect();
    assert_eq!(throughput_unit(&rows), Some(ByteUnit::Mebibyte));
    let styles = rows.iter().map(|&(iops, bytes, printed)| throughput(iops, bytes, printed).print_style);
    let rounded = styles.filter(|&style| style == Some(PrintStyle::Rounded)).count();
    assert_eq!((rows.len(), rounded), (15, 9));
}

#[test]
fn improvement_factors_give_the_times_inferred_from_them() {
    let Some(tables) = Tables::load() else { return };
    let figure = |id: &str| tables.row("checks", &[("check_id", id)]).text("recomputed");
    let scsi_best = tables.rows("best_times")[0].number("elapsed_s");
    let factor =
        |files: &str| tables.row("improvement_factors", &[("data_files", files)]).number("published_factor");
    let overall = tables.rows("best_times")[1].number("published_factor");
    let ssd_best = scsi_best / overall;
    assert_eq!(format!("{ssd_best:.1} s"), figure("C-S0-BEST"));
    assert_eq!(format!("{:.1} s", scsi_best / factor("2")), figure("C-S0-2F"));
    assert_eq!(format!("{:.0} s", ssd_best * factor("4")), figure("C-S0-4F"));
    let recomputed = improvement_factor(&[scsi_best / factor("2"), ssd_best], &[2190.0, scsi_best]).unwrap();
    assert!((recomputed - overall).abs() < 1e-9);
}

#[test]
fn inferences_that_are_quotients_give_the_recorded_figures() {
    let Some(tables) = Tables::load() else { return };
    let mut checked = 0;
    for check in tables.filtered("checks", &[("verdict", "INFERENCE")]) {
        let id = check.text("check_id");
        let figure = if id.ends_with("-PERCONN") || id.starts_with("C-S1-ELAPSED-") {
            wait_checks::seconds_per_connection(&tables, check.text("table"))
                .map(|seconds| format!("{seconds:.0} s"))
        } else if id.starts_with("C-S0-BATCH-") {
            let log_waits =
                tables.row("wait_stats", &[("table_id", check.text("table")), ("wait_type", "WRITELOG")]);
            Some(format!("{:.3}", 32e6 / log_waits.number("wait_count")))
        } else if id == "C-S4-POPRATIO" {
            let rows = tables.rows("guid_population");
            speed_up(rows[1].number("elapsed_s"), rows[0].number("elapsed_s"))
                .map(|ratio| format!("{ratio:.2}x"))
        } else {
            None
        };
        if let Some(figure) = figure {
            assert_eq!(figure, check.text("recomputed"), "{id}");
            checked += 1;
        }
    }
    assert_eq!(checked, 23);
}

fn wait(row: &Row) -> Wait {
    Wait {
        wait_type: row.text("wait_type").to_owned(),
        wait_s: row.number("wait_s"),
        resource_s: Some(row.number("resource_s")),
        signal_s: Some(row.number("signal_s")),
        count: Some(row.count("wait_count")),
    }
}
