//! The table of the I/O baseline: the published ten columns in the published order, and what is measured beyond.

mod answer;

use results::io::{IoRow, IoSyncRow, IoTable};
use results::store::StoredIoTable;

use crate::export::{Column, Frame, Values};
use crate::layout::{Align, Block, Grid, Section};
use crate::plain::{one_line, plain};

pub use answer::{answer, flagged_count};
pub(crate) use answer::{cautions, pattern};

/// The published columns, with the units that they have: IOMeter's "MBytes" are MiB.
const PUBLISHED: [&str; 10] =
    ["KiB", "Read/write", "% random", "% seq", "Outstanding", "IOPS", "MiB/s", "Avg ms", "Max ms", "CPU %"];

/// The further columns of the same rows.
const FURTHER: [&str; 9] =
    ["Row", "p50 ms", "p99 ms", "p99.9 ms", "Device MiB", "Device %", "Own CPU %", "Own us/IO", "Warm-up s"];

/// The columns of durable appends.
const SYNC: [&str; 11] = [
    "Bytes",
    "Method",
    "Writers",
    "Appends/s",
    "MiB/s",
    "Avg ms",
    "p50 ms",
    "p99 ms",
    "Max ms",
    "Flushes",
    "CPU %",
];

/// Writes the tables for a terminal: transfers in the published columns, the rest of their figures by row number,
/// flushes, then what speaks against rows, then warnings.
pub fn text(table: &IoTable) -> String {
    let mut text = plain(&table.title) + "\n";
    if !table.rows.is_empty() {
        let rows: Vec<Vec<String>> = table.rows.iter().map(published_cells).collect();
        text += "\n";
        text += &aligned(&PUBLISHED, &rows);
        let rows: Vec<Vec<String>> =
            table.rows.iter().enumerate().map(|(index, row)| further_cells(index, row)).collect();
        text += "\n";
        text += &aligned(&FURTHER, &rows);
    }
    if !table.sync_rows.is_empty() {
        let rows: Vec<Vec<String>> = table.sync_rows.iter().map(sync_cells).collect();
        text += "\nDurable appends\n\n";
        text += &aligned(&SYNC, &rows);
    }
    let notes = remarks(table);
    if !notes.is_empty() {
        text += "\n";
        notes.iter().for_each(|note| text += &format!("{note}\n"));
    }
    let origin: Vec<String> = [&table.matrix, &table.machine]
        .into_iter()
        .filter(|phrase| !phrase.is_empty())
        .map(|phrase| one_line(phrase))
        .collect();
    if !origin.is_empty() {
        text += &format!("\n{}\n", origin.join("; "));
    }
    text
}

/// The same tables as sections, for pages: the published columns without a title, the others with one, remarks last.
pub(crate) fn sections(table: &IoTable) -> Vec<Section> {
    let grid = |columns: &[&str], rows: Vec<Vec<String>>| {
        let grid = Grid::named_by([]).with(columns.iter().map(|name| (*name, Align::Right)));
        Block::Grid(Grid { rows, ..grid })
    };
    let mut sections = Vec::new();
    if !table.rows.is_empty() {
        let published = table.rows.iter().map(published_cells).collect();
        sections.push(Section::new("", vec![grid(&PUBLISHED, published)]));
        let further = table.rows.iter().enumerate().map(|(index, row)| further_cells(index, row)).collect();
        sections.push(Section::new("More columns of the same rows", vec![grid(&FURTHER, further)]));
    }
    if !table.sync_rows.is_empty() {
        let rows = table.sync_rows.iter().map(sync_cells).collect();
        sections.push(Section::new("Durable appends", vec![grid(&SYNC, rows)]));
    }
    let remarks = remarks(table);
    if !remarks.is_empty() {
        sections.push(Section::new("", vec![Block::Items(remarks)]));
    }
    sections
}

/// What speaks against rows, then what touches all of them.
fn remarks(table: &IoTable) -> Vec<String> {
    let rows = table.rows.iter().map(|row| &row.flags);
    let sync_rows = table.sync_rows.iter().map(|row| &row.flags);
    let notes = notes("row", rows).into_iter().chain(notes("append row", sync_rows));
    notes.chain(table.warnings.iter().map(|warning| one_line(warning))).collect()
}

/// Writes the transfers as CSV (RFC 4180, LF). The first ten columns have the names and the order of the published
/// table. Units are named as they are: the published `transfer_kb` and `mbytes_per_s` are in KiB and MiB.
pub fn csv(table: &IoTable) -> String {
    let rows = &table.rows;
    let float = |get: fn(&IoRow) -> f64| Values::Float(rows.iter().map(|row| Some(get(row))).collect());
    let whole =
        |get: fn(&IoRow) -> Option<u64>| Values::Integer(rows.iter().map(|row| signed(get(row)?)).collect());
    let text = |get: fn(&IoRow) -> String| Values::Text(rows.iter().map(|row| Some(get(row))).collect());
    let columns = vec![
        ("transfer_kib", float(|row| kib(row.transfer_bytes))),
        ("read_write", text(direction)),
        ("pct_random", whole(|row| Some(row.random_percent.into()))),
        ("pct_sequential", whole(|row| Some(sequential_percent(row)))),
        ("outstanding_io", whole(|row| Some(row.outstanding))),
        ("iops", float(|row| row.iops)),
        ("mib_per_s", float(|row| row.mib_per_s)),
        ("avg_io_ms", float(|row| row.latency_ns_mean / 1e6)),
        ("max_io_ms", float(|row| ms(row.latency_ns_max))),
        ("cpu_pct", float(|row| row.cpu_percent)),
        ("jobs", whole(|row| Some(row.jobs.into()))),
        ("pct_read", whole(|row| Some(row.read_percent.into()))),
        ("p50_ms", float(|row| ms(row.latency_ns_p50))),
        ("p99_ms", float(|row| ms(row.latency_ns_p99))),
        ("p999_ms", float(|row| ms(row.latency_ns_p999))),
        ("own_cpu_pct", float(|row| row.own_cpu_percent)),
        ("own_cpu_us_per_io", float(|row| row.own_cpu_ns_per_transfer / 1e3)),
        ("transfer_count", whole(|row| Some(row.transfer_count))),
        ("transferred_bytes", whole(|row| Some(row.transferred_bytes))),
        ("device_read_bytes", whole(|row| row.device_read_bytes)),
        ("device_write_bytes", whole(|row| row.device_write_bytes)),
        ("device_pct", Values::Float(rows.iter().map(IoRow::device_percent).collect())),
        ("measured_s", float(|row| row.measured_ns as f64 / 1e9)),
        ("warm_up_s", float(|row| row.warm_up_ns as f64 / 1e9)),
        ("is_steady", Values::Boolean(rows.iter().map(|row| Some(row.is_steady)).collect())),
        ("flags", text(|row| row.flags.join("; "))),
    ];
    frame(columns).to_csv()
}

/// Writes the durable appends as CSV (RFC 4180, LF).
pub fn sync_csv(table: &IoTable) -> String {
    let rows = &table.sync_rows;
    let float = |get: fn(&IoSyncRow) -> f64| Values::Float(rows.iter().map(|row| Some(get(row))).collect());
    let whole = |get: fn(&IoSyncRow) -> Option<u64>| {
        Values::Integer(rows.iter().map(|row| signed(get(row)?)).collect())
    };
    let text = |get: fn(&IoSyncRow) -> String| Values::Text(rows.iter().map(|row| Some(get(row))).collect());
    let columns = vec![
        ("size_bytes", whole(|row| Some(row.size_bytes))),
        ("method", text(|row| row.method.clone())),
        ("writers", whole(|row| Some(row.writer_count.into()))),
        ("appends_per_s", float(|row| row.appends_per_s)),
        ("mib_per_s", float(|row| row.mib_per_s)),
        ("avg_ms", float(|row| row.latency_ns_mean / 1e6)),
        ("p50_ms", float(|row| ms(row.latency_ns_p50))),
        ("p99_ms", float(|row| ms(row.latency_ns_p99))),
        ("max_ms", float(|row| ms(row.latency_ns_max))),
        ("cpu_pct", float(|row| row.cpu_percent)),
        ("own_cpu_pct", float(|row| row.own_cpu_percent)),
        ("append_count", whole(|row| Some(row.append_count))),
        ("device_flush_count", whole(|row| row.device_flush_count)),
        ("measured_s", float(|row| row.measured_ns as f64 / 1e9)),
        ("flags", text(|row| row.flags.join("; "))),
    ];
    frame(columns).to_csv()
}

/// Writes a line about a stored baseline; `began_at` is its time in words.
pub fn list_line(stored: &StoredIoTable, began_at: &str) -> String {
    let StoredIoTable { id, table } = stored;
    let flagged = flagged_count(table);
    let matrix = if table.matrix.is_empty() { String::new() } else { plain(&table.matrix) + ": " };
    format!(
        "baseline {}  {began_at}  {matrix}{}; rows: {} of transfers, {} of appends, {flagged} flagged\n",
        id.0,
        plain(&table.title),
        table.rows.len(),
        table.sync_rows.len(),
    )
}

/// Writes the list of stored baselines as CSV (RFC 4180, LF).
pub fn list_csv(tables: &[StoredIoTable]) -> String {
    let whole = |get: fn(&StoredIoTable) -> u64| {
        Values::Integer(tables.iter().map(|stored| signed(get(stored))).collect())
    };
    let text = |get: fn(&IoTable) -> &str| {
        Values::Text(tables.iter().map(|stored| Some(get(&stored.table).to_owned())).collect())
    };
    frame(vec![
        ("baseline", Values::Integer(tables.iter().map(|stored| Some(stored.id.0)).collect())),
        ("began_unix_s", whole(|stored| stored.table.began_unix_s)),
        ("matrix", text(|table| &table.matrix)),
        ("title", text(|table| &table.title)),
        ("target", text(|table| &table.target)),
        ("device", text(|table| table.device.as_deref().unwrap_or_default())),
        ("engine", text(|table| &table.engine)),
        ("machine", text(|table| &table.machine)),
        ("row_count", whole(|stored| stored.table.rows.len() as u64)),
        ("append_row_count", whole(|stored| stored.table.sync_rows.len() as u64)),
    ])
    .to_csv()
}

/// Writes everything as one line of JSON, with the names and units of [`IoTable`].
pub fn json(table: &IoTable) -> String {
    serde_json::to_string(table).expect("numbers and text have a JSON form") + "\n"
}

fn frame(columns: Vec<(&str, Values)>) -> Frame {
    let column = |(name, values): (&str, Values)| Column { name: name.to_owned(), values };
    Frame { columns: columns.into_iter().map(column).collect() }
}

fn published_cells(row: &IoRow) -> Vec<String> {
    vec![
        number(kib(row.transfer_bytes)),
        direction(row),
        row.random_percent.to_string(),
        sequential_percent(row).to_string(),
        row.outstanding.to_string(),
        format!("{:.0}", row.iops),
        number(row.mib_per_s),
        number(row.latency_ns_mean / 1e6),
        number(ms(row.latency_ns_max)),
        format!("{:.2}", row.cpu_percent),
    ]
}

fn further_cells(index: usize, row: &IoRow) -> Vec<String> {
    let device_bytes =
        row.device_read_bytes.zip(row.device_write_bytes).map(|(read, write)| read.saturating_add(write));
    vec![
        (index + 1).to_string(),
        number(ms(row.latency_ns_p50)),
        number(ms(row.latency_ns_p99)),
        number(ms(row.latency_ns_p999)),
        device_bytes.map_or_else(absent, |bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 20))),
        row.device_percent().map_or_else(absent, |percent| format!("{percent:.1}")),
        format!("{:.2}", row.own_cpu_percent),
        format!("{:.2}", row.own_cpu_ns_per_transfer / 1e3),
        format!("{:.2}", row.warm_up_ns as f64 / 1e9),
    ]
}

fn sync_cells(row: &IoSyncRow) -> Vec<String> {
    vec![
        row.size_bytes.to_string(),
        plain(&row.method),
        row.writer_count.to_string(),
        format!("{:.0}", row.appends_per_s),
        number(row.mib_per_s),
        number(row.latency_ns_mean / 1e6),
        number(ms(row.latency_ns_p50)),
        number(ms(row.latency_ns_p99)),
        number(ms(row.latency_ns_max)),
        row.device_flush_count.map_or_else(absent, |count| count.to_string()),
        format!("{:.2}", row.cpu_percent),
    ]
}

/// One line for each kind of thing that speaks against some rows, with their numbers from 1: the first with its values, the others
/// by number.
fn notes<'a>(noun: &str, flags_by_row: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    struct Note<'a> {
        kind: String,
        text: &'a str,
        rows: Vec<usize>,
        similar: Vec<usize>,
    }
    let mut notes: Vec<Note<'_>> = Vec::new();
    for (index, flags) in flags_by_row.enumerate() {
        for flag in flags {
            let kind = without_values(flag);
            match notes.iter_mut().find(|note| note.kind == kind) {
                Some(note) if note.text == flag => note.rows.push(index + 1),
                Some(note) => note.similar.push(index + 1),
                None => notes.push(Note { kind, text: flag, rows: vec![index + 1], similar: Vec::new() }),
            }
        }
    }
    let numbers = |rows: &[usize]| {
        let plural = if rows.len() > 1 { "s" } else { "" };
        let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
        format!("{noun}{plural} {}", rows.join(", "))
    };
    let line = |note: Note<'_>| {
        let similar = match note.similar.is_empty() {
            true => String::new(),
            false => format!("; similar: {}", numbers(&note.similar)),
        };
        format!("{}: {}{similar}", numbers(&note.rows), one_line(note.text))
    };
    notes.into_iter().map(line).collect()
}

/// A sentence without its numbers: what two rows have in common that differ in values alone.
fn without_values(flag: &str) -> String {
    flag.chars().filter(|letter| !letter.is_ascii_digit() && !"+-.".contains(*letter)).collect()
}

/// Lines of a table: words left, numbers right, two spaces between.
fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    let width_of = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width_of).collect();
    let is_word = |column: usize| {
        rows.iter().all(|row| row[column].starts_with(|first: char| first.is_alphabetic()))
            && !rows.is_empty()
    };
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().enumerate().map(|(column, cell)| match is_word(column) {
            true => format!("{cell:<0$}", widths[column]),
            false => format!("{cell:>0$}", widths[column]),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(header.to_vec());
    rows.iter().for_each(|row| text += &line(row.iter().map(String::as_str).collect()));
    text
}

/// `Read`, `Write`, or the share of both.
fn direction(row: &IoRow) -> String {
    match row.read_percent {
        100.. => "Read".to_owned(),
        0 => "Write".to_owned(),
        read => format!("Read {read} % write {} %", 100 - read),
    }
}

fn sequential_percent(row: &IoRow) -> u64 {
    100u64.saturating_sub(row.random_percent.into())
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn absent() -> String {
    crate::number::ABSENT.to_owned()
}

/// Whole numbers and large ones without decimals, others with as many as show three digits.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 100.0 || large.fract() == 0.0 => 0,
        medium if medium >= 10.0 => 1,
        small if small >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn signed(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

#[cfg(test)]
mod tests;
