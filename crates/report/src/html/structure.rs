//! How tables and indexes lie on their pages: fragmentation and fill per level, and the strip map of the leaves.

use results::store::StoredStructure;
use results::structure::ObjectStructure;

use super::chart::strip;
use super::definitions::{Definitions, Tables};
use super::figure::{absent, figure};
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::layout::SectionId;
use crate::structure;
use crate::summary::cell_label;
use crate::tables::moment;

/// Strip maps drawn of one report; the tables have all objects.
const STRIPS_MAX: usize = 4;

/// Points of one strip map.
const POINTS_MAX: usize = 500;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let shown = shown(page);
    let definitions = &definitions.of(Tables::Structures);
    if shown.is_empty() {
        return absent("No structure was measured after these runs.");
    }
    let mut html: Markup =
        shown.iter().map(|(title, stored)| one(title, stored, shown.len() < 4, definitions)).collect();
    if page.structures.len() > shown.len() {
        html.push(&absent(&format!(
            "{} of {} stored structures are shown: one run of each configuration.",
            shown.len(),
            page.structures.len()
        )));
    }
    html
}

/// One structure of each configuration of the study, with what they are called.
fn shown<'a>(page: &Page<'a>) -> Vec<(String, &'a StoredStructure)> {
    let mut shown: Vec<(String, &StoredStructure)> = Vec::new();
    for cell in &page.summary.cells {
        let of_cell = page.results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.cell_index);
        let run = of_cell.clone().filter(|stored| stored.counts()).chain(of_cell);
        let found = run.filter_map(|run| {
            let stored = page.structures.iter().find(|stored| stored.run_id == Some(run.run_id))?;
            Some((format!("{} (run {})", cell_label(page.results, cell.cell_index), run.run_id), stored))
        });
        shown.extend(found.take(1));
    }
    shown
}

/// The body of a page about one structure that was measured by itself.
pub(super) fn alone(stored: &StoredStructure, definitions: &Definitions) -> Markup {
    let title = format!("{} ({})", stored.place, moment(&stored.stored_at));
    one(&title, stored, true, &definitions.of(Tables::Structures))
}

fn one(title: &str, stored: &StoredStructure, is_open: bool, definitions: &Definitions) -> Markup {
    let report = &stored.report;
    let mut pictures = Markup::default();
    let with_map = report.objects.iter().filter_map(|object| Some((object, object.strip.as_ref()?)));
    for (object, map) in with_map.filter(|(_, map)| map.pages.len() > 1).take(STRIPS_MAX) {
        let every = map.pages.len().div_ceil(POINTS_MAX).max(1);
        let pages: Vec<u64> = map.pages.iter().copied().step_by(every).collect();
        let heading = format!("{}: physical page", name(object));
        let svg = strip::draw(&heading, map.step * every as u64, map.leaf_count, &pages);
        pictures.push(&figure(&svg, &Markup::default()));
    }
    // The strip maps are drawn: their form in characters is for terminals.
    let sections = structure::sections(report);
    let mut sections = sections.into_iter().filter(|section| section.id != SectionId::StripMaps);
    let id = format!("structure-{}", stored.id);
    let mut html = Markup::default();
    if let Some(mut levels) = sections.next() {
        levels.title = format!("{title}: {}", levels.title);
        html.push(&tables::folded(&id, &levels, definitions, is_open));
    }
    html.push(&markup!("<div class=\"charts strips\">{}</div>", pictures));
    for (index, section) in sections.filter(|section| !section.blocks.is_empty()).enumerate() {
        html.push(&tables::folded(&format!("{id}-{index}"), &section, definitions, false));
    }
    html
}

fn name(object: &ObjectStructure) -> String {
    object.index.as_ref().map_or_else(|| object.table.clone(), |index| format!("{} {index}", object.table))
}
