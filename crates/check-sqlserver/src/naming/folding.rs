//! One finding for a row that does not agree with several indexes, or that several indexes miss: the row is their common
//! cause.

use std::collections::HashMap;

use formats::sqlserver::RecordId;

use crate::finding::Draft;
use crate::naming::entries::Counterparts;
use crate::rules;

/// What to do about a row that differs from what several indexes have.
const ROW_DIFFERS: &str = "compare the row with a backup: it differs from several indexes, so the row is more likely at fault than they are; rebuild the indexes only when the row is right";
/// What to do about a row that several indexes have and the table has not.
const ROW_LOST: &str = "the row is lost from the table: restore the page that contained it from a backup and replay the transaction log; rebuilding the indexes would remove the last trace of the row";

/// Puts findings about one row and several indexes together, and drops those about the entries that these indexes have for
/// the row. Entries of several indexes for a row that is not there become one finding as well.
pub(crate) fn fold_rows(drafts: &mut Vec<Draft>, counterparts: &Counterparts) {
    let mut counts: HashMap<RecordId, usize> = HashMap::new();
    for place in drafts.iter().filter(|draft| draft.rule == &rules::ROW_WITHOUT_ENTRY).filter_map(place_of) {
        *counts.entry(place).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    let mut first: HashMap<RecordId, usize> = HashMap::new();
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    let mut lost: HashMap<&(u32, String), usize> = HashMap::new();
    for draft in drafts.drain(..) {
        let place = place_of(&draft);
        if draft.rule == &rules::ROW_WITHOUT_ENTRY {
            let Some(place) = place.filter(|place| counts.contains_key(place)) else {
                kept.push(draft);
                continue;
            };
            match first.get(&place).and_then(|index| kept.get_mut(*index)) {
                Some(whole) => add(whole, &draft),
                None => {
                    first.insert(place, kept.len());
                    kept.push(draft);
                }
            }
        } else if draft.rule == &rules::ENTRY_WITHOUT_ROW {
            let pair = place.and_then(|entry| counterparts.pairs.get(&entry));
            // Its row is reported with the values of both.
            if pair.is_some_and(|row| counts.contains_key(row)) {
                continue;
            }
            let row = place.and_then(|entry| counterparts.locators.get(&entry));
            match row.and_then(|row| lost.get(row)).and_then(|index| kept.get_mut(*index)) {
                Some(whole) if whole.unit != draft.unit => add_entry(whole, &draft),
                _ => {
                    lost.extend(row.map(|row| (row, kept.len())));
                    kept.push(draft);
                }
            }
        } else {
            kept.push(draft);
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
    whole.next_step = Some(ROW_DIFFERS);
}

/// Adds the entry of another index for a row that is not there.
fn add_entry(whole: &mut Draft, other: &Draft) {
    let entry = other.found.strip_prefix("none for the entry of ").unwrap_or(&other.found);
    whole.found = format!("{}; {entry}", whole.found.replacen("for the entry of", "for the entries of", 1));
    whole.next_step = Some(ROW_LOST);
}

fn place_of(draft: &Draft) -> Option<RecordId> {
    Some(RecordId { page: draft.page?, slot: u16::try_from(draft.slot?).ok()? })
}
