//! The text of a spec for the scripts of a command line.

use super::files;
use super::options::definitions;
use super::words::{Script, What};
use crate::arguments::ScriptArguments;
use crate::engines::pgbench;

/// Letters of a study's name at most, as specs have it.
const NAME_LENGTH_MAX: usize = 64;

/// Of a study of scripts of whose names nothing is left.
const NAME: &str = "script";

/// Duration of a run where the command line has no amount.
const DURATION: &str = "60s";

/// Parameters that say how much is done.
const AMOUNTS: [&str; 4] = ["duration", "rows_total", "rows", "transactions"];

/// Fillfactor of the tables of pgbench where the command line has none.
const FILLFACTOR: u32 = 100;

/// A spec that executes these scripts; `overrides` set its parameters later, and decide what it need not say.
///
/// # Errors
/// A file with tables that cannot be read, a definition that is none, options that contradict each other.
pub(super) fn text(
    scripts: &[Script],
    arguments: &ScriptArguments,
    overrides: &[(String, String)],
) -> anyhow::Result<String> {
    let is_set = |name: &str| overrides.iter().any(|(set, _)| set == name);
    let has_factors = overrides.iter().any(|(_, value)| value.contains(','));
    let has_tables =
        arguments.initialize || scripts.iter().any(|script| matches!(script.what, What::Builtin(_)));
    if arguments.fillfactor.is_some() && !has_tables {
        anyhow::bail!(
            "--fillfactor is that of the tables of pgbench, and there are none\nhint: add --initialize"
        );
    }
    let words: Vec<String> = scripts.iter().map(|script| words(script, scripts.len())).collect();
    let words = words.join(", ");
    let mut text = format!(
        "name = {}\ntitle = {}\nquestion = {}\nkind = \"own\"\n",
        quoted(&name(scripts)),
        quoted(&words),
        quoted(&format!("How fast are the transactions of {words}?"))
    );
    if !has_factors {
        text.push_str("repetitions = 1\n");
    }
    text.push_str("[parameters]\n");
    if !is_set("connections") {
        text.push_str("connections = 1\n");
    }
    if !AMOUNTS.iter().any(|amount| is_set(amount)) {
        text.push_str(&format!("duration = {}\n", quoted(DURATION)));
    }
    if has_tables {
        text.push_str(&format!("fillfactor = {FILLFACTOR}\n"));
    }
    text.push_str("[workload]\n");
    if has_tables {
        text.push_str(&format!("schema = {}\n", inline("tables of pgbench", pgbench::SCHEMA, "")));
        let load = inline("pgbench -i", pgbench::LOAD, "");
        text.push_str(&format!("load = {{ script = {load}, rows = 1, batch = 1, connections = 1 }}\n"));
    } else if let Some(path) = &arguments.schema {
        text.push_str(&format!("schema = {}\n", inline(path, &files::read(path)?, "")));
    }
    let scripts: Vec<String> = scripts.iter().map(|script| format!("  {},\n", table(script))).collect();
    text.push_str(&format!("scripts = [\n{}]\n", scripts.concat()));
    let definitions = definitions(&arguments.define)?;
    if !definitions.is_empty() {
        text.push_str("[workload.define]\n");
        // The last definition of a name counts, as in pgbench.
        for (index, (name, value)) in definitions.iter().enumerate() {
            if definitions[index + 1..].iter().all(|(later, _)| later != name) {
                text.push_str(&format!("{} = {}\n", quoted(name), quoted(value)));
            }
        }
    }
    Ok(text)
}

/// `new-order.sql@9`, or the name alone where there is no other script.
fn words(script: &Script, count: usize) -> String {
    let name = match &script.what {
        What::File { path, .. } => base_name(path),
        What::Builtin(builtin) => builtin.name,
    };
    if count == 1 { name.to_owned() } else { format!("{name}@{}", script.weight) }
}

fn table(script: &Script) -> String {
    let weight = format!(", weight = {}", script.weight);
    match &script.what {
        What::File { path, text } => inline(path, text, &weight),
        What::Builtin(builtin) => format!("{{ builtin = {}{weight} }}", quoted(builtin.name)),
    }
}

fn inline(file: &str, sql: &str, more: &str) -> String {
    format!("{{ file = {}, sql = {}{more} }}", quoted(file), quoted(sql))
}

fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Name of the study: the names of the scripts, as far as specs take them.
fn name(scripts: &[Script]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for script in scripts {
        let name = match &script.what {
            What::File { path, .. } => {
                let name = base_name(path);
                let end = name.len().saturating_sub(".sql".len());
                let is_sql = name.get(end..).is_some_and(|end| end.eq_ignore_ascii_case(".sql"));
                if is_sql { &name[..end] } else { name }
            }
            What::Builtin(builtin) => builtin.name,
        };
        let letters = name.chars().map(|letter| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        });
        let plain: String = letters.collect();
        let plain = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        if !plain.is_empty() && !parts.contains(&plain) {
            parts.push(plain);
        }
    }
    let mut name = parts.join("-");
    name.truncate(NAME_LENGTH_MAX);
    match name.trim_end_matches('-') {
        "" => NAME.to_owned(),
        name => name.to_owned(),
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser;
    use script::BUILTINS;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn arguments(words: &[&str]) -> ScriptArguments {
        let words = ["fathom", "run"].iter().chain(words);
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Run(arguments) => arguments.scripts,
            other => panic!("{other:?}"),
        }
    }

    fn file(path: &str, text: &str, weight: u32) -> Script {
        Script { what: What::File { path: path.to_owned(), text: text.to_owned() }, weight }
    }

    #[test]
    fn the_name_of_a_study_is_made_of_the_names_of_its_scripts() {
        let named =
            |paths: &[&str]| name(&paths.iter().map(|path| file(path, "SELECT 1;", 1)).collect::<Vec<_>>());
        assert_eq!(named(&["/a b/New Order.SQL"]), "new-order");
        assert_eq!(named(&["a.sql", "dir/b_c.sql", "a.sql"]), "a-b-c");
        assert_eq!(named(&["\u{e9}.sql"]), "script");
        assert_eq!(named(&["\u{e9}"]), "script");
        assert_eq!(named(&[&("x".repeat(63) + "-y.sql")]).len(), 63);
    }

    #[test]
    fn whatever_a_script_holds_is_quoted() {
        let sql = "SELECT '\"\\', '''', \"\u{7f}\u{0}\r\n\t\u{85}';\n";
        assert_eq!(quoted(sql), "\"SELECT '\\\"\\\\', '''', \\\"\\u007f\\u0000\\r\\n\\t\\u0085';\\n\"");
    }

    #[test]
    fn what_the_command_line_sets_is_not_said_twice() {
        let scripts = [file("my.sql", "SELECT 1;", 3)];
        let of = |words: &[&str], overrides: &[(&str, &str)]| {
            let overrides: Vec<(String, String)> =
                overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            text(&scripts, &arguments(words), &overrides).unwrap()
        };
        let plain = of(&["my.sql"], &[]);
        assert!(plain.contains("repetitions = 1\n") && plain.contains("duration = \"60s\"\n"), "{plain}");
        assert!(plain.contains("connections = 1\n") && !plain.contains("schema"), "{plain}");
        assert!(plain.contains("{ file = \"my.sql\", sql = \"SELECT 1;\", weight = 3 }"), "{plain}");
        let set = of(&["my.sql"], &[("connections", "1,4"), ("rows", "100")]);
        assert!(!set.contains("repetitions") && !set.contains("duration") && !set.contains("connections"));
        let tables = of(&["my.sql", "-i", "-D", "a=1", "-D", "a=x\"y"], &[]);
        assert!(tables.contains("pgbench_accounts") && tables.contains("fillfactor = 100\n"), "{tables}");
        assert!(tables.ends_with("[workload.define]\n\"a\" = \"x\\\"y\"\n"), "{tables}");
        assert!(text(&scripts, &arguments(&["my.sql", "-F", "70"]), &[]).is_err());
    }

    #[test]
    fn a_built_in_script_brings_its_tables() {
        let scripts = [Script { what: What::Builtin(&BUILTINS[0]), weight: 1 }];
        let text = text(&scripts, &arguments(&["-b", "tpcb-like"]), &[]).unwrap();
        assert!(text.starts_with("name = \"tpcb-like\"\n"), "{text}");
        assert!(
            text.contains("{ builtin = \"tpcb-like\", weight = 1 }") && text.contains("load = "),
            "{text}"
        );
    }
}
