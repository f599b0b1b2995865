//! Pages that nothing refers to: lost when all trees could be followed, else judged one by one.

use std::sync::atomic::Ordering;

use formats::sqlite::Coverage;
use results::check::{Confidence, NotChecked, Skipped};

use crate::finding::Draft;
use crate::map::Use;
use crate::page::faults::fault_text;
use crate::page::look::{Look, look};
use crate::rules;
use crate::run::context::Context;
use crate::run::worker::Worker;
use crate::source::reader::Brake;

/// What became of pages that nothing refers to.
#[derive(Default)]
pub(crate) struct Strays {
    /// Those that could not be judged, and why.
    pub(crate) skipped: Vec<Skipped>,
    /// What the others were not tested for.
    pub(crate) not_checked: Option<NotChecked>,
}

/// Reports pages that nothing refers to.
///
/// Where a branch could not be read, or the schema, they may belong to it: each is then judged by itself, as raw mode does.
/// I/O: one read for each, in the order of the file, through the page cache; none on a file without damage. A check that can be
/// resumed has no time limit here: a later call must find the same.
pub(crate) fn report_strays(context: &Context<'_>, worker: &mut Worker<'_>, brake: &Brake) -> Strays {
    let mut pages = (1..=context.page_count).filter(|page| context.map.use_of(*page) == Use::None);
    if !context.is_cut.load(Ordering::Relaxed) {
        for page in pages {
            let draft =
                Draft::new(&rules::PAGE_UNUSED, page, "a use, or an entry on the freelist", "neither");
            worker.report_at_once(draft);
        }
        return Strays::default();
    }
    let (mut zeros, mut others, mut judged, mut late) = (0, 0, 0, 0);
    let (mut coverage, mut bytes, mut again) = (Coverage::default(), Vec::new(), Vec::new());
    for page in pages.by_ref() {
        if context.damaged_pages.contains(page as usize) {
            continue;
        }
        if brake.is_over() {
            late += 1;
            continue;
        }
        // A page that cannot be read was counted by the pass.
        if context.reader.read(page, &mut bytes).is_err() {
            continue;
        }
        match look(&bytes, page, context.geometry, &mut coverage) {
            Look::Intact => judged += 1,
            Look::Zeros => zeros += 1,
            Look::Other => others += 1,
            Look::Wrong(_) if context.reader.read(page, &mut again).is_err() || again != bytes => {
                worker.changed();
            }
            Look::Wrong(damage) => {
                judged += 1;
                let expected = format!("{}: {}", fault_text(damage.fault), damage.expected_text());
                let mut draft = Draft::new(&rules::PAGE_LAYOUT, page, expected, damage.found_text());
                draft.slot = damage.slot.map(u64::from);
                draft.offset_bytes = Some(u64::from(damage.offset_bytes));
                worker.report_at_once(draft.confidence(Confidence::Possible));
            }
        }
    }
    let reasons = [
        (zeros, "no readable page refers to them, and they are all zeros"),
        (others, "no readable page refers to them, and they are not b-tree pages: overflow, free or damaged"),
        (late, "no readable page refers to them, and the check ended before they were verified"),
    ];
    let skipped = reasons.into_iter().filter(|(count, _)| *count > 0);
    Strays {
        skipped: skipped.map(|(page_count, why)| Skipped { why: why.to_owned(), page_count }).collect(),
        not_checked: (judged > 0).then(|| {
            NotChecked::coverage(
                None,
                format!("links, rows and index entries of {judged} pages"),
                "the pages that refer to them are unreadable; they were verified one by one",
            )
        }),
    }
}
