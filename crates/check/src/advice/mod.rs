//! Causes before consequences, and next steps that are safe in the state that was found.
//!
//! A rule has a role: how close to the cause it is, and which object it calls into question. An engine adds which
//! object is built from which ([`Sources`]). From both follows, for each finding, whether its next step may be given as
//! it stands: what rebuilds or removes rows (REINDEX, VACUUM, pg_surgery, DBCC with repair ...) is proposed only where
//! nothing calls the source into question. Otherwise the next step names the finding that comes first.

mod guard;
mod objects;
mod postgres;
mod role;
mod sources;
mod sqlite;
mod sqlserver;

pub use guard::proposes_rebuild;
pub use role::{Rank, Role, Suspect, Unit, role};
pub use sources::Sources;

use results::check::CheckReport;

use crate::findings::Lists;
use guard::Guard;

/// Puts what was collected into a report: next steps that are safe, causes first, one entry for each object.
pub fn conclude(report: &mut CheckReport, mut lists: Lists, sources: &Sources) {
    let guard = Guard::new(&lists, sources);
    let findings = lists.findings.iter().map(|finding| guard.instead(finding));
    let firsts = lists.object_counts.iter().map(|count| guard.instead(&count.first));
    let (findings, firsts): (Vec<_>, Vec<_>) = (findings.collect(), firsts.collect());
    let objects_before = lists.object_counts.clone();
    for (finding, instead) in lists.findings.iter_mut().zip(findings) {
        finding.next_step = instead.unwrap_or_else(|| std::mem::take(&mut finding.next_step));
    }
    for (count, instead) in lists.object_counts.iter_mut().zip(firsts) {
        count.first.next_step = instead.unwrap_or_else(|| std::mem::take(&mut count.first.next_step));
    }
    let guard = Guard::from_counts(&objects_before, sources);
    report.objects = objects::objects(&lists, &guard);
    lists.findings.sort_by_cached_key(|finding| (role(&finding.rule).rank, finding.clone()));
    report.findings = lists.findings;
    report.rule_counts = lists.rule_counts;
}
