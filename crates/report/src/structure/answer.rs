//! What a structure came to, in sentences: how much there is, the most fragmented tree, the emptiest pages.

use results::structure::{LevelStructure, ObjectStructure, StructureReport};
use results::wording::{counted, counted_as, thousands};

use crate::number::percent;
use crate::plain::{one_line, plain};

/// Trees with fewer leaf pages are small: their fragmentation is of no consequence.
const LEAVES_MIN: u64 = 16;

/// The result: the first sentence alone stands in lists.
pub fn answer(report: &StructureReport) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(reason) = &report.unfinished {
        sentences.push(format!("Not finished: {}.", one_line(reason)));
    }
    let leaves = |object: &'_ ObjectStructure| -> Option<LevelStructure> {
        object.levels.iter().find(|level| level.index_level == 0 && level.page_count >= LEAVES_MIN).cloned()
    };
    let known: Vec<(&ObjectStructure, LevelStructure)> =
        report.objects.iter().filter_map(|object| Some((object, leaves(object)?))).collect();
    let count = counted_as(report.objects.len() as u64, "table or index", "tables and indexes");
    let pages: u64 = report.objects.iter().map(|object| object.page_count).sum();
    let trees = known.iter().filter(|(object, _)| object.strip.is_some());
    let worst =
        trees.max_by(|one, other| one.1.avg_fragmentation_pct.total_cmp(&other.1.avg_fragmentation_pct));
    let worst = worst.map_or_else(String::new, |(object, level)| {
        format!(
            "; most fragmented: {}, {} % of {}",
            name(object),
            percent(level.avg_fragmentation_pct),
            counted(level.page_count, "leaf page")
        )
    });
    sentences.push(format!("{count} on {}{worst}.", counted(pages, "page")));
    let filled = known.iter().filter_map(|(object, level)| Some((object, level.avg_page_space_used_pct?)));
    let emptiest = filled.min_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((object, used)) = emptiest {
        sentences.push(format!(
            "Lowest fill: {}, {} % of the space in its leaf pages.",
            name(object),
            percent(used)
        ));
    }
    let damaged = report.accounting.damaged_count;
    if damaged > 0 {
        let are = if damaged == 1 { "is" } else { "are" };
        sentences.push(format!("{} {are} left out as damaged: run fathom check.", counted(damaged, "page")));
    }
    if report.accounting.unreadable_count > 0 {
        sentences.push(format!("{} pages could not be read.", thousands(report.accounting.unreadable_count)));
    }
    sentences
}

/// `table orders`, `index orders_customer`.
fn name(object: &ObjectStructure) -> String {
    match &object.index {
        Some(index) => format!("index {}", plain(index)),
        None => format!("table {}", plain(&object.table)),
    }
}
