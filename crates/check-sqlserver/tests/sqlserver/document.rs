//! docs/check/sqlserver.md: the rules with the numbers of DBCC's messages, and what is found at which level. Written by
//! `FATHOM_UPDATE=1 cargo test -p check-sqlserver document`, which needs the real files.

use std::fmt::Write as _;

use check_sqlserver::RULES;
use results::check::CheckLevel;

use crate::classes::CLASSES;
use crate::copy::{Copy, checked, options, rules_of};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/check/sqlserver.md");

#[test]
fn the_document_has_every_rule_and_every_class_of_damage() {
    if std::env::var_os("FATHOM_UPDATE").is_some_and(|value| value == "1")
        && let Some(text) = document()
    {
        std::fs::write(DOCUMENT, text).unwrap();
    }
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let mut absent: Vec<String> = Vec::new();
    absent.extend(RULES.iter().map(rule_row).filter(|row| !text.contains(row)));
    absent.extend(CLASSES.iter().map(|(class, ..)| format!("| {class} |")).filter(|row| !text.contains(row)));
    assert!(absent.is_empty(), "write it with FATHOM_UPDATE=1: {absent:?}");
}

fn rule_row(rule: &check::rule::Rule) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} | {} |\n",
        rule.id,
        rule.level.name(),
        rule.messages.unwrap_or(""),
        rule.invariant,
        rule.meaning,
        rule.evidence
    )
}

fn document() -> Option<String> {
    let written = std::fs::read_to_string(DOCUMENT).unwrap();
    let mut text = written.split_once("## Rules\n").unwrap().0.to_owned();
    text.push_str(
        "## Rules\n\nDBCC: numbers of the messages of DBCC CHECKDB for the same fault, according to their published texts \
         (Microsoft Learn, \"Database engine events and errors\").\n\n\
         | id | level | DBCC | rule | meaning | source |\n|---|---|---|---|---|---|\n",
    );
    RULES.iter().for_each(|rule| text.push_str(&rule_row(rule)));
    text.push_str(
        "\n## Classes of damage\n\nOne damage at a time in a copy of a public sample database; checksums are made valid again \
         where the class needs it. DBCC was not run: no server was available.\n\n\
         | class | page | structure | full |\n|---|---|---|---|\n",
    );
    for (class, file, damage, _) in CLASSES {
        let mut copy = Copy::of(file)?;
        damage(&mut copy);
        let path = copy.store();
        write!(text, "| {class} |").unwrap();
        for level in [CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            let report = checked(&path, &options(level));
            let rules: Vec<_> = rules_of(&report).iter().map(|rule| format!("`{rule}`")).collect();
            let cell = if rules.is_empty() { "silent".to_owned() } else { rules.join(" ") };
            write!(text, " {cell} |").unwrap();
        }
        text.push('\n');
    }
    Some(text)
}
