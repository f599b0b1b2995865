//! Unique indexes of which byte-equal keys are compared, and others that the type calls equal are not.

use std::collections::BTreeMap;

use results::check::NotChecked;

use crate::catalog::Storage;
use crate::matching::uniqueness::may_miss_equal_keys;
use crate::plan::Plan;
use crate::run::unverified::listed;

/// What is not proven about unique indexes, one entry for each database.
pub(crate) fn unproven_keys(plan: &Plan) -> Vec<NotChecked> {
    let mut by_database: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for relation in plan.relations.iter().filter(|relation| relation.storage == Storage::Btree) {
        let is_unproven =
            relation.index.as_ref().is_some_and(|index| index.usable && may_miss_equal_keys(index));
        let (database, name) = relation.name.split_once('.').unwrap_or(("?", &relation.name));
        if is_unproven {
            by_database.entry(database).or_default().push(name);
        }
    }
    let of_database = |(database, names): (&str, Vec<&str>)| {
        NotChecked::coverage(
            Some(database),
            format!("equal keys of different bytes in {}", listed(&names, "unique index", "unique indexes")),
            "unknown equality of the type or collation; byte-equal keys were compared. \
             bt_index_check(index, true, true) of amcheck 17 and later verifies it",
        )
    };
    by_database.into_iter().map(of_database).collect()
}
