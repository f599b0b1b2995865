//! How tables and indexes lie on their pages: fragmentation and fill per level, and the strip map of the leaves.

use results::structure::{ObjectStructure, StructureReport};

use super::chart::strip;
use super::definitions::Definitions;
use super::{Page, absent, figure, tables};
use crate::layout::{Align, Block, Grid, Section};
use crate::number::ABSENT;

/// Strip maps drawn of one report; the tables have all objects.
const STRIPS_MAX: usize = 8;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> String {
    if page.structures.is_empty() {
        return absent("No structure of tables and indexes is stored in this results file.");
    }
    page.structures.iter().map(|report| one(report, definitions)).collect()
}

fn one(report: &StructureReport, definitions: &Definitions) -> String {
    let mut pictures = String::new();
    let with_map = report.objects.iter().filter_map(|object| Some((object, object.strip.as_ref()?)));
    for (object, map) in with_map.filter(|(_, map)| map.pages.len() > 1).take(STRIPS_MAX) {
        let title = format!("{}: page number over the order of the leaves", name(object));
        pictures.push_str(&figure(&strip::draw(&title, map.step, map.leaf_count, &map.pages), ""));
    }
    let mut grid = Grid::named_by([("object".to_owned(), Align::Left)]).with([
        ("kind", Align::Left),
        ("index_level", Align::Right),
        ("avg_fragmentation_pct", Align::Right),
        ("fragment_count", Align::Right),
        ("avg_fragment_size_pages", Align::Right),
        ("page_count", Align::Right),
        ("avg_page_space_used_pct", Align::Right),
        ("record_count", Align::Right),
        ("avg_record_size_bytes", Align::Right),
        ("estimate", Align::Left),
    ]);
    let decimal = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.2}"));
    let whole = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    for object in &report.objects {
        for level in &object.levels {
            grid.push(vec![
                name(object),
                object.kind.words().to_owned(),
                level.index_level.to_string(),
                decimal(Some(level.avg_fragmentation_pct)),
                level.fragment_count.to_string(),
                decimal(Some(level.avg_fragment_size_pages)),
                level.page_count.to_string(),
                decimal(level.avg_page_space_used_pct),
                whole(level.record_count),
                decimal(level.avg_record_size_bytes),
                if level.is_estimate { "estimated".to_owned() } else { String::new() },
            ]);
        }
    }
    let title = format!("{} ({}, {})", report.target, report.engine, report.mode.name());
    let section = Section::new(title, vec![Block::Grid(grid)]);
    format!("{}<div class=\"charts\">{pictures}</div>", tables::titled(&section, definitions))
}

fn name(object: &ObjectStructure) -> String {
    object.index.as_ref().map_or_else(|| object.table.clone(), |index| format!("{} {index}", object.table))
}
