//! Percentages of improvement from row to row.

use stats::change::PercentDefinition;
use stats::identities::{Outcome, percent_of_change};

use super::identity::Identity;
use crate::number::{number, printed};
use crate::table::{ELAPSED, Row, Table};

/// Columns with a percentage of improvement over the row before.
const PERCENTAGES: [&str; 4] =
    ["published_pct_faster", "published_improvement_pct", "pct_faster", "improvement_pct"];

pub(super) fn check(table: &Table) -> Vec<Identity> {
    let mut identity =
        Identity::of_derived("the percentage follows from the times of this row and the row before");
    let elapsed = |row: &Row| ELAPSED.iter().find_map(|(name, _)| number(&table.text(row, name)).ok());
    for column in PERCENTAGES {
        for pair in table.rows.windows(2) {
            let Some(percentage) = printed(&table.text(&pair[1], column)) else { continue };
            let Some((before, after)) = elapsed(&pair[0]).zip(elapsed(&pair[1])) else { continue };
            let check = percent_of_change(percentage, after, before, PercentDefinition::TimeReduction);
            let outcome = if check.reproduced_by.is_empty() { check.outcome } else { Outcome::Holds };
            identity.add(pair[1].line, outcome, column);
        }
    }
    vec![identity]
}
