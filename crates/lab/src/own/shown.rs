//! The texts of a workload of the user's own, for readers: what each phase executes on one engine.

use results::EngineId;

use super::plan::{Part, Plan, PlanError};
use super::workload::{Load, OwnWorkload};
use crate::engine::{SqlPart, SqlStatement};
use crate::work::Work;

/// What a run of this cell executes on `engine`: schema, load, scripts and what comes after, factors replaced and blocks
/// for other engines left out. Costs a pass over the texts.
///
/// # Errors
/// The first text that cannot be parsed, with its place.
pub fn sql_parts(own: &OwnWorkload, engine: EngineId, work: &Work) -> Result<Vec<SqlPart>, PlanError> {
    let mut parts = Vec::new();
    for phase in [Part::Schema, Part::Load, Part::Scripts, Part::After] {
        if phase == Part::Load {
            parts.extend(made_rows(own.load.as_ref()));
        }
        let Some(plan) = Plan::new(own, phase, engine, work)? else { continue };
        let total: u64 = plan.weights().iter().map(|weight| u64::from(*weight)).sum();
        for (script, weight) in plan.program().scripts().iter().zip(plan.weights()) {
            let title = match phase {
                Part::Schema => "schema, once for the load that runs start from".to_owned(),
                Part::Load => load_title(own.load.as_ref()),
                Part::Scripts if plan.weights().len() == 1 => "transaction".to_owned(),
                Part::Scripts => format!("transaction, {weight} of {total}"),
                Part::After => "after each run; rows become metrics".to_owned(),
            };
            let mut part = SqlPart::new(title, []).note(format!("from {}", script.file()));
            let shown =
                script.commands().iter().map(|command| SqlStatement { text: text(command), times: 1 });
            part.statements.extend(shown);
            parts.push(part);
        }
    }
    Ok(parts)
}

/// A command as a script has it, with its end.
fn text(command: &script::Command) -> String {
    let Some(statement) = command.statement() else { return command.text().trim_end().to_owned() };
    let sql = statement.text().trim_end();
    let sql = sql.strip_suffix(';').unwrap_or(sql);
    match statement.store() {
        Some(store) => {
            let name = if store.is_aset { "\\aset" } else { "\\gset" };
            format!("{sql} {name} {}", store.prefix).trim_end().to_owned()
        }
        None => format!("{sql};"),
    }
}

fn load_title(load: Option<&Load>) -> String {
    match load {
        Some(Load::Script { rows, batch, connections, .. }) => {
            format!(
                "load: {rows} rows, {batch} per execution (:first_row to :last_row), {connections} connections"
            )
        }
        _ => "load".to_owned(),
    }
}

/// A load that is no SQL of the user.
fn made_rows(load: Option<&Load>) -> Option<SqlPart> {
    match load? {
        Load::Script { .. } => None,
        Load::Copy { path, table, columns, .. } => {
            let columns =
                if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
            let part = SqlPart::new("load from a CSV file", []);
            Some(part.note(format!("{} into {table}{columns}", path.display())))
        }
        Load::Columns { table, rows, connections, columns } => {
            let part = SqlPart::new(format!("load: {rows} generated rows, {connections} connections"), []);
            let part = part.note(format!("into {table}"));
            Some(columns.iter().fold(part, |part, (name, made)| part.note(format!("{name} = {made}"))))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::workload::{SqlText, WeightedScript};
    use super::*;

    fn sql(file: &str, text: &str) -> SqlText {
        SqlText { file: file.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn each_phase_is_shown_for_one_engine_and_scripts_with_their_shares() {
        let one = "\\set id random(1, 10)\nSELECT 1 AS a \\gset b_\n-- fathom: engine=sqlite\nSELECT 2;\n-- fathom: engine=all\n";
        let own = OwnWorkload {
            schema: Some(sql("schema.sql", "CREATE TABLE t (id int);\nCREATE INDEX ON t (id);")),
            load: Some(Load::Columns {
                table: "t".to_owned(),
                rows: 7,
                connections: 2,
                columns: vec![("id".to_owned(), "row".to_owned())],
            }),
            scripts: vec![
                WeightedScript { sql: sql("a.sql", one), weight: 9 },
                WeightedScript { sql: sql("b.sql", "SELECT :id;"), weight: 1 },
            ],
            ..OwnWorkload::default()
        };
        let parts = sql_parts(&own, EngineId::Postgres, &Work::example()).unwrap();
        let titles: Vec<&str> = parts.iter().map(|part| part.title.as_str()).collect();
        assert_eq!(
            titles[1..],
            ["load: 7 generated rows, 2 connections", "transaction, 9 of 10", "transaction, 1 of 10"]
        );
        let texts = |index: usize| -> Vec<&str> {
            parts[index].statements.iter().map(|statement| statement.text.as_str()).collect()
        };
        assert_eq!(texts(0), ["CREATE TABLE t (id int);", "CREATE INDEX ON t (id);"]);
        assert_eq!(texts(2), ["\\set id random(1, 10)", "SELECT 1 AS a \\gset b_"]);
    }

    #[test]
    fn a_text_that_cannot_be_parsed_is_named_with_its_place() {
        let own =
            OwnWorkload { schema: Some(sql("schema.sql", "SELECT 1;\n\\nope")), ..OwnWorkload::default() };
        let error = sql_parts(&own, EngineId::Postgres, &Work::example()).unwrap_err().to_string();
        assert!(error.contains("schema.sql:2"), "{error}");
    }
}
