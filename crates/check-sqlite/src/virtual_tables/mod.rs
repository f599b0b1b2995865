//! Virtual tables: what their shadow tables state about each other.
//!
//! The pages, rows and indexes of shadow tables are checked like those of any table. What is left is what only the
//! module knows: the nodes of an R-tree, the index of a full-text table. R-trees are followed by [`rtree`]; full-text
//! tables are compared by [`full_text`] and then by SQLite itself, on a copy in memory.

mod definition;
mod engine;
mod full_text;
mod rtree;
mod shadow;
mod tables;
mod words;

use std::cell::Cell;
use std::collections::HashMap;

use results::check::{CheckLevel, CheckReport, NotChecked};

use check::pass::Pass;

use crate::catalog::schema::SchemaRows;
use crate::finding::Draft;
use crate::run::context::Context;
use crate::run::pass::Passed;
use crate::virtual_tables::definition::Definition;
use crate::virtual_tables::engine::Patience;
use crate::virtual_tables::full_text::Limits;
use crate::virtual_tables::shadow::Allowance;
use crate::virtual_tables::tables::Tables;

/// Modules whose tables keep nothing of their own.
// EVIDENCE: sqlite fts5 9 (fts5vocab), fts3 7 (fts4aux) and 8.2 (fts3tokenize), dbstat, series
const WITHOUT_ROWS: [&str; 5] = ["fts5vocab", "fts4aux", "fts3tokenize", "dbstat", "generate_series"];

/// The columns of the shadow tables of an R-tree that the module reads.
// EVIDENCE: sqlite rtree.c rtreeSqlInit: %_node(nodeno, data), %_rowid(rowid, nodeno), %_parent(nodeno, parentnode)
const RTREE_TABLES: [(&str, [&str; 2]); 3] =
    [("node", ["nodeno", "data"]), ("rowid", ["rowid", "nodeno"]), ("parent", ["nodeno", "parentnode"])];

/// The kind of a shadow table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShadowKind {
    /// The module of its virtual table.
    pub(super) module: String,
    /// The end of its name: `_content`.
    pub(super) kind: String,
    /// Whether the virtual table keeps its rows in a shadow table.
    pub(super) has_content: bool,
}

/// What a table of a schema is to a virtual table; `None` for an ordinary table.
pub(super) fn shadow_kind(schema: &SchemaRows, table: &str) -> Option<ShadowKind> {
    let rows = schema.resolved.iter().map(|resolved| &resolved.row).filter(|row| row.root == 0);
    let mut kinds = rows.filter_map(|row| {
        let kind = table.strip_prefix(row.name.as_str()).filter(|kind| kind.starts_with('_'))?;
        let definition = Definition::of(row.definition.as_deref()?)?;
        let has_content = definition.option("content").is_none();
        Some(ShadowKind { module: definition.module, kind: kind.to_owned(), has_content })
    });
    kinds.next_back()
}

/// Checks all virtual tables when all pages were seen, and reports.
pub(super) fn check(
    context: &Context<'_>,
    schema: &SchemaRows,
    passed: &mut Passed<'_>,
    reading: &Pass<'_>,
    report: &mut CheckReport,
) {
    if context.level < CheckLevel::Full || passed.unreached_count > 0 {
        return;
    }
    let worker = &mut passed.worker;
    let tables = schema.rows.iter().filter(|row| row.is_table);
    let trees = context.plans.trees.iter().enumerate();
    let by_name: HashMap<&str, usize> = trees.rev().map(|(tree, plan)| (plan.name.as_str(), tree)).collect();
    let mut by_table = HashMap::new();
    for row in tables {
        if let Some(tree) = by_name.get(format!("table {}", row.name).as_str()) {
            by_table.insert(row.name.to_ascii_lowercase(), (*tree, row));
        }
    }
    let tables = Tables { context, trees: by_table, is_cut: schema.is_cut, bytes_max: Cell::new(0) };
    let not_checked = &mut report.not_checked;
    let rows = schema.resolved.iter().map(|resolved| &resolved.row);
    for row in rows.filter(|row| row.root == 0) {
        let Some(sql) = row.definition.as_deref() else { continue };
        let Some(definition) = Definition::of(sql) else { continue };
        let object = format!("virtual table {}", row.name);
        // Read a second time before anything is accused: the same rows must be found damaged twice.
        let mut outcome = tables.check(&row.name, sql, &definition, reading);
        if outcome.as_ref().is_ok_and(|drafts| !drafts.is_empty()) {
            let again = tables.check(&row.name, sql, &definition, reading);
            if text_of(&again) != text_of(&outcome) {
                worker.changed();
                outcome = Err("it was changed while it was read".to_owned());
            }
        }
        match outcome {
            Ok(drafts) => {
                for mut draft in drafts {
                    if draft.page.is_none() {
                        // A table that is missing: the row that needs it.
                        (draft.page, draft.slot) = (Some(row.page), Some(row.slot as u64));
                    }
                    if draft.tree.is_none() {
                        draft.object = Some(object.clone());
                    }
                    worker.report_at_once(draft);
                }
            }
            Err(reason) => {
                let why = format!("{reason}; {} verifies it", command(&row.name, &definition));
                not_checked.push(NotChecked::coverage(Some(&object), "its index against its rows", why));
            }
        }
        not_checked.extend(external_content(&object, &row.name, &definition));
    }
    let memory_bytes_max = &mut report.counters.memory_bytes_max;
    *memory_bytes_max = tables.bytes_max.get().max(*memory_bytes_max);
}

fn text_of(outcome: &Result<Vec<Draft>, String>) -> Vec<String> {
    let drafts = outcome.as_ref().map(Vec::as_slice).unwrap_or_default();
    drafts.iter().map(|draft| format!("{:?} {} {}", draft.page, draft.expected, draft.found)).collect()
}

/// The rows of a table elsewhere that an index refers to may differ from it on purpose.
fn external_content(object: &str, name: &str, definition: &Definition) -> Option<NotChecked> {
    let content = definition.option("content")?;
    if content.is_empty() && matches!(definition.module.as_str(), "fts3" | "fts4") {
        let why = "the table stores no rows to compare them with; SQLite has no command that verifies them";
        return Some(NotChecked::out_of_scope(Some(object), "index entries", why));
    }
    if content.is_empty() || definition.module != "fts5" {
        return None;
    }
    let command = format!("INSERT INTO {name}({name}, rank) VALUES('integrity-check', 1)");
    let why = format!("the application maintains them: {command} compares them");
    Some(NotChecked::out_of_scope(Some(object), format!("index entries against the rows of {content}"), why))
}

/// SQLite's own command that verifies a virtual table.
fn command(name: &str, definition: &Definition) -> String {
    match definition.module.as_str() {
        "fts3" | "fts4" | "fts5" => format!("INSERT INTO {name}({name}) VALUES('integrity-check')"),
        "rtree" | "rtree_i32" | "geopoly" => format!("SELECT rtreecheck('{name}')"),
        _ => "PRAGMA integrity_check in an SQLite that has the module".to_owned(),
    }
}

impl Tables<'_> {
    fn check(
        &self,
        name: &str,
        sql: &str,
        definition: &Definition,
        reading: &Pass<'_>,
    ) -> Result<Vec<Draft>, String> {
        if reading.is_over() {
            return Err("the check was stopped".to_owned());
        }
        if self.is_cut {
            return Err("sqlite_schema is damaged".to_owned());
        }
        let prefix = format!("{}_", name.to_ascii_lowercase());
        let shadows = self.trees.iter().filter(|(shadow, _)| shadow.starts_with(&prefix));
        if let Some((shadow, _)) =
            shadows.clone().find(|(_, (tree, _))| self.context.damaged_trees.contains(*tree))
        {
            return Err(format!("its shadow table {shadow} is damaged"));
        }
        let most = reading.options.memory_bytes_max / 2;
        let mut allowance = Allowance { bytes: most, reading };
        let outcome = self.check_module(name, sql, definition, reading, &mut allowance);
        self.bytes_max.set(self.bytes_max.get().max(most - allowance.bytes));
        outcome
    }

    fn check_module(
        &self,
        name: &str,
        sql: &str,
        definition: &Definition,
        reading: &Pass<'_>,
        allowance: &mut Allowance<'_>,
    ) -> Result<Vec<Draft>, String> {
        match definition.module.as_str() {
            "rtree" | "rtree_i32" | "geopoly" => {
                let tree =
                    |kind: &str| self.tree(&format!("{name}_{kind}")).ok_or_else(|| format!("{name}_{kind}"));
                let trees = (|| -> Result<rtree::Trees, String> {
                    Ok(rtree::Trees { node: tree("node")?, rowid: tree("rowid")?, parent: tree("parent")? })
                })();
                match trees {
                    Ok(trees) => {
                        let drafts: Vec<Draft> = RTREE_TABLES
                            .iter()
                            .filter_map(|(kind, columns)| {
                                let shadow = format!("{name}_{kind}");
                                self.other_columns(&crate::rules::RTREE, &shadow, columns.iter().copied())
                            })
                            .collect();
                        if !drafts.is_empty() {
                            return Ok(drafts);
                        }
                        rtree::check(self.context, definition, trees, allowance)
                    }
                    Err(missing) => {
                        let expected = format!("the shadow table {missing}");
                        Ok(vec![Draft::of_file(&crate::rules::RTREE, expected, "no such table")])
                    }
                }
            }
            "fts3" | "fts4" if definition.option("content").is_some_and(|content| !content.is_empty()) => {
                Err("its rows are in another table, which the application maintains".to_owned())
            }
            "fts3" | "fts4" | "fts5" => {
                let patience = Patience { stop: reading.options.stop.clone(), deadline: reading.deadline };
                full_text::check(self.context, (name, sql), definition, self, Limits { allowance, patience })
            }
            module if WITHOUT_ROWS.contains(&module) => Ok(Vec::new()),
            module => Err(format!("module {module} is not part of SQLite")),
        }
    }
}
