//! Any text survives the way into a stored spec and back.

use lab::spec::Experiment;
use results::redaction::redacted_spec;
use stats::random::Random;

use super::support::{on, resolve, workloads};

const PARTS: [&str; 30] = [
    "'''",
    "\"\"\"",
    "'",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "é",
    "\u{1F600}",
    "{{key}}",
    "{{",
    "}}",
    ":key",
    "#",
    "]",
    "[a]",
    "= ",
    "\u{85}",
    "\u{2028}",
    "\u{7f}",
    "\u{1}",
    "\u{c}",
    "\u{feff}",
    "sql = '''",
    "\nsql = \"",
    "\n[workload]\n",
    "a b",
    "x@example.com:5",
];

fn text(random: &mut Random) -> String {
    let count = random.below(12);
    (0..count).map(|_| PARTS[random.below(PARTS.len() as u64) as usize]).collect()
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    format!("\"{escaped}\"")
}

#[test]
fn odd_texts_names_and_levels_come_back_from_a_stored_spec() {
    let mut random = Random::new(17);
    for _ in 0..200 {
        // In a comment, so that any text is a script.
        let sql = format!("/*{}{{{{key}}}}*/ SELECT 1;", text(&mut random));
        let file = text(&mut random).replace(|c: char| c.is_control(), "") + "x.sql";
        let level =
            text(&mut random).replace(|c: char| c.is_control(), "").replace("{{", "").replace('@', "") + "'";
        let spec = format!(
            "name = \"odd\"\nquestion = \"q\"\n[workload]\nschema = {{ sql = {0}, file = {1} }}\nscripts = [ {{ sql = {0} }} ]\n\
             load = {{ table = {1}, rows = 5, columns = {{ {1} = \"row\", b = \"text(3)\" }} }}\n\
             [factors]\nkey = [1, true, 2.5, {2}]\n[parameters]\nduration = \"1s\"\nconnections = 1\n\"größe\" = 3\n",
            quoted(&format!("{sql} -- {{{{größe}}}}")),
            quoted(&file),
            quoted(&level),
        );
        let first = resolve(&spec, &on("sqlite", &[])).unwrap_or_else(|error| panic!("{error}\n{spec}"));
        let again = resolve(&first.spec_toml, &on("sqlite", &[]))
            .unwrap_or_else(|error| panic!("{error}\n{}", first.spec_toml));
        assert_eq!(again, first, "{}", first.spec_toml);
        assert_eq!(workloads(&again)[0].schema.as_ref().unwrap().file, file);
        assert!(Experiment::parse("stored.toml", &redacted_spec(&first.spec_toml)).is_ok());
    }
}
