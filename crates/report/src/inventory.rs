//! Inventories as text and CSV: servers, one row each, and what the files of a database say about it.

use std::fmt::Write;

use results::plain::{cell, one_line, plain};
use serde::Serialize;

/// Rows of servers as CSV with a header (RFC 4180): a cell for each column.
pub fn servers_csv<const N: usize>(columns: &[&str; N], rows: &[[String; N]]) -> String {
    let mut lines = vec![columns.join(",")];
    lines.extend(rows.iter().map(|row| row.iter().map(|text| field(text)).collect::<Vec<_>>().join(",")));
    lines.join("\n") + "\n"
}

/// Rows of servers for people: one block per server, headed by its first two cells, one line per value that is known.
pub fn servers_text<const N: usize>(columns: &[&str; N], rows: &[[String; N]]) -> String {
    let mut text = String::new();
    for row in rows {
        if !text.is_empty() {
            text.push('\n');
        }
        if let [server, engine, ..] = &row[..] {
            text.push_str(&format!("{} ({engine})\n", plain(server)));
        }
        for (column, value) in columns.iter().zip(row).skip(2).filter(|(_, value)| !value.is_empty()) {
            match (*column, value.parse::<u64>()) {
                ("memory_bytes", Ok(bytes)) => {
                    let gib = bytes as f64 / f64::from(1 << 30);
                    text.push_str(&format!("  {:<17} {gib:.1} GiB\n", "memory"));
                }
                _ => text.push_str(&format!("  {column:<17} {}\n", one_line(value))),
            }
        }
    }
    text
}

/// A field of CSV, in quotes where it needs them.
fn field(text: &str) -> String {
    let text = cell(text);
    let is_plain = !text.contains(['"', ',', '\n', '\r']);
    if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// What the files of a database say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInventory {
    /// Name and value, in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// Tables of users, by name.
    pub tables: Vec<FileTable>,
}

/// A table, with the counts that the server stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileTable {
    /// `schema.table`.
    #[serde(rename = "table")]
    pub name: String,
    /// Rows.
    #[serde(rename = "rows")]
    pub row_count: u64,
    /// Pages of rows, indexes and large values.
    #[serde(rename = "pages")]
    pub page_count: u64,
    /// Nonclustered indexes.
    #[serde(rename = "nonclustered_indexes")]
    pub index_count: u64,
    /// Whether it has no clustered index.
    #[serde(rename = "heap")]
    pub is_heap: bool,
}

impl FileInventory {
    /// As JSON: `facts`, and `tables` with an object each.
    pub fn json(&self) -> String {
        let value = serde_json::json!({ "facts": self.facts, "tables": self.tables });
        format!("{value:#}\n")
    }

    /// The tables as CSV with a header.
    pub fn csv(&self) -> String {
        let mut text = "table,rows,pages,nonclustered_indexes,heap\n".to_owned();
        for FileTable { name, row_count, page_count, index_count, is_heap } in &self.tables {
            let name = cell(name).replace('"', "\"\"");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\"{name}\",{row_count},{page_count},{index_count},{is_heap}");
        }
        text
    }

    /// For people: the facts, then a line for each table.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for (name, value) in &self.facts {
            let _ = writeln!(text, "{name}: {}", plain(value));
        }
        let width = self.tables.iter().map(|table| table.name.len()).max().unwrap_or(5).max(5);
        let _ = writeln!(text, "{:width$}  {:>12}  {:>10}  {:>7}", "table", "rows", "pages", "indexes");
        for FileTable { name, row_count, page_count, index_count, .. } in &self.tables {
            let name = plain(name);
            let _ = writeln!(text, "{name:width$}  {row_count:>12}  {page_count:>10}  {index_count:>7}");
        }
        text.push_str("row and page counts as stored by the server\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_line_of_csv_per_server_and_one_field_per_column() {
        let columns = ["server", "engine", "version", "cores", "memory_bytes"];
        let row = ["a \"b\", c", "postgres", "PostgreSQL\u{1b}[31m 17", "2", "3221225472"].map(str::to_owned);
        let rows = [row];
        let csv = servers_csv(&columns, &rows);
        assert!(
            csv.lines().nth(1).is_some_and(|line| line.starts_with("\"a \"\"b\"\", c\",postgres,")),
            "{csv}"
        );
        assert_eq!(
            servers_text(&columns, &rows),
            "a \"b\", c (postgres)\n  version           PostgreSQL\\u{1b}[31m 17\n  cores             2\n  memory            3.0 GiB\n"
        );
    }

    #[test]
    fn a_table_of_a_file_has_one_line_in_each_form() {
        let table = FileTable {
            name: "dbo.a\"b".to_owned(),
            row_count: 3,
            page_count: 2,
            index_count: 1,
            is_heap: true,
        };
        let inventory =
            FileInventory { facts: vec![("server".to_owned(), "2012".to_owned())], tables: vec![table] };
        assert_eq!(inventory.csv().lines().nth(1), Some("\"dbo.a\"\"b\",3,2,1,true"));
        assert!(
            inventory.text().contains("dbo.a\"b             3           2        1\n"),
            "{}",
            inventory.text()
        );
        let json: serde_json::Value = serde_json::from_str(&inventory.json()).unwrap_or_default();
        assert_eq!(json["tables"][0]["nonclustered_indexes"], 1);
    }
}
