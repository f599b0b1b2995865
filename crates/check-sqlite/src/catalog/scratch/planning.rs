//! Which expressions can be computed, and in which scratch tables.

use std::collections::HashMap;

use crate::catalog::scratch::database::scratch;
use crate::catalog::scratch::evaluation::{Evaluation, Wish};
use crate::catalog::scratch::table::{ScratchTable, Taken};
use crate::catalog::scratch::trials::Trials;

impl ScratchTable<'_> {
    /// Plans the computing of expressions. For each wish its place among the results, or why it cannot be had.
    pub(crate) fn plan(&self, wishes: Vec<Wish>) -> (Option<Evaluation>, Vec<Result<usize, String>>) {
        let (evaluation, results, _) = self.counted_plan(wishes);
        (evaluation, results)
    }

    /// The plan, and how many statements SQLite was given for it.
    pub(super) fn counted_plan(
        &self,
        wishes: Vec<Wish>,
    ) -> (Option<Evaluation>, Vec<Result<usize, String>>, u64) {
        let connection = match scratch(self.encoding, false) {
            Ok(connection) => connection,
            Err(error) => return (None, wishes.iter().map(|_| Err(error.to_string())).collect(), 0),
        };
        let by_name = self.by_name();
        let taken: Vec<Taken> = wishes.iter().map(|wish| self.taken_by(wish, &by_name)).collect();
        let mut trials = Trials {
            table: self,
            by_name: &by_name,
            wishes: &wishes,
            taken: &taken,
            connection,
            statement_count: 0,
        };
        let mut refused: HashMap<usize, String> = HashMap::new();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for part in trials.parts() {
            let accepted = trials.accepted(&part, &mut refused);
            parts.extend(Some(accepted).filter(|accepted| !accepted.is_empty()));
        }
        let statement_count = trials.statement_count;
        let evaluation = (!parts.is_empty()).then(|| self.evaluation(&parts, &wishes, &taken, &by_name));
        let places: HashMap<usize, usize> =
            parts.iter().flatten().enumerate().map(|(place, wish)| (*wish, place)).collect();
        let result = |wish: usize| {
            let reason = || refused.get(&wish).cloned().unwrap_or_default();
            places.get(&wish).copied().ok_or_else(reason)
        };
        (evaluation, (0..wishes.len()).map(result).collect(), statement_count)
    }
}
