//! The checks on experiment plans, elapsed times, percentages, prices and summaries.

use stats::change::{PercentDefinition, time_reduction_percent};
use stats::duration::parse_duration_s;
use stats::identities::{
    Outcome, Printed, ascending, close_to, one_definition, percent_of_change, product, sum, whole_batches,
    within_limit,
};
use stats::pages::random_insert_bytes;
use stats::summary::Summary;

use crate::Answer;
use crate::tables::{Row, Tables};

pub(crate) fn recompute(id: &str, tables: &Tables) -> Option<Answer> {
    plan(id, tables)
        .or_else(|| times(id, tables))
        .or_else(|| percentages(id, tables))
        .or_else(|| single(id, tables))
}

fn plan(id: &str, tables: &Tables) -> Option<Answer> {
    let of = |seed: &str| tables.rows("experiment_matrix").iter().find(|row| row.text("seed") == seed);
    let workload =
        |seed: &str| tables.rows("workload_parameters").iter().find(|row| row.text("seed") == seed);
    match id {
        // One hard-disk configuration and six on SSD, each of these in three formats.
        "C-S0-CONF" => {
            let parts = [Printed::new(1.0, 0), Printed::new(6.0 * 3.0, 0)];
            Answer::only(sum(&parts, of("S0")?.as_printed("configurations")))
        }
        "C-S0-COMB" | "C-S1-COMB" => {
            let row = of(&id[2..4])?;
            let factors = [row.count("configurations"), row.count("layouts")];
            Answer::only(product(&factors, row.as_printed("combinations")))
        }
        "C-S0-RUNS" | "C-S1-RUNS" => {
            let row = of(&id[2..4])?;
            let factors = [row.count("combinations"), row.count("repetitions")];
            Answer::only(product(&factors, row.as_printed("runs")))
        }
        "C-S0-DAYS" | "C-S1-DAYS" => {
            let row = of(&id[2..4])?;
            let days = row.number("cumulative_s") / 86_400.0;
            Answer::new(row.as_printed("published_days").check(days), format!("{days:.3}"))
        }
        "C-S0-ROWS" | "C-S1-ROWS" => {
            let row = workload(&id[2..4])?;
            let factors = [row.count("connections"), row.count("rows_per_connection")];
            Answer::new(
                product(&factors, row.as_printed("total_rows")),
                (factors[0] * factors[1]).to_string(),
            )
        }
        "C-S1-37GB" => {
            // 158 bytes of row and 2 of slot.
            let gigabytes = random_insert_bytes(workload("S1")?.count("total_rows"), 160) / 1e9;
            Answer::only(Printed::new(37.0, 0).check(gigabytes))
        }
        "C-S4-50K" => {
            let (every, rows) = (1000.0, tables.rows("guid_population")[0].number("rows"));
            Answer::new(
                workload("S4")?.as_printed("total_rows").check(rows / every),
                (rows / every).to_string(),
            )
        }
        _ => {
            let batch = id.strip_prefix("C-S3-OVER-")?.parse().ok()?;
            let row = tables.row("workload_parameters", &[("workload", "1-TB populate, batches")]);
            Answer::only(whole_batches(row.count("rows_per_connection"), row.count("connections"), batch))
        }
    }
}

fn times(id: &str, tables: &Tables) -> Option<Answer> {
    let elapsed = |row: &Row| {
        let seconds = parse_duration_s(row.text("elapsed_text")).unwrap();
        Answer::new(row.as_printed("elapsed_s").check(seconds as f64), seconds.to_string())
    };
    match id {
        "C-S2-557" => elapsed(tables.row("checkdb_times", &[("elapsed_text", "5 hours and 57 minutes")])),
        "C-S2-435" => elapsed(tables.row("checkdb_times", &[("elapsed_text", "4 hours 35 mins")])),
        "C-S3-SMCLI" => Answer::only(product(&[5, 1440], Printed::new(2.0 * 3600.0, 0))),
        "C-S3-6H" => {
            let hours = tables.row("elapsed_by_batch", &[("batch_size", "10")]).number("elapsed_s") / 3600.0;
            Answer::new(Printed::new(6.0, 0).check(hours), format!("{hours:.2} h"))
        }
        _ => {
            let connections = id.strip_prefix("C-S3-SEC-")?;
            elapsed(tables.row("elapsed_by_connections", &[("connections", connections)]))
        }
    }
}

fn percentages(id: &str, tables: &Tables) -> Option<Answer> {
    const CLAIMED: PercentDefinition = PercentDefinition::TimeReduction;
    let rows = tables.rows("elapsed_by_connections");
    let changes: Vec<(Printed, f64, f64)> = rows
        .windows(2)
        .map(|pair| {
            (
                pair[1].as_printed("published_pct_faster"),
                pair[1].number("elapsed_s"),
                pair[0].number("elapsed_s"),
            )
        })
        .collect();
    match id {
        "C-S3-PCTMIX" => {
            let definitions = one_definition(&changes);
            let none = Outcome::Broken { expected: f64::NAN, found: changes[0].0.value };
            Answer::only(if definitions.is_empty() { none } else { Outcome::Holds })
        }
        "C-S3-BATCH28" => {
            let rows = tables.rows("elapsed_by_batch");
            let (t, t_ref) = (rows[1].number("elapsed_s"), rows[0].number("elapsed_s"));
            let check = percent_of_change(rows[1].as_printed("published_improvement_pct"), t, t_ref, CLAIMED);
            assert_eq!(check.reproduced_by, [CLAIMED]);
            Answer::new(check.outcome, format!("{:.2}", time_reduction_percent(t, t_ref)?))
        }
        "C-FMT-improved" | "C-FMT-maximum" => {
            let formats = tables.rows("ssd_formats");
            let row = formats.iter().find(|row| row.text("format").starts_with(&id[6..]))?;
            let percent = 100.0 * row.number("capacity_gb") / formats[0].number("capacity_gb");
            Answer::new(row.as_printed("published_pct").check(percent), format!("{percent:.1}"))
        }
        "C-S3-SEP1" => {
            // "No gain": the change is within the spread of single runs of the same set-up.
            let (t_ref, t) = separation(tables, 0, 3);
            let runs: Vec<f64> =
                tables.rows("network_tuning").iter().map(|row| row.number("elapsed_s")).collect();
            let spread = 100.0 * Summary::of(&runs).unwrap().cv?;
            let gain = time_reduction_percent(t, t_ref)?;
            Answer::new(within_limit(gain, spread), format!("{gain:.1} %"))
        }
        "C-S3-SEP2" => {
            // "No better": the time saved is not above zero.
            let (t_ref, t) = separation(tables, 0, 6);
            let gain = time_reduction_percent(t, t_ref)?;
            Answer::new(within_limit(gain, 0.0), format!("{:+.1} % slower", -gain))
        }
        _ => {
            let connections = id.strip_prefix("C-S3-PCT-")?;
            let place = rows.iter().position(|row| row.text("connections") == connections)?;
            let (printed, t, t_ref) = changes[place - 1];
            let percent = |definition: PercentDefinition| definition.percent(t, t_ref);
            let (reduction, speed_up) = (percent(CLAIMED)?, percent(PercentDefinition::SpeedUp)?);
            let outcome = percent_of_change(printed, t, t_ref, CLAIMED).outcome;
            Answer::new(outcome, format!("time reduction {reduction:.2} %, speed-up {speed_up:.2} %"))
        }
    }
}

fn single(id: &str, tables: &Tables) -> Option<Answer> {
    match id {
        "C-S0-FORDER" => {
            let factor = |files| {
                tables.row("improvement_factors", &[("data_files", files)]).number("published_factor")
            };
            Answer::only(ascending(&["2", "4", "1", "8", "16"].map(factor)))
        }
        // RAID-10 keeps half of the raw capacity: 8 x 300 GB are 1.2 TB, not 2.
        "C-S3-RAIDCAP" => Answer::only(Printed::new(2.0, 0).check(8.0 * 300.0 / 1000.0 / 2.0)),
        "C-S3-RAIDSATA" => {
            let usable = [4.0, 6.0, 8.0].map(|drives: f64| (drives / 2.0).min(2.0));
            Answer::only(
                usable.iter().fold(Outcome::Holds, |all, &each| all.and(Printed::new(2.0, 0).check(each))),
            )
        }
        "C-S4-PRICE-CPU" => prices(tables, "CPU and Memory"),
        "C-S4-PRICE-IO" => prices(tables, "IO Sub System"),
        "C-S4-MAXSIM" => {
            let rows = tables.filtered("statistics_time", &[("phase", "max_join")]);
            let times: Vec<f64> = rows.iter().map(|row| row.number("elapsed_ms")).collect();
            let summary = Summary::of(&times).unwrap();
            Answer::only(close_to(summary.min, summary.max, 0.1))
        }
        "C-S4-SUMMARY1" => summary_table(tables, "guid_lookup_summary", "populate"),
        "C-S4-SUMMARY2" => summary_table(tables, "guid_max_summary", "max_join"),
        _ => None,
    }
}

fn separation(tables: &Tables, reference: usize, candidate: usize) -> (f64, f64) {
    let rows = tables.rows("separation_layouts");
    (rows[reference].number("best_elapsed_s"), rows[candidate].number("best_elapsed_s"))
}

fn prices(tables: &Tables, group: &str) -> Option<Answer> {
    let rows = tables.filtered("kit_prices", &[("group", group)]);
    let (total, items) = rows.split_last()?;
    let items: Vec<Printed> = items.iter().map(|row| row.printed("price_gbp", 2)).collect();
    let recomputed: f64 = items.iter().map(|item| item.value).sum();
    Answer::new(sum(&items, total.printed("price_gbp", 2)), format!("{recomputed:.2}"))
}

/// Each figure of a summary against the table it was copied from.
fn summary_table(tables: &Tables, summary: &str, phase: &str) -> Option<Answer> {
    const COUNTERS: [(&str, &str); 4] = [
        ("avg_disk_bytes_read", "disk bytes/read"),
        ("avg_disk_sec_read", "disk sec/read"),
        ("avg_disk_reads_sec", "disk reads/sec"),
        ("avg_read_bytes_sec", "read bytes/sec"),
    ];
    let mut outcome = Outcome::Holds;
    for row in tables.rows(summary) {
        let table = row.text("table");
        let reads = tables.row("statistics_io", &[("table", table), ("phase", phase)]);
        let time = tables.row("statistics_time", &[("test", reads.text("test")), ("phase", phase)]);
        let mut pairs = vec![
            ("logical_reads", reads.number("logical_reads")),
            ("physical_reads", reads.number("physical_reads")),
            ("read_ahead", reads.number("read_ahead_reads")),
            ("cpu_ms", time.number("cpu_ms")),
            ("elapsed_ms", time.number("elapsed_ms")),
        ];
        if phase == "populate" {
            pairs.extend(COUNTERS.map(|(column, counter)| {
                let cells = [("test", reads.text("test")), ("counter", counter)];
                (column, tables.row("perfmon_guid", &cells).number("value"))
            }));
        }
        for (column, source) in pairs {
            outcome = outcome.and(row.as_printed(column).check(source));
        }
    }
    Answer::only(outcome)
}
