//! Many rows that name transactions which pg_control has not assigned yet: not the rows are wrong, but the control file is
//! older than the data.

use std::collections::BTreeSet;

use formats::postgres::Xid;
use formats::postgres::transaction::precedes;
use results::check::Finding;
use results::object::Affected;

use crate::cluster::lsn::Lsn;
use crate::finding::file_finding;
use crate::rules;
use crate::run::report::ReportBuilder;

/// So many rows cannot have been changed one by one.
const ROWS_MIN: u64 = 10;
/// Objects that are named.
const NAMES_MAX: usize = 3;

impl ReportBuilder<'_> {
    /// Puts one finding about the control file in place of those about rows, and about blocks with later positions.
    pub(super) fn fold_future_transactions(&mut self) {
        let Some(control) = self.cluster.control.filter(|_| self.only.is_none()) else { return };
        let next = control.next_xid as Xid;
        let [xmin, xmax, lsn] =
            [&rules::XMIN_BOUNDS, &rules::XMAX_BOUNDS, &rules::PAGE_LSN].map(|rule| rule.id);
        let rows = [xmin, xmax].map(|rule| self.findings.count_of(rule)).iter().sum::<u64>();
        let kept: Vec<&Finding> = [xmin, xmax].iter().flat_map(|rule| self.findings.kept_of(rule)).collect();
        let is_later = |finding: &&Finding| {
            let is_multi = finding.expected.starts_with("a multixact");
            let next = if is_multi { control.next_multi } else { next };
            xid_of(&finding.found).is_some_and(|id| !precedes(id, next))
        };
        if rows < ROWS_MIN || !kept.iter().all(is_later) {
            return;
        }
        let of_transactions = kept.iter().filter(|finding| !finding.expected.starts_with("a multixact"));
        let xids: Vec<Xid> = of_transactions.filter_map(|finding| xid_of(&finding.found)).collect();
        let distance = |xid: &Xid| xid.wrapping_sub(next);
        let last = xids.iter().copied().max_by_key(distance).unwrap_or(next);
        let names: BTreeSet<&str> = kept.iter().filter_map(|finding| finding.object.as_deref()).collect();
        let shown: Vec<&str> = names.iter().take(NAMES_MAX).copied().collect();
        let more = if names.len() > NAMES_MAX { ", ..." } else { "" };
        let mut found =
            format!("{rows} rows of {}{more} refer to transactions up to {last}", shown.join(", "));
        let blocks = self.findings.count_of(lsn);
        if blocks > 0 {
            let at = Lsn(control.checkpoint_lsn);
            found.push_str(&format!("; {blocks} blocks have LSNs after the checkpoint at {at}"));
        }
        let expected = format!("transaction ids below {next}, nextXid of pg_control");
        let finding = file_finding(&rules::NEXT_XID, "global/pg_control", None, expected, found);
        let affected = Affected { row_count: rows, ..Affected::default() };
        self.findings.replace(&[xmin, xmax, lsn], finding, affected);
    }
}

/// The transaction in `xmin 745` or `xmax 745`.
fn xid_of(found: &str) -> Option<Xid> {
    let rest = found.strip_prefix("xmin ").or_else(|| found.strip_prefix("xmax "))?;
    rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transaction_is_read_from_what_was_found() {
        assert_eq!(xid_of("xmin 745"), Some(745));
        assert_eq!(xid_of("xmax 9, infomask 0x0100"), Some(9));
        assert_eq!(xid_of("row 9"), None);
    }
}
