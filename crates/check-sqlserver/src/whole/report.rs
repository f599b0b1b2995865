//! What is missing, as it stands in a report.

use formats::sqlserver::SetKind;
use results::check::{CheckLevel, Finding, NotChecked};
use results::wording::thousands;

use crate::catalog::Catalog;
use crate::finding::Draft;
use crate::maps::Maps;
use crate::rules;
use crate::run::context::Context;
use crate::run::state::Run;
use crate::run::worker::Worker;
use crate::source::Source;
use crate::whole::parts::Whole;

/// Objects with lost pages that a finding names.
const OBJECTS_NAMED_MAX: usize = 8;

impl Run<'_> {
    /// Keeps the reasons why the check is not complete; whether nothing between pages can be proven.
    pub(crate) fn look_at_parts(&mut self, whole: &Whole) -> bool {
        if self.options.is_raw {
            return whole.is_partial;
        }
        if whole.is_partial && self.options.level >= CheckLevel::Structure {
            let why = "these files are only a part of the database";
            self.left_out(None, "owners, links, rows and index entries", why);
        }
        self.reasons.extend(whole.reasons.iter().cloned());
        whole.is_partial
    }

    /// Data files of the database that the user did not name; and files that allocation pages name and no database has.
    pub(crate) fn look_at_files(&mut self, maps: &mut Maps, catalog: &Catalog, whole: &Whole) {
        let at_hand: Vec<u16> = self.source.database_files().iter().map(|(file, _)| *file).collect();
        if whole.is_partial || self.options.is_raw || at_hand.is_empty() {
            return;
        }
        let known = |file: &u16| catalog.files.is_empty() || catalog.files.contains_key(file);
        let missing_files = std::mem::take(&mut maps.missing_files);
        let (missing, invented): (Vec<_>, Vec<_>) =
            missing_files.into_iter().partition(|(file, _)| known(file));
        for (file, referrer) in invented {
            let all: Vec<String> = whole.files.iter().map(|file| file.number.to_string()).collect();
            let expected = format!("pages of a data file of the database: {}", all.join(", "));
            let found = format!("a page of file {file}");
            maps.findings.push(Draft::new(&rules::ALLOCATION_RANGE, referrer, expected, found));
        }
        let mut numbers: Vec<u16> = missing.into_iter().map(|(file, _)| file).collect();
        numbers.extend(whole.files.iter().map(|file| file.number).filter(|file| !at_hand.contains(file)));
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return;
        }
        self.lacks_files = true;
        let path = |number: &u16| {
            let of_whole = whole.files.iter().find(|file| file.number == *number).map(|file| &file.path);
            of_whole.or_else(|| catalog.files.get(number)).filter(|path| !path.is_empty())
        };
        let name = |number: &u16| match path(number) {
            Some(path) => format!("{number} (\"{path}\" on the server)"),
            None => number.to_string(),
        };
        let names: Vec<String> = numbers.iter().map(name).collect();
        let where_to = if self.source.is_backup { "in the backup" } else { "among the given files" };
        let why = format!("file {} of the database is not {where_to}", names.join(", "));
        if self.options.level >= CheckLevel::Structure {
            self.left_out(None, "comparisons between pages: owners, links, rows and index entries", &why);
        }
        self.reasons.push(why);
    }

    /// Findings about what is missing.
    pub(crate) fn report_whole(&mut self, context: &Context<'_>, whole: &Whole, worker: &mut Worker<'_>) {
        for (file, draft) in &whole.drafts {
            let mut draft = draft.clone();
            if draft.rule == &rules::FILE_SIZE && !context.maps.lost.is_empty() {
                draft.found += &lost_text(context);
            }
            if draft.rule.level <= self.options.level {
                let finding = context.finding(draft);
                worker.findings.push(Finding { file: file.clone(), ..finding });
            }
        }
        for file in self.source.files.iter().filter(|file| file.hole_bytes > 0) {
            let why = format!(
                "a hole of \"{}\" past the last page with data and the pages that the file header states: it was not read",
                file.shown
            );
            let what = format!("{} bytes at the end of a file", thousands(file.hole_bytes));
            self.report.not_checked.push(NotChecked::out_of_scope(None, what, why));
        }
        for unit in context.maps.lost.keys() {
            worker.damaged_units.insert(*unit);
        }
    }
}

/// The objects whose pages are past the end of a file.
fn lost_text(context: &Context<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for (unit, count) in &context.maps.lost {
        let name = context.plan.name(*unit).unwrap_or_default();
        names.push(format!("{count} of {name}"));
    }
    let more = names.len().saturating_sub(OBJECTS_NAMED_MAX);
    names.truncate(OBJECTS_NAMED_MAX);
    let more = if more > 0 { format!(" and of {more} others") } else { String::new() };
    format!(", among them pages of tables and indexes: {}{more}", names.join(", "))
}

/// What the files of a backup are, in words.
pub(crate) fn backup_text(source: &Source) -> String {
    let mut parts = vec!["Microsoft Tape Format, not compressed".to_owned()];
    let set = source.layouts.iter().find_map(|layout| layout.sets.get(layout.chosen()?));
    parts.extend(set.map(|set| match set.kind {
        SetKind::Full => "full".to_owned(),
        SetKind::Differential => "differential".to_owned(),
        SetKind::Other(attributes) => format!("attributes {attributes:#x}"),
    }));
    let media =
        source.layouts.iter().filter_map(|layout| layout.media).filter(|media| media.stripe_count > 1);
    let stripes: Vec<String> = media.clone().map(|media| media.stripe.to_string()).collect();
    if let Some(media) = media.clone().next() {
        parts.push(format!("stripe {} of {}", stripes.join(", "), media.stripe_count));
    }
    parts.join(", ")
}
