//! Writes `[workload]` with all its texts, so that a stored spec needs no files.

use std::fmt::Write as _;

use super::load::LoadSpec;
use super::table::OwnSpec;
use super::template::Template;
use crate::spec::canonical::{escaped, key, line, text};

impl OwnSpec {
    /// Appends the tables that give this again when they are read.
    pub(crate) fn write(&self, out: &mut String) {
        for (name, template) in [("schema", &self.schema), ("after", &self.after)] {
            if let Some(template) = template {
                let _ = writeln!(out, "\n[workload.{name}]");
                sql(out, template);
            }
        }
        if let Some(load) = &self.load {
            out.push_str("\n[workload.load]\n");
            write_load(out, load);
        }
        for script in &self.scripts {
            out.push_str("\n[[workload.scripts]]\n");
            line(out, "weight", &script.weight.to_string());
            sql(out, &script.sql);
        }
    }
}

fn write_load(out: &mut String, load: &LoadSpec) {
    let list = |templates: &[Template]| {
        let texts: Vec<String> = templates.iter().map(|template| text(template.text())).collect();
        format!("[{}]", texts.join(", "))
    };
    match load {
        LoadSpec::Script { sql: script, rows, batch, connections } => {
            for (name, count) in [("rows", rows), ("batch", batch), ("connections", connections)] {
                count.iter().for_each(|count| line(out, name, &number(count)));
            }
            out.push_str("\n[workload.load.script]\n");
            sql(out, script);
        }
        LoadSpec::Copy { file, table, columns, has_header, delimiter, null } => {
            line(out, "copy", &text(&file.path.to_string_lossy()));
            line(out, "sha256", &text(&file.sha256));
            line(out, "bytes", &file.bytes.to_string());
            line(out, "table", &text(table.text()));
            if !columns.is_empty() {
                line(out, "columns", &list(columns));
            }
            line(out, "header", &has_header.to_string());
            line(out, "delimiter", &text(&delimiter.to_string()));
            line(out, "null", &text(null));
        }
        LoadSpec::Columns { table, rows, connections, columns } => {
            line(out, "table", &text(table.text()));
            line(out, "rows", &number(rows));
            connections.iter().for_each(|count| line(out, "connections", &number(count)));
            out.push_str("\n[workload.load.columns]\n");
            for (name, generator) in columns {
                line(out, &key(name), &text(generator.text()));
            }
        }
    }
}

fn sql(out: &mut String, template: &Template) {
    line(out, "file", &text(template.source.name()));
    line(out, "sql", &literal(template.text()));
}

/// A number as it is, placeholders in quotes.
fn number(template: &Template) -> String {
    match template.text().parse::<i64>() {
        Ok(_) => template.text().to_owned(),
        Err(_) => text(template.text()),
    }
}

/// Text between three quotes, as people write SQL in a spec, where it can stand there; else with escapes.
fn literal(written: &str) -> String {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if written.contains("'''") || written.ends_with('\'') || !written.chars().all(is_plain) {
        return escaped(written);
    }
    format!("'''\n{written}'''")
}
