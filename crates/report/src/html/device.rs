//! Device ceilings beside what the runs reached, and the baselines that were measured.

use results::io::{IoRow, IoTable};

use super::chart::levels::{Dot, LevelChart, Spot};
use super::chart::places::Places;
use super::chart::shares::{Against, against};
use super::definitions::{Definitions, Tables};
use super::figure::{absent, figure};
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::io_table;
use crate::tables::ceilings;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let mut html = Markup::default();
    match ceilings::ceilings(summary) {
        Some(section) => {
            let bar = |line: &crate::summary::CeilingLine| Against {
                label: format!("{} · {}", line.label, line.role),
                percent: line.percent,
                figures: format!("{:.1} of {:.1} {}", line.achieved, line.possible, line.unit),
            };
            let bars: Vec<Against> = summary.ceilings.iter().map(bar).collect();
            if let Some(svg) =
                against("Reached, in % of the maximum of the device alone", "the device alone", &bars)
            {
                let note = markup!(
                    "The device alone was measured with the same access pattern, which the table names."
                );
                html.push(&markup!("<div class=\"charts wide\">{}</div>", figure(&svg, &note)));
            }
            html.push(&tables::titled(&section, definitions));
        }
        None => html.push(&absent("No ceiling was measured with this study.")),
    }
    if page.baselines.is_empty() {
        html.push(&absent("No baseline of a device (fathom io) is stored in this results file."));
    }
    for (index, table) in page.baselines.iter().enumerate() {
        html.push(&baseline(table, index, &definitions.of(Tables::Baselines)));
    }
    html
}

/// The published matrix, the further columns, the flushes, and what speaks against rows.
fn baseline(table: &IoTable, index: usize, definitions: &Definitions) -> Markup {
    let sections = io_table::sections(table);
    let mut html = markup!("<h3>Baseline: {}</h3>", table.title);
    if let Some(svg) = matrix(table).draw() {
        let note = markup!("Rates of the device alone by pattern and queue depth; flagged rows are crosses.");
        html.push(&markup!("<div class=\"charts wide\">{}</div>", figure(&svg, &note)));
    }
    for (place, section) in sections.iter().enumerate() {
        if section.title.is_empty() {
            html.push(&tables::blocks(section, definitions));
        } else {
            html.push(&tables::folded(&format!("io-{index}-{place}"), section, definitions, place < 2));
        }
    }
    html
}

/// The matrix as a picture: the rate over the transfers under way, one series per pattern.
fn matrix(table: &IoTable) -> LevelChart {
    let mut depths: Vec<u64> = table.rows.iter().map(|row| row.outstanding).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut series: Vec<(String, Vec<Spot>)> = Vec::new();
    for row in &table.rows {
        let label = pattern(row);
        let known = series.iter().position(|(name, _)| *name == label);
        let index = known.unwrap_or_else(|| {
            series.push((label.clone(), vec![Spot::default(); depths.len()]));
            series.len() - 1
        });
        let place = depths.binary_search(&row.outstanding).expect("every depth is listed");
        let spot = &mut series[index].1[place];
        let counts = row.flags.is_empty();
        let words = if counts { String::new() } else { format!(", flagged: {}", row.flags.join("; ")) };
        let title = format!(
            "{label}, depth {}: {:.1} MiB/s, {:.0} IOPS{words}",
            row.outstanding, row.mib_per_s, row.iops
        );
        if counts {
            // A pattern that was measured again has the later figure on its line, and a point for each.
            (spot.mean, spot.title) = (Some(row.mib_per_s), title.clone());
        }
        spot.dots.push(Dot { value: row.mib_per_s, title, counts });
    }
    LevelChart {
        y_title: "Rate [MiB/s]".to_owned(),
        x_title: "queue depth".to_owned(),
        levels: depths.iter().map(u64::to_string).collect(),
        places: Places::of(&depths.iter().map(|depth| *depth as f64).collect::<Vec<_>>()),
        series,
        is_ordered: true,
        ..LevelChart::default()
    }
}

/// `64 KiB random read`.
fn pattern(row: &IoRow) -> String {
    let order = match row.random_percent {
        100.. => "random".to_owned(),
        0 => "sequential".to_owned(),
        percent => format!("{percent} % random"),
    };
    let way = match row.read_percent {
        100.. => "read".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read"),
    };
    format!("{} KiB {order} {way}", crate::number::number(row.transfer_bytes as f64 / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_has_one_line_per_pattern_and_crosses_for_flagged_rows() {
        let row = |transfer_bytes, outstanding, mib_per_s, flags: &[&str]| IoRow {
            transfer_bytes,
            read_percent: 100,
            random_percent: 100,
            outstanding,
            mib_per_s,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..IoRow::default()
        };
        let rows =
            vec![row(8192, 32, 200.0, &[]), row(8192, 1, 50.0, &[]), row(65536, 1, 90.0, &["unsteady"])];
        let chart = matrix(&IoTable { rows, ..IoTable::default() });
        assert_eq!(chart.levels, ["1", "32"]);
        let names: Vec<&str> = chart.series.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["8 KiB random read", "64 KiB random read"]);
        assert_eq!(
            chart.series[0].1.iter().map(|spot| spot.mean).collect::<Vec<_>>(),
            [Some(50.0), Some(200.0)]
        );
        assert_eq!((chart.series[1].1[0].mean, chart.series[1].1[0].dots[0].counts), (None, false));
    }
}
