//! Wait tables: sums, averages, one common total, the smallest prefix that reaches 95 %.

use std::collections::BTreeMap;

use stats::identities::{
    Printed, average, common_total, descending, smallest_prefix, wait_sum, within_limit,
};
use stats::waits::TOP_PERCENT;

use super::identity::{Identity, count};
use crate::number::printed;
use crate::table::{Row, Table};

/// Printed averages, with the column of the seconds that they are of.
const AVERAGES: [(&str, &str); 5] = [
    ("avg_wait_s", "wait_s"),
    ("avg_res_s", "resource_s"),
    ("avg_sig_s", "signal_s"),
    ("avg_resource_s", "resource_s"),
    ("avg_signal_s", "signal_s"),
];

pub(super) fn check(table: &Table) -> Vec<Identity> {
    if table.column("wait_s").is_none() {
        return Vec::new();
    }
    let mut all = vec![sums(table), averages(table)];
    if table.column("percentage").is_some() {
        all.extend(totals(table));
    }
    all
}

/// The rows of each wait table: those of one `table_id`, else those that agree in every column before the waits.
pub(crate) fn groups(table: &Table) -> Vec<Vec<&Row>> {
    let end = ["rank", "wait_type"].iter().filter_map(|name| table.column(name)).min().unwrap_or(0);
    let id = table.column("table_id");
    let key = |row: &Row| match id {
        Some(id) => vec![row.cells[id].clone()],
        None => (0..end)
            .filter(|index| !["file", "line", "row"].contains(&table.header[*index].as_str()))
            .map(|index| row.cells[index].clone())
            .collect(),
    };
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in &table.rows {
        let place = *places.entry(key(row)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    groups
}

/// A cell with the digits of its column: trailing zeros may have been dropped.
fn of_column(table: &Table, row: &Row, name: &str, decimals: u32) -> Option<Printed> {
    printed(&table.text(row, name)).map(|cell| Printed::new(cell.value, decimals))
}

fn decimals(table: &Table, name: &str) -> u32 {
    let cells = table.rows.iter().filter_map(|row| printed(&table.text(row, name)));
    cells.map(|cell| cell.decimals).max().unwrap_or(0)
}

fn sums(table: &Table) -> Identity {
    let mut identity = Identity::new("wait = resource + signal");
    let columns = ["wait_s", "resource_s", "signal_s"].map(|name| (name, decimals(table, name)));
    for row in &table.rows {
        let [wait, resource, signal] = columns.map(|(name, decimals)| of_column(table, row, name, decimals));
        if let (Some(wait), Some(resource), Some(signal)) = (wait, resource, signal) {
            identity.add(row.line, wait_sum(wait, resource, signal), "wait_s");
        }
    }
    identity
}

fn averages(table: &Table) -> Identity {
    let mut identity = Identity::new("average = seconds / number of waits");
    for (column, seconds) in AVERAGES {
        if table.column(column).is_none() {
            continue;
        }
        let (digits, digits_of_seconds) = (decimals(table, column), decimals(table, seconds));
        for row in &table.rows {
            let average_s = of_column(table, row, column, digits);
            let whole = of_column(table, row, seconds, digits_of_seconds);
            if let (Some(average_s), Some(whole), Some(count)) =
                (average_s, whole, count(table, row, "wait_count"))
            {
                identity.add(row.line, average(average_s, whole, count), column);
            }
        }
    }
    identity
}

fn totals(table: &Table) -> Vec<Identity> {
    let mut total = Identity::new("one total gives all percentages of a table");
    let mut hundred = Identity::new("percentages of a table are at most 100 together");
    let mut prefix = Identity::of_derived("printed waits are the fewest that reach 95 %");
    let mut order = Identity::of_derived("waits stand in descending order");
    let digits = decimals(table, "wait_s");
    for rows in groups(table) {
        let line = rows[0].line;
        let share = |row: &&Row| {
            Some((of_column(table, row, "wait_s", digits)?, printed(&table.text(row, "percentage"))?))
        };
        let shares: Option<Vec<(Printed, Printed)>> = rows.iter().map(share).collect();
        let Some(shares) = shares else { continue };
        total.add(line, common_total(&shares).outcome, "the total that one percentage demands");
        let percentages: Vec<Printed> = shares.iter().map(|share| share.1).collect();
        let slack: f64 = percentages.iter().map(|percentage| percentage.unit() / 2.0).sum();
        let sum: f64 = percentages.iter().map(|percentage| percentage.value).sum();
        hundred.add(line, within_limit(sum, 100.0 + slack), "the sum of the percentages");
        prefix.add(
            line,
            smallest_prefix(&percentages, TOP_PERCENT),
            "the sum of the percentages that decides",
        );
        let seconds: Vec<f64> = shares.iter().map(|share| share.0.value).collect();
        order.add(line, descending(&seconds), "wait_s");
    }
    // A table that lists all waits, or by name, follows neither rule: that is no contradiction.
    let follows = |identity: &Identity| 2 * (identity.hold + identity.rounding) > identity.checked;
    let mut all = vec![total, hundred];
    all.extend([prefix, order].into_iter().filter(|identity| follows(identity)));
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_table_of_all_waits_by_name_contradicts_nothing() {
        let text =
            "wait_type,wait_s,wait_count,percentage\nA,1.00,10,1.00\nB,95.00,10,95.00\nC,4.00,10,4.00\n";
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        assert!(check(&table).iter().all(|identity| identity.contradictions.is_empty()));
    }

    #[test]
    fn a_wrong_share_and_a_wrong_average_are_found_in_the_row_and_the_table() {
        let text = "table_id,wait_type,wait_s,resource_s,signal_s,wait_count,percentage,avg_wait_s\n\
                    1,A,90.00,80.00,10.00,10,90.00,9.0000\n1,B,6.00,5.00,1.00,10,7.00,0.6000\n\
                    2,A,50.00,30.00,10.00,10,95.50,6.0000\n";
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        let found = check(&table);
        let lines = |name: &str| -> Vec<u64> {
            let identity = found.iter().find(|identity| identity.name.starts_with(name)).unwrap();
            identity.contradictions.iter().map(|(line, _)| *line).collect()
        };
        assert_eq!((lines("one total"), lines("wait ="), lines("average")), (vec![2], vec![4], vec![4]));
    }
}
