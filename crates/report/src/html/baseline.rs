//! A baseline of a device: its page, and its part of the page of a study.

use results::io::{IoRow, IoTable};

use super::chart::levels::{Dot, LevelChart, Spot};
use super::chart::places::Places;
use super::definitions::{Definitions, Tables};
use super::figure::figure;
use super::markup::{Markup, markup};
use super::shell::shelled;
use super::tables;
use crate::io_table::{self, pattern};
use crate::number::number;
use crate::tables::moment;

/// Values further apart than this would flatten the smaller ones on a linear axis.
const LINEAR_FACTOR_MAX: f64 = 20.0;

/// A baseline with a page of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Its row number; `None` where it was not stored.
    pub number: Option<i64>,
    /// RFC 3339, UTC: when the measurement began.
    pub began_at: String,
    /// What was measured.
    pub table: IoTable,
}

/// Writes the page: what the device gave in a sentence, cautions, rates and latencies by queue depth, then all columns.
pub fn page(baseline: &Baseline) -> String {
    let table = &baseline.table;
    let definitions = Definitions::load();
    let own = definitions.of(Tables::Baselines);
    let number = baseline.number.map(|number| format!("baseline {number}"));
    let device = table.device.as_ref().map(|device| format!("device {device}"));
    let matrix = (!table.matrix.is_empty()).then(|| table.matrix.clone());
    let kicker: Vec<String> =
        [number, Some(moment(&baseline.began_at)), device, matrix].into_iter().flatten().collect();
    let mut parts = vec![answer(table)];
    let mut rest = sections(table, 0, &own);
    parts.append(&mut rest);
    shelled(&format!("I/O baseline of {}", table.target), &kicker.join(" · "), &parts, &definitions)
}

/// What the device gave, what speaks against it, and where it was measured.
fn answer(table: &IoTable) -> Markup {
    let mut sentences = io_table::answer(table).into_iter();
    let headline = sentences.next().unwrap_or_else(|| "No row was measured.".to_owned());
    let cautions: Markup =
        io_table::cautions(table).iter().map(|caution| markup!("<li>{}</li>", caution)).collect();
    let cautions =
        if cautions.is_empty() { cautions } else { markup!("<ul class=\"cautions\">{}</ul>", cautions) };
    let environment: Vec<&str> = [table.title.as_str(), table.machine.as_str()]
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect();
    let more: Markup = sentences.map(|sentence| markup!("<p>{}</p>", sentence)).collect();
    markup!(
        "<h2>Result</h2><p class=\"environment\">{}</p>{}<p class=\"headline\">{}</p>{}",
        environment.join("; "),
        cautions,
        headline,
        more
    )
}

/// Its part of the page of a study: the chart, and everything else folded.
pub(super) fn part(table: &IoTable, index: usize, definitions: &Definitions) -> Markup {
    let mut html = markup!("<h3>Baseline: {}</h3>", table.title);
    html.push(&charts(&[matrix(table)]));
    let tables: Markup = folded(table, index, definitions).collect();
    html.push(&markup!(
        "<details id=\"io-{}\"><summary>All values of the baseline</summary>{}</details>",
        index,
        tables
    ));
    html
}

/// The sections of the page behind the answer.
fn sections(table: &IoTable, index: usize, definitions: &Definitions) -> Vec<Markup> {
    let mut sections = Vec::new();
    if !table.rows.is_empty() {
        sections.push(markup!("<h2>Transfers</h2>{}", charts(&[matrix(table), latencies(table)])));
    }
    if !table.sync_rows.is_empty() {
        sections.push(markup!("<h2>Durable appends</h2>{}", charts(&[appends(table)])));
    }
    let tables: Markup = folded(table, index, definitions).collect();
    if !tables.is_empty() {
        sections.push(markup!("<h2>All values</h2>{}", tables));
    }
    sections
}

/// The charts that have something to draw.
fn charts(charts: &[LevelChart]) -> Markup {
    let drawn = charts.iter().filter_map(LevelChart::draw);
    let drawn: Markup = drawn.map(|svg| figure(&svg, &Markup::default())).collect();
    if drawn.is_empty() { drawn } else { markup!("<div class=\"charts\">{}</div>", drawn) }
}

/// The tables, the published one open.
fn folded(table: &IoTable, index: usize, definitions: &Definitions) -> impl Iterator<Item = Markup> {
    let definitions = definitions.of(Tables::Baselines);
    io_table::sections(table).into_iter().enumerate().map(move |(place, section)| {
        if section.title.is_empty() {
            tables::blocks(&section, &definitions)
        } else {
            tables::folded(&format!("io-{index}-{place}"), &section, &definitions, false)
        }
    })
}

/// Rates over the transfers in flight, one series per pattern; flagged rows are crosses.
fn matrix(table: &IoTable) -> LevelChart {
    by_depth(table, "Rate [MiB/s]", |row| row.mib_per_s)
}

/// The p99 latency over the transfers in flight.
fn latencies(table: &IoTable) -> LevelChart {
    by_depth(table, "p99 latency [ms]", |row| row.latency_ns_p99 as f64 / 1e6)
}

fn by_depth(table: &IoTable, y_title: &str, value: fn(&IoRow) -> f64) -> LevelChart {
    let mut depths: Vec<u64> = table.rows.iter().map(|row| row.outstanding).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut series: Vec<(String, Vec<Spot>)> = Vec::new();
    for row in &table.rows {
        let place = depths.binary_search(&row.outstanding).expect("every depth is listed");
        let spot = &mut series_of(&mut series, &pattern(row), depths.len())[place];
        let title = format!(
            "{}, depth {}: {:.1} MiB/s, {:.0} IOPS, p99 {} ms",
            pattern(row),
            row.outstanding,
            row.mib_per_s,
            row.iops,
            number(row.latency_ns_p99 as f64 / 1e6)
        );
        add(spot, value(row), title, &row.flags);
    }
    let places = Places::of(&depths.iter().map(|depth| *depth as f64).collect::<Vec<_>>());
    chart((y_title, "queue depth"), depths.iter().map(u64::to_string).collect(), places, series)
}

/// Durable appends per second over their size, one series per method and number of writers.
fn appends(table: &IoTable) -> LevelChart {
    let mut sizes: Vec<u64> = table.sync_rows.iter().map(|row| row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut series: Vec<(String, Vec<Spot>)> = Vec::new();
    for row in &table.sync_rows {
        let writers = results::wording::counted(row.writer_count.into(), "writer");
        let label = format!("{}, {writers}", row.method);
        let place = sizes.binary_search(&row.size_bytes).expect("every size is listed");
        let spot = &mut series_of(&mut series, &label, sizes.len())[place];
        let title = format!(
            "{label}, {} bytes: {:.0} appends/s, p99 {} ms",
            row.size_bytes,
            row.appends_per_s,
            number(row.latency_ns_p99 as f64 / 1e6)
        );
        add(spot, row.appends_per_s, title, &row.flags);
    }
    let levels = sizes.iter().map(|size| crate::number::human(*size as f64, "bytes")).collect();
    let places = Places::of(&sizes.iter().map(|size| *size as f64).collect::<Vec<_>>());
    chart(("Durable appends per second", "size of an append"), levels, places, series)
}

fn series_of<'a>(series: &'a mut Vec<(String, Vec<Spot>)>, label: &str, length: usize) -> &'a mut Vec<Spot> {
    let known = series.iter().position(|(name, _)| name == label);
    let index = known.unwrap_or_else(|| {
        series.push((label.to_owned(), vec![Spot::default(); length]));
        series.len() - 1
    });
    &mut series[index].1
}

/// A pattern that was measured again has the later value on its line, and a point for each.
fn add(spot: &mut Spot, value: f64, title: String, flags: &[String]) {
    let counts = flags.is_empty();
    let words = if counts { String::new() } else { format!(", flagged: {}", flags.join("; ")) };
    let title = format!("{title}{words}");
    if counts {
        (spot.mean, spot.title) = (Some(value), title.clone());
    }
    spot.dots.push(Dot { value, title, counts });
}

fn chart(
    (y_title, x_title): (&str, &str),
    levels: Vec<String>,
    places: Places,
    series: Vec<(String, Vec<Spot>)>,
) -> LevelChart {
    let values =
        || series.iter().flat_map(|(_, spots)| spots).flat_map(|spot| &spot.dots).map(|dot| dot.value);
    let (smallest, largest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    LevelChart {
        y_title: y_title.to_owned(),
        x_title: x_title.to_owned(),
        levels,
        is_logarithmic: smallest > 0.0 && largest > LINEAR_FACTOR_MAX * smallest,
        series,
        places,
        is_ordered: true,
        ..LevelChart::default()
    }
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
