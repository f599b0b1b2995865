//! Levels of tables and indexes as text, CSV and JSON: the published thirteen columns in the published order.

mod answer;
mod picture;

use results::structure::{LevelStructure, ObjectStructure, StructureMode, StructureReport};

use crate::export::{Column, Frame, Values};
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{ABSENT, percent};
use crate::plain::plain;
pub use answer::answer;
use picture::{bounds, picture};

/// Names of the columns of [`csv`]: the first thirteen are the published ones. docs/check/structure.md defines each.
pub const COLUMNS: [&str; 27] = [
    "table",
    "index_id",
    "index_depth",
    "index_level",
    "avg_fragmentation_pct",
    "fragment_count",
    "avg_fragment_size_pages",
    "page_count",
    "avg_page_space_used_pct",
    "record_count",
    "min_record_size_bytes",
    "max_record_size_bytes",
    "avg_record_size_bytes",
    "backward_pct",
    "index",
    "kind",
    "backward_count",
    "successor_count",
    "free_bytes",
    "room_bytes",
    "ghost_record_count",
    "forwarded_record_count",
    "overflow_page_count",
    "free_page_count",
    "unused_page_count",
    "unclear_page_count",
    "is_estimate",
];

/// Pictures of strip maps in one text; all maps are in the JSON.
const PICTURE_COUNT_MAX: usize = 6;
/// Leaves from which on a picture tells something.
const PICTURE_LEAVES_MIN: u64 = 16;

/// What became of the pages that were to be read.
fn sentences(report: &StructureReport) -> Vec<String> {
    let mut items = Vec::new();
    let mode = match report.mode {
        StructureMode::Limited => "limited: pages above the leaves only",
        StructureMode::Sampled => "sampled: pages above the leaves, and one leaf in a hundred of large trees",
        StructureMode::Detailed => "detailed: every page",
    };
    items.push(format!("mode {mode}"));
    for (name, value) in &report.facts {
        items.push(format!("{name}: {}", plain(value)));
    }
    let accounting = &report.accounting;
    let damaged = match accounting.damaged_count {
        0 => String::new(),
        count => format!("; {count} damaged pages left out (see `fathom check`)"),
    };
    let unreadable = match accounting.unreadable_count {
        0 => String::new(),
        count => format!("; {count} pages could not be read"),
    };
    let seconds = report.counters.elapsed_ns as f64 / 1e9;
    items.push(format!("{} pages read in {seconds:.3} s{damaged}{unreadable}", pages_read(report)));
    if report.counters.pass_ns > 0 {
        let rate = accounting.bytes_read as f64 / f64::from(1 << 20) * 1e9 / report.counters.pass_ns as f64;
        items.push(format!(
            "{rate:.0} MiB/s, {} workers, {}",
            report.counters.worker_count,
            plain(&report.counters.reader)
        ));
    }
    items
}

fn pages_read(report: &StructureReport) -> u64 {
    let accounting = &report.accounting;
    accounting.page_count
        - (accounting.unreadable_count + accounting.unreached_count).min(accounting.page_count)
}

/// The sections of a text: the columns, what belongs to whole objects, strip maps, what was left out.
pub(crate) fn sections(report: &StructureReport) -> Vec<Section> {
    let prefix = common_prefix(report);
    let mut title = format!("Structure of {}", plain(&report.target));
    if !prefix.is_empty() {
        title += &format!(", tables of {}", plain(prefix.trim_end_matches('.')));
    }
    let mut first = Vec::new();
    if let Some(reason) = &report.unfinished {
        first.push(Block::Paragraph(format!("Not finished: {}.", plain(reason))));
    }
    if report.objects.is_empty() {
        first.push(Block::Paragraph("No table and no index to show.".to_owned()));
    } else {
        first.push(Block::Grid(level_grid(report, prefix)));
    }
    let mut sections = vec![Section::new(title, first)];
    sections.push(Section::new("Tables and indexes", object_blocks(report, prefix)));
    sections.push(Section::new("Strip maps", pictures(report, prefix)).named(SectionId::StripMaps));
    if !report.left_out.is_empty() {
        let item = |gap: &results::check::NotChecked| {
            let object = gap.object.as_deref().map_or(String::new(), |object| format!("{}: ", plain(object)));
            format!("{object}{} ({})", plain(&gap.what), plain(&gap.why))
        };
        let items = report.left_out.iter().map(item).collect();
        sections.push(Section::new("Left out", vec![Block::Items(items)]));
    }
    sections.push(Section::new("How it was measured", vec![Block::Items(sentences(report))]));
    sections
}

/// `database.schema.` when all tables have the same.
fn common_prefix(report: &StructureReport) -> &str {
    let prefix_of = |object: &'_ ObjectStructure| object.table.rfind('.').map_or(0, |dot| dot + 1);
    let Some(first) = report.objects.first() else { return "" };
    let prefix = first.table.get(..prefix_of(first)).unwrap_or_default();
    if report.objects.iter().all(|object| object.table.starts_with(prefix)) { prefix } else { "" }
}

fn level_grid(report: &StructureReport, prefix: &str) -> Grid {
    let numbers = [
        "Index id",
        "Depth",
        "Level",
        "Frag- ment %",
        "Frag- ments",
        "Pages/ fragm.",
        "Pages",
        "Space used %",
        "Records",
        "Min bytes",
        "Max bytes",
        "Avg bytes",
        "Back %",
    ];
    let mut grid =
        Grid::named_by([("Table".to_owned(), Align::Left)]).with(numbers.map(|name| (name, Align::Right)));
    for object in &report.objects {
        for level in &object.levels {
            let table = object.table.strip_prefix(prefix).unwrap_or(&object.table);
            let mut cells = vec![
                table.to_owned(),
                object.index_id.to_string(),
                object.index_depth.to_string(),
                level.index_level.to_string(),
            ];
            cells.extend(figures(level));
            grid.push(cells);
        }
    }
    grid
}

/// The cells from the fragmentation on.
fn figures(level: &LevelStructure) -> [String; 10] {
    // A figure that was worked out from a part of the pages is marked.
    let mark = |text: String| if level.is_estimate { format!("~{text}") } else { text };
    let whole = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    [
        percent(level.avg_fragmentation_pct),
        level.fragment_count.to_string(),
        format!("{:.1}", level.avg_fragment_size_pages),
        level.page_count.to_string(),
        level.avg_page_space_used_pct.map_or(ABSENT.to_owned(), |value| mark(percent(value))),
        level.record_count.map_or(ABSENT.to_owned(), |value| mark(value.to_string())),
        whole(level.min_record_size_bytes),
        whole(level.max_record_size_bytes),
        level.avg_record_size_bytes.map_or(ABSENT.to_owned(), |value| format!("{value:.1}")),
        percent(level.backward_pct),
    ]
}

fn name_of(object: &ObjectStructure, prefix: &str) -> String {
    let table = object.table.strip_prefix(prefix).unwrap_or(&object.table);
    object.index.as_ref().map_or_else(|| plain(table), |index| format!("{} {}", plain(table), plain(index)))
}

fn object_blocks(report: &StructureReport, prefix: &str) -> Vec<Block> {
    if report.objects.is_empty() {
        return Vec::new();
    }
    let words = [("Index id", Align::Right), ("Index", Align::Left), ("Kind", Align::Left)];
    let numbers = ["Pages", "Overflow", "Free", "Unused", "Unclear"].map(|name| (name, Align::Right));
    let mut grid = Grid::named_by([("Table".to_owned(), Align::Left)]).with(words).with(numbers);
    let count = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    for object in &report.objects {
        grid.push(vec![
            object.table.strip_prefix(prefix).unwrap_or(&object.table).to_owned(),
            object.index_id.to_string(),
            object.index.clone().unwrap_or_else(|| ABSENT.to_owned()),
            object.kind.words().to_owned(),
            object.page_count.to_string(),
            count(object.overflow_page_count),
            count(object.free_page_count),
            count(object.unused_page_count),
            object.unclear_page_count.to_string(),
        ]);
    }
    let noted = report.objects.iter().flat_map(|object| {
        object.notes.iter().map(|note| format!("{}: {}", name_of(object, prefix), plain(note)))
    });
    let notes: Vec<String> = noted.collect();
    let mut blocks = vec![Block::Grid(grid)];
    if !notes.is_empty() {
        blocks.push(Block::Items(notes));
    }
    blocks
}

/// Pictures of the largest trees, in the order of the table.
fn pictures(report: &StructureReport, prefix: &str) -> Vec<Block> {
    let map_of = |object: &ObjectStructure| {
        object.strip.as_ref().filter(|map| map.leaf_count >= PICTURE_LEAVES_MIN).map(|map| map.leaf_count)
    };
    let mut sizes: Vec<u64> = report.objects.iter().filter_map(map_of).collect();
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let least = sizes.get(PICTURE_COUNT_MAX - 1).copied().unwrap_or(PICTURE_LEAVES_MIN);
    let shown = report.objects.iter().filter(|object| map_of(object).is_some_and(|leaves| leaves >= least));
    let mut blocks = Vec::new();
    for object in shown.take(PICTURE_COUNT_MAX) {
        let Some(map) = &object.strip else { continue };
        let (low, high) = bounds(map);
        blocks.push(Block::Paragraph(format!(
            "{}: {} leaves, left to right in key order; pages {low} to {high}, bottom to top",
            name_of(object, prefix),
            map.leaf_count
        )));
        blocks.push(Block::Items(picture(map)));
    }
    if sizes.len() > PICTURE_COUNT_MAX {
        let more = sizes.len() - PICTURE_COUNT_MAX;
        blocks.push(Block::Paragraph(format!("{more} smaller trees: see --json or --table.")));
    }
    blocks
}

/// Writes one line per level as CSV (RFC 4180, LF); the columns are [`COLUMNS`].
pub fn csv(report: &StructureReport) -> String {
    let rows: Vec<(&ObjectStructure, &LevelStructure)> = report
        .objects
        .iter()
        .flat_map(|object| object.levels.iter().map(move |level| (object, level)))
        .collect();
    let signed = |value: u64| i64::try_from(value).ok();
    let values = |name: &str| -> Values {
        let text = |get: &dyn Fn(&ObjectStructure) -> Option<String>| {
            Values::Text(rows.iter().map(|(object, _)| get(object)).collect())
        };
        let of_object = |get: &dyn Fn(&ObjectStructure) -> Option<u64>| {
            Values::Integer(rows.iter().map(|(object, _)| get(object).and_then(signed)).collect())
        };
        let whole = |get: &dyn Fn(&LevelStructure) -> Option<u64>| {
            Values::Integer(rows.iter().map(|(_, level)| get(level).and_then(signed)).collect())
        };
        let float = |get: &dyn Fn(&LevelStructure) -> Option<f64>| {
            Values::Float(rows.iter().map(|(_, level)| get(level)).collect())
        };
        match name {
            "table" => text(&|object| Some(object.table.clone())),
            "index_id" => of_object(&|object| Some(object.index_id.into())),
            "index_depth" => of_object(&|object| Some(object.index_depth.into())),
            "index_level" => whole(&|level| Some(level.index_level.into())),
            "avg_fragmentation_pct" => float(&|level| Some(level.avg_fragmentation_pct)),
            "fragment_count" => whole(&|level| Some(level.fragment_count)),
            "avg_fragment_size_pages" => float(&|level| Some(level.avg_fragment_size_pages)),
            "page_count" => whole(&|level| Some(level.page_count)),
            "avg_page_space_used_pct" => float(&|level| level.avg_page_space_used_pct),
            "record_count" => whole(&|level| level.record_count),
            "min_record_size_bytes" => whole(&|level| level.min_record_size_bytes),
            "max_record_size_bytes" => whole(&|level| level.max_record_size_bytes),
            "avg_record_size_bytes" => float(&|level| level.avg_record_size_bytes),
            "backward_pct" => float(&|level| Some(level.backward_pct)),
            "index" => text(&|object| object.index.clone()),
            "kind" => text(&|object| Some(object.kind.words().to_owned())),
            "backward_count" => whole(&|level| Some(level.backward_count)),
            "successor_count" => whole(&|level| Some(level.successor_count)),
            "free_bytes" => whole(&|level| level.free_bytes),
            "room_bytes" => whole(&|level| level.room_bytes),
            "ghost_record_count" => whole(&|level| level.ghost_record_count),
            "forwarded_record_count" => whole(&|level| level.forwarded_record_count),
            "overflow_page_count" => of_object(&|object| object.overflow_page_count),
            "free_page_count" => of_object(&|object| object.free_page_count),
            "unused_page_count" => of_object(&|object| object.unused_page_count),
            "unclear_page_count" => of_object(&|object| Some(object.unclear_page_count)),
            _ => Values::Boolean(rows.iter().map(|(_, level)| Some(level.is_estimate)).collect()),
        }
    };
    let column = |name: &str| Column { name: name.to_owned(), values: values(name) };
    Frame { columns: COLUMNS.map(column).into() }.to_csv()
}

/// Writes everything as one line of JSON, with the names and units of [`StructureReport`].
pub fn json(report: &StructureReport) -> String {
    serde_json::to_string(report).expect("numbers and text have a JSON form") + "\n"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use results::check::{Accounting, NotChecked};
    use results::structure::{StorageKind, StripMap, StructureCounters};

    fn level(index_level: u32, page_count: u64) -> LevelStructure {
        LevelStructure {
            index_level,
            avg_fragmentation_pct: 99.2,
            fragment_count: page_count,
            avg_fragment_size_pages: 1.0,
            page_count,
            avg_page_space_used_pct: Some(68.4),
            record_count: Some(50_000_000),
            min_record_size_bytes: Some(25),
            max_record_size_bytes: Some(25),
            avg_record_size_bytes: Some(25.0),
            ..LevelStructure::default()
        }
    }

    fn report(table: &str) -> StructureReport {
        let object = ObjectStructure {
            table: table.to_owned(),
            index: Some("pk\u{1b}[31m".to_owned()),
            index_id: 2,
            kind: StorageKind::IndexTree,
            index_depth: 4,
            levels: vec![level(0, 243_713), level(1, 1_087)],
            page_count: 244_805,
            overflow_page_count: None,
            free_page_count: Some(7),
            unused_page_count: None,
            unclear_page_count: 0,
            strip: Some(StripMap::thinned(300, (0..300).map(|page| page * 7 % 300), 100)),
            notes: vec!["a note".to_owned()],
        };
        StructureReport {
            engine: "postgres".to_owned(),
            target: "/data".to_owned(),
            mode: StructureMode::Detailed,
            page_size_bytes: 8192,
            facts: vec![("version".to_owned(), "15".to_owned())],
            objects: vec![object],
            free_page_count: None,
            left_out: vec![NotChecked::coverage(None, "x", "y")],
            accounting: Accounting { page_count: 10, damaged_count: 1, ..Accounting::default() },
            counters: StructureCounters::default(),
            unfinished: None,
        }
    }

    #[test]
    fn the_thirteen_columns_stand_in_the_published_order() {
        let csv = csv(&report("TestGuid_HeapInsert"));
        // EVIDENCE: sys.dm_db_index_physical_stats, the columns of a published table in their order
        let published = "table,index_id,index_depth,index_level,avg_fragmentation_pct,fragment_count,\
                         avg_fragment_size_pages,page_count,avg_page_space_used_pct,record_count,\
                         min_record_size_bytes,max_record_size_bytes,avg_record_size_bytes,backward_pct,";
        assert!(csv.starts_with(published), "{csv}");
        let row = csv.lines().nth(1).unwrap();
        assert!(row.starts_with("TestGuid_HeapInsert,2,4,0,99.2,243713,1,243713,68.4,50000000,25,25,25,"));
        assert_eq!(csv.lines().count(), 3);
    }

    #[test]
    fn a_text_has_columns_picture_notes_and_what_was_left_out_and_no_control_characters() {
        let text = crate::text::structure(&report("shop.public.orders"));
        let words: Vec<&str> =
            text.lines().find(|line| line.contains("243713")).unwrap().split_whitespace().collect();
        assert_eq!(words[..8], ["orders", "2", "4", "0", "99.2", "243713", "1.0", "243713"]);
        assert!(text.contains("tables of shop.public") && text.contains("a note"), "{text}");
        assert!(text.contains("x (y)") && text.contains("1 damaged pages left out"), "{text}");
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('|')).count(), 12);
        assert!(!text.contains('\u{1b}') && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_is_absent_is_a_dash_and_an_estimate_is_marked() {
        let mut report = report("t");
        let level = &mut report.objects[0].levels[0];
        (level.record_count, level.is_estimate) = (None, true);
        let text = crate::text::structure(&report);
        assert!(text.contains("~68.4") && text.contains(" - "), "{text}");
        report.objects.clear();
        assert!(crate::text::structure(&report).contains("No table and no index"));
    }
}
