//! How tables and indexes lie on their pages: fragmentation and fill per level, and the strip map of the leaves.

use results::store::StoredStructure;
use results::structure::ObjectStructure;

use super::chart::strip;
use super::definitions::{Definitions, Tables};
use super::figure::{absent, figure};
use super::markup::{Markup, markup};
use super::page::Page;
use super::shell::shelled;
use super::tables;
use crate::layout::SectionId;
use crate::structure;
use crate::summary::cell_label;
use crate::tables::{file_name, moment};

/// Strip maps drawn of one report; the tables have all objects.
const STRIPS_MAX: usize = 4;

/// Points of one strip map.
const POINTS_MAX: usize = 500;

/// The section; empty without structures.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let shown = shown(page);
    let definitions = &definitions.of(Tables::Structures);
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

/// The page of one structure that was measured by itself; number 0 stands for one that was not stored.
pub fn page(stored: &StoredStructure) -> String {
    let definitions = Definitions::load();
    let report = &stored.report;
    let engine = report.engine_id().map_or(report.engine.as_str(), |engine| engine.title());
    let number = (stored.id > 0).then(|| format!("structure {}", stored.id));
    let mode = format!("mode {}", report.mode.name());
    let kicker = [number, Some(moment(&stored.stored_at)), Some(engine.to_owned()), Some(mode)];
    let mut sentences = structure::answer(report).into_iter();
    let headline = sentences.next().unwrap_or_default();
    let more: Markup = sentences.map(|sentence| markup!("<p>{}</p>", sentence)).collect();
    let answer = markup!(
        "<h2>Result</h2><p class=\"environment\">{}</p><p class=\"headline\">{}</p>{}",
        stored.place,
        headline,
        more
    );
    let body =
        markup!("<h2>Levels and leaves</h2>{}", one("", stored, true, &definitions.of(Tables::Structures)));
    let kicker: Vec<String> = kicker.into_iter().flatten().collect();
    let title = format!("Structure of {}", file_name(&stored.place));
    shelled(&title, &kicker.join(" · "), &[answer, body], &definitions)
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
        levels.title = title.to_owned();
        html.push(&match title {
            "" => tables::blocks(&levels, definitions),
            _ => tables::folded(&id, &levels, definitions, is_open),
        });
    }
    if !pictures.is_empty() {
        html.push(&markup!("<div class=\"charts strips\">{}</div>", pictures));
    }
    for (index, section) in sections.filter(|section| !section.blocks.is_empty()).enumerate() {
        html.push(&tables::folded(&format!("{id}-{index}"), &section, definitions, false));
    }
    html
}

fn name(object: &ObjectStructure) -> String {
    object.index.as_ref().map_or_else(|| object.table.clone(), |index| format!("{} {index}", object.table))
}
