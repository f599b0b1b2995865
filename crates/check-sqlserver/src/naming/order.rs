//! The order of keys in a page.

use std::cmp::Ordering;

use formats::sqlserver::Record;

use crate::finding::Draft;
use crate::page::inside::Place;
use crate::page::keys;
use crate::rules;
use crate::run::worker::Worker;

impl Worker<'_> {
    /// Compares the key of each record with that of the one before; without those of positions that stand for all keys.
    pub(crate) fn look_at_order(
        &mut self,
        place: &Place<'_>,
        records: &[(usize, Record<'_>)],
        is_endless: impl Fn(usize) -> bool,
        drafts: &mut Vec<Draft>,
    ) {
        let keys = &place.unit.keys;
        let is_leaf = place.is_leaf();
        let pairs = records.iter().zip(records.iter().skip(1)).enumerate();
        for (_, ((before, left), (slot, right))) in pairs.filter(|(index, _)| !is_endless(*index)) {
            let is_ghost = left.kind.is_ghost() || right.kind.is_ghost();
            let order = keys::compare(keys, left, right, is_leaf);
            let key = |record| place.unit.key_text(record, is_leaf);
            let (rule, expected) = match order {
                Some(Ordering::Greater) => {
                    (&rules::KEY_ORDER, format!("a key after that of slot {before}, {}", key(left)))
                }
                Some(Ordering::Equal) if !is_ghost && !keys.is_empty() => {
                    (&rules::KEY_DUPLICATE, format!("a key different from that of slot {before}"))
                }
                None => {
                    self.order_not_known.insert(place.number);
                    continue;
                }
                _ => continue,
            };
            drafts.push(place.draft(rule, expected, key(right)).slot(*slot));
        }
    }
}
