//! Writes a resolved experiment as a spec that gives the same again.

use std::fmt::Write as _;

use results::model::{Design, Level, Scale};

use super::command::SAMPLERS;
use super::own_workload::OwnSpec;
use super::resolved::Resolved;
use super::validity::percent_text;

/// The canonical text: same study, same bytes.
pub(super) fn to_toml(resolved: &Resolved, own: Option<&OwnSpec>) -> String {
    let mut out = String::new();
    line(&mut out, "name", &text(&resolved.name));
    line(&mut out, "title", &text(&resolved.title));
    line(&mut out, "question", &text(&resolved.question));
    line(&mut out, "kind", &text(resolved.kind.word()));
    if let Some(source) = &resolved.published_in {
        line(&mut out, "source", &text(source));
    }
    line(&mut out, "scale", &text(scale_word(resolved.scale)));
    line(&mut out, "repetitions", &resolved.repetitions.to_string());
    design(&mut out, &resolved.design);
    let samplers = resolved.commands.iter().filter(|command| command.origin == SAMPLERS);
    let samplers: Vec<String> = samplers.map(|command| text(&command.command)).collect();
    if !samplers.is_empty() {
        line(&mut out, SAMPLERS, &format!("[{}]", samplers.join(", ")));
    }
    if let Some(own) = own {
        own.write(&mut out);
    }
    if !resolved.factors.is_empty() {
        out.push_str("\n[factors]\n");
        for factor in &resolved.factors {
            let levels: Vec<String> = factor.levels.iter().map(value).collect();
            line(&mut out, &key(&factor.name), &format!("[{}]", levels.join(", ")));
        }
    }
    out.push_str("\n[parameters]\n");
    for (name, level) in &resolved.fixed {
        line(&mut out, &key(name), &value(level));
    }
    layout(&mut out, resolved);
    let _ = write!(out, "\n[validity]\n{}", resolved.validity.to_toml());
    if let Some(until) = resolved.repeat_until {
        out.push_str("\n[repeat_until]\n");
        if let Some(percent) = until.half_width_percent {
            line(&mut out, "half_width", &text(&percent_text(percent / 100.0)));
        }
        if let Some(decision) = until.decision {
            line(&mut out, "decision", "true");
            decision.margin.iter().for_each(|margin| line(&mut out, "margin", &text(&percent_text(*margin))));
        }
        line(&mut out, "blocks_max", &until.blocks_max.to_string());
    }
    expectations(&mut out, resolved);
    out
}

fn design(out: &mut String, design: &Design) {
    let list = |texts: &[String]| texts.iter().map(|one| text(one)).collect::<Vec<_>>().join(", ");
    if let Some(metric) = &design.metric {
        line(out, "metric", &text(metric));
    }
    if let Some(is_smaller_better) = design.is_smaller_better {
        line(out, "better", &text(if is_smaller_better { "smaller" } else { "larger" }));
    }
    if !design.secondary.is_empty() {
        line(out, "secondary", &format!("[{}]", list(&design.secondary)));
    }
    if !design.against.is_empty() {
        line(out, "against", &format!("[{}]", list(&design.against)));
    }
}

fn layout(out: &mut String, resolved: &Resolved) {
    let layout = &resolved.layout;
    if layout.data.is_empty() && layout.log.is_none() {
        return;
    }
    out.push_str("\n[layout]\n");
    let data: Vec<String> = layout.data.iter().map(|path| text(&path.to_string_lossy())).collect();
    line(out, "data", &format!("[{}]", data.join(", ")));
    if let Some(log) = &layout.log {
        line(out, "log", &text(&log.to_string_lossy()));
    }
}

fn expectations(out: &mut String, resolved: &Resolved) {
    for expectation in &resolved.expectations {
        out.push_str("\n[[expect]]\n");
        line(out, "claim", &text(&expectation.claim));
        line(out, "scope", &text(expectation.scope.map_or("both", scale_word)));
        let further = [
            ("check", &expectation.check),
            ("valid_for", &expectation.valid_for),
            ("requires", &expectation.requires),
        ];
        for (name, written) in further {
            if let Some(written) = written {
                line(out, name, &text(written));
            }
        }
    }
}

pub(super) fn line(out: &mut String, name: &str, written: &str) {
    let _ = writeln!(out, "{name} = {written}");
}

/// Names with a point, or letters that need it, are quoted: `"postgres.shared_buffers"`.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { escaped(name) }
}

pub(super) fn text(written: &str) -> String {
    toml::Value::String(written.to_owned()).to_string()
}

fn value(level: &Level) -> String {
    match level {
        Level::Boolean(value) => value.to_string(),
        Level::Integer(value) => value.to_string(),
        // The debug form keeps the point, so that it reads back as a float.
        Level::Float(value) => format!("{value:?}"),
        Level::Text(written) => text(written),
    }
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::Full => "full",
        Scale::Miniature => "miniature",
    }
}

/// Text in double quotes, on one line.
pub(super) fn escaped(written: &str) -> String {
    let mut out = String::from("\"");
    for letter in written.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
