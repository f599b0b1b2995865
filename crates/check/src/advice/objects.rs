//! One entry for each object with findings, causes first.

use std::collections::BTreeMap;

use results::check::RuleCount;
use results::object::{Affected, DamagedObject, ObjectCount};

use super::guard::Guard;
use crate::findings::Lists;
use crate::rule::Rank;

/// One entry for each object; those closest to the cause first, then by name.
pub(super) fn objects(lists: &Lists, guard: &Guard<'_>) -> Vec<DamagedObject> {
    let mut by_object: BTreeMap<Option<&str>, Vec<&ObjectCount>> = BTreeMap::new();
    for count in &lists.object_counts {
        by_object.entry(count.first.object.as_deref()).or_default().push(count);
    }
    let mut listed: BTreeMap<(&str, Option<&str>), u64> = BTreeMap::new();
    for finding in &lists.findings {
        *listed.entry((&finding.rule, finding.object.as_deref())).or_default() += 1;
    }
    let mut objects: Vec<(Rank, DamagedObject)> = Vec::with_capacity(by_object.len());
    for (object, mut counts) in by_object {
        counts.sort_by_key(|count| (lists.rules.role(&count.first.rule).rank, &count.first));
        let Some(cause) = counts.first() else { continue };
        let rank = lists.rules.role(&cause.first.rule).rank;
        let rules = counts.iter().map(|count| RuleCount {
            rule: count.first.rule.clone(),
            found_count: count.found_count,
            listed_count: listed.get(&(count.first.rule.as_str(), object)).copied().unwrap_or(0),
        });
        let mut affected = Affected::default();
        counts.iter().for_each(|count| affected += count.affected);
        let blocker = guard
            .blocker(object)
            .filter(|blocker| object.is_some() && blocker.count.first.object.as_deref() != object)
            .filter(|blocker| guard.follows(&cause.first, blocker));
        let next_step = match &blocker {
            Some(blocker) => blocker.next_step(),
            None => cause.first.next_step.clone(),
        };
        objects.push((
            rank,
            DamagedObject {
                object: object.map(str::to_owned),
                finding_count: counts.iter().map(|count| count.found_count).sum(),
                affected,
                cause_rule: cause.first.rule.clone(),
                cause_file: cause.first.file.clone(),
                cause_page: cause.first.page,
                found: cause.first.found.clone(),
                likely_cause: lists.rules.get(&cause.first.rule).map_or("", |rule| rule.meaning).to_owned(),
                next_step,
                resolve_first: blocker.map(|blocker| blocker.name()),
                rules: rules.collect(),
            },
        ));
    }
    objects.sort_by(|(one_rank, one), (rank, other)| (one_rank, &one.object).cmp(&(rank, &other.object)));
    objects.into_iter().map(|(_, object)| object).collect()
}
