//! The shares of a report.

use std::collections::HashSet;

use results::check::{CheckLevel, Coverage, GapKind, Share};

use crate::catalog::{Relation, Storage};
use crate::cluster::state::Standing;
use crate::plan::Plan;
use crate::plan::objects::Table;
use crate::run::report::ReportBuilder;

impl ReportBuilder<'_> {
    /// What was verified, of what there is.
    ///
    /// A table's rows count as verified when their values were tested and its entries in all indexes that have one for
    /// each row were compared; an index entry when it was compared with the key of its row. Rows in blocks that changed
    /// since the redo point of the last checkpoint do not count; where a block of an index did, none of its entries does.
    pub(crate) fn coverage(&self, plan: &Plan) -> Coverage {
        let level = self.options.level;
        let covered = &self.covered;
        let at = |least: CheckLevel, share: Share| (level >= least).then_some(share);
        let rows = (0u32..).zip(&covered.rows).filter(|(number, _)| plan.tables.contains_key(number));
        let rows = rows.fold(Share::default(), |mut all, (number, share)| {
            let is_whole = plan.tables.get(&number).is_some_and(|table| self.is_compared(table, plan));
            all += Share { verified_count: if is_whole { share.verified_count } else { 0 }, ..*share };
            all
        });
        let entries = (0u32..).zip(&covered.entries).fold(Share::default(), |mut all, (number, share)| {
            let is_whole = covered.compared.contains(&number) && !self.moved.contains(&number);
            all += Share { verified_count: if is_whole { share.verified_count } else { 0 }, ..*share };
            all
        });
        Coverage {
            pages: at(CheckLevel::Page, covered.pages),
            page_contents: at(CheckLevel::Structure, covered.contents),
            objects: at(CheckLevel::Structure, self.objects(plan)),
            rows: at(CheckLevel::Full, rows),
            entries: at(CheckLevel::Full, entries),
        }
    }

    /// Tables and indexes of which nothing was left out.
    fn objects(&self, plan: &Plan) -> Share {
        let gaps = self.not_checked.iter().filter(|gap| gap.kind == GapKind::Coverage);
        let named: HashSet<&str> = gaps.filter_map(|gap| gap.object.as_deref()).collect();
        let is_replayed = matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. });
        let mut objects = Share::default();
        for (number, relation) in (0u32..).zip(&plan.relations) {
            // Neither lives on: temporary relations end with their session, replay empties unlogged ones.
            if relation.persistence == b't' || relation.persistence == b'u' && is_replayed {
                continue;
            }
            let is_whole = self.only.is_none()
                && !named.contains(relation.name.as_str())
                && self.is_verified(number, relation, plan);
            objects.add(1, is_whole);
        }
        objects
    }

    fn is_verified(&self, number: u32, relation: &Relation, plan: &Plan) -> bool {
        if relation.storage == Storage::Other
            || self.moved.contains(&number)
            || self.changed.contains_key(&number)
            || self.covered.uncovered.contains(&number)
        {
            return false;
        }
        if self.options.level < CheckLevel::Full {
            return true;
        }
        let share = |list: &[Share]| list.get(number as usize).copied().unwrap_or_default();
        match plan.tables.get(&number) {
            Some(table) => share(&self.covered.rows).is_complete() && self.is_compared(table, plan),
            None if relation.storage.is_matched() => {
                let entries = share(&self.covered.entries);
                let is_empty = entries.total_count == 0;
                entries.is_complete() && (is_empty || self.covered.compared.contains(&number))
            }
            None => true,
        }
    }

    /// Whether a table's rows were compared with all indexes that have an entry for each of them, and with its TOAST
    /// table.
    fn is_compared(&self, table: &Table, plan: &Plan) -> bool {
        let is_changed = |number: &u32| self.moved.contains(number) || self.changed.contains_key(number);
        let has_toast = |toast: &u32| !plan.is_empty(*toast);
        let mut complete = table.indexes.iter().filter(|index| index.is_complete);
        let has_rows =
            self.covered.rows.get(table.number as usize).is_some_and(|share| share.verified_count > 0);
        self.only.is_none()
            && !self.moved.contains(&table.number)
            && table
                .toast_number
                .filter(has_toast)
                .is_none_or(|toast| !is_changed(&toast) && !is_changed(&table.number))
            && (!has_rows || complete.all(|index| self.covered.compared.contains(&index.number)))
    }
}
