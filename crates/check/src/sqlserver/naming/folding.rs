//! One finding for a row that does not agree with several indexes: the row is their common cause.

use std::collections::{HashMap, HashSet};

use formats::sqlserver::RecordId;

use super::super::finding::Draft;
use super::super::rules::Promised;

/// Puts findings about one row and several indexes together, and drops those about the entries that these indexes have for
/// the row. `pairs` has the row of an entry, by the entry's place.
pub(in super::super) fn fold_rows(drafts: &mut Vec<Draft>, pairs: &HashMap<RecordId, RecordId>) {
    let mut counts: HashMap<RecordId, usize> = HashMap::new();
    for place in
        drafts.iter().filter(|draft| draft.promised == Promised::RowWithoutEntry).filter_map(place_of)
    {
        *counts.entry(place).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    let mut first: HashMap<RecordId, usize> = HashMap::new();
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    let mut folded: HashSet<RecordId> = HashSet::new();
    for draft in drafts.drain(..) {
        let place = place_of(&draft);
        match draft.promised {
            Promised::RowWithoutEntry => {
                let Some(place) = place.filter(|place| counts.contains_key(place)) else {
                    kept.push(draft);
                    continue;
                };
                folded.insert(place);
                match first.get(&place).and_then(|index| kept.get_mut(*index)) {
                    Some(whole) => add(whole, &draft),
                    None => {
                        first.insert(place, kept.len());
                        kept.push(draft);
                    }
                }
            }
            // Its row is told with the values of both.
            Promised::EntryWithoutRow
                if place.and_then(|entry| pairs.get(&entry)).is_some_and(|row| counts.contains_key(row)) => {}
            _ => kept.push(draft),
        }
    }
    *drafts = kept;
}

/// Adds the index of a finding about the same row.
fn add(whole: &mut Draft, other: &Draft) {
    if let Some(index) = other.expected.strip_prefix("an entry for the row in ") {
        whole.expected += &format!(", {index}");
    }
    if !whole.found.contains(&other.found) {
        whole.found = format!("{}; {}", whole.found, other.found);
    }
}

fn place_of(draft: &Draft) -> Option<RecordId> {
    Some(RecordId { page: draft.page?, slot: u16::try_from(draft.slot?).ok()? })
}
