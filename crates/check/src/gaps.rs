//! What a report says was not verified: many gaps of a kind in one line.

use std::collections::BTreeMap;

use results::check::{GapKind, NotChecked};
use results::wording::thousands;

/// The gap of an index whose keys are of a type or collation whose order is not known.
pub const ORDER_OF_KEYS: &str = "order of some keys";
/// Objects that one line names.
const NAMED_MAX: usize = 3;

/// Makes one gap of all with [`ORDER_OF_KEYS`] of a database and for the same reason: how many objects, and the first names. Its object is
/// the database, absent where `database_of` names none. One alone stays as it is.
pub fn fold_orders(gaps: &mut Vec<NotChecked>, database_of: impl Fn(&str) -> Option<String>) {
    let is_meant = |gap: &NotChecked| gap.what == ORDER_OF_KEYS && gap.kind == GapKind::Coverage;
    let mut groups: BTreeMap<(Option<String>, String), Vec<String>> = BTreeMap::new();
    for gap in gaps.iter().filter(|gap| is_meant(gap)) {
        if let Some(object) = &gap.object {
            groups.entry((database_of(object), gap.why.clone())).or_default().push(object.clone());
        }
    }
    groups.retain(|_, names| names.len() > 1);
    gaps.retain(|gap| {
        let key = gap.object.as_ref().map(|object| (database_of(object), gap.why.clone()));
        !(is_meant(gap) && key.is_some_and(|key| groups.contains_key(&key)))
    });
    for ((database, why), mut names) in groups {
        names.sort();
        let count = names.len();
        names.truncate(NAMED_MAX);
        let more = if count > NAMED_MAX { format!(" and {} more", count - NAMED_MAX) } else { String::new() };
        let what = format!(
            "{ORDER_OF_KEYS} in {} tables and indexes: {}{more}",
            thousands(count as u64),
            names.join(", ")
        );
        gaps.push(NotChecked::coverage(database.as_deref(), what, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_a_database_for_one_reason_become_one() {
        let gap = |name: &str| NotChecked::coverage(Some(name), ORDER_OF_KEYS, "why");
        let mut gaps: Vec<NotChecked> = ["a.e", "a.d", "a.c", "a.b", "z.a"].map(gap).into();
        gaps.push(NotChecked::coverage(Some("a.b"), "another", "why"));
        fold_orders(&mut gaps, |name| name.split('.').next().map(str::to_owned));
        let texts: Vec<_> = gaps.iter().map(|gap| (gap.object.as_deref(), gap.what.as_str())).collect();
        let folded = "order of some keys in 4 tables and indexes: a.b, a.c, a.d and 1 more";
        assert_eq!(texts, [(Some("z.a"), ORDER_OF_KEYS), (Some("a.b"), "another"), (Some("a"), folded)]);
    }
}
