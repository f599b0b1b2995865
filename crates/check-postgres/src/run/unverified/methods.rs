//! Relations of access methods that are not known here (hnsw, ivfflat, rum, bloom and others).
//!
//! Each page has the header that the buffer manager asks for, a checksum and a WAL position: these are tested. What
//! stands between is known to the extension alone.

use std::collections::BTreeMap;

use results::check::NotChecked;

use crate::catalog::{Relation, Storage};
use crate::run::unverified::listed;

/// What is not known of relations of other access methods, one entry for each database and method.
// EVIDENCE: src/backend/storage/page/bufpage.c PageIsVerified: tested of every page whatever its access method
pub(crate) fn other_methods(relations: &[Relation]) -> Vec<NotChecked> {
    let mut groups: BTreeMap<(&str, &str, bool), Vec<&str>> = BTreeMap::new();
    for relation in relations.iter().filter(|relation| relation.storage == Storage::Other) {
        let (database, name) = relation.name.split_once('.').unwrap_or(("?", &relation.name));
        let key = (database, relation.method.as_str(), relation.is_index);
        groups.entry(key).or_default().push(name);
    }
    let of_group = |((database, method, is_index), names): ((&str, &str, bool), Vec<&str>)| {
        let tested = "header, checksum and LSN of each block were verified";
        let (what, means) = if is_index {
            let indexes = listed(&names, "index", "indexes");
            (indexes, "REINDEX INDEX rebuilds one from its table")
        } else {
            (
                listed(&names, "table", "tables"),
                "a sequential scan (SELECT count(*)) reads one with the code of its access method",
            )
        };
        NotChecked::coverage(
            Some(database),
            format!("contents of {what}"),
            format!("unknown access method {method}; {tested}; {means}"),
        )
    };
    groups.into_iter().map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_up_to_a_few() {
        assert_eq!(listed(&["a"], "index", "indexes"), "1 index: a");
        assert_eq!(listed(&["a", "b", "c", "d"], "index", "indexes"), "4 indexes: a, b, c, ...");
    }
}
