//! Causes put before what follows from them: a block or file that is lost, and one finding in place of all that others say
//! about it.

mod accounting;
mod catalogs;
mod links;
mod logs;
pub(super) mod rows;
mod tables;

use crate::cluster::transactions::Transactions;
use crate::plan::Plan;
use crate::rules;
use crate::run::report::ReportBuilder;

impl ReportBuilder<'_> {
    /// Puts causes in place of what follows from them.
    pub(super) fn fold_by_cause(&mut self, plan: &Plan, transactions: Option<&Transactions>) {
        self.fold_by_cluster();
        let of_logs = rules::TRANSACTION_END.id;
        let all = self.findings.take_consequences();
        let (logs, tables): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, count)| count.first.rule == of_logs);
        self.fold_short_tables(tables, plan);
        self.fold_parts(plan);
        self.fold_catalogs(plan);
        self.fold_lost_logs(logs, transactions);
    }
}
