//! The ceilings of the devices beside what the runs reached.

use crate::layout::{Align, Block, Grid, Section};
use crate::summary::StudySummary;

/// The table of ceilings; `None` without any.
pub(crate) fn ceilings(summary: &StudySummary) -> Option<Section> {
    if summary.ceilings.is_empty() {
        return None;
    }
    let mut grid =
        Grid::named_by([("configuration".to_owned(), Align::Left), ("role".to_owned(), Align::Left)]).with([
            ("reached", Align::Right),
            ("maximum", Align::Right),
            ("unit", Align::Left),
            ("%", Align::Right),
            ("the device alone", Align::Wrapped),
        ]);
    for line in &summary.ceilings {
        grid.push(vec![
            line.label.clone(),
            line.role.clone(),
            format!("{:.1}", line.achieved),
            format!("{:.1}", line.possible),
            line.unit.to_owned(),
            format!("{:.0}", line.percent),
            line.pattern.clone(),
        ]);
    }
    let limits: Vec<String> = summary
        .ceilings
        .iter()
        .filter(|line| line.conclusion.is_some())
        .map(|line| format!("{}: {}.", line.label, line.sentence))
        .collect();
    let mut flags: Vec<String> = Vec::new();
    for flag in summary.ceilings.iter().flat_map(|line| &line.flags) {
        if !flags.contains(flag) {
            flags.push(flag.clone());
        }
    }
    let mut blocks = vec![Block::Grid(grid)];
    if !limits.is_empty() {
        blocks.push(Block::Paragraph(limits.join(" ")));
    }
    if !flags.is_empty() {
        blocks.push(Block::Paragraph(format!("Device baseline unreliable: {}.", flags.join("; "))));
    }
    Some(Section::new("Device ceilings", blocks))
}
