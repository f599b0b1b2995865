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

/// Every form of a part, every kind of name.
const ALL_FORMS: &str = r#"name = "all"
question = "q"
metric = "t_bytes"
better = "smaller"
[workload]
schema = { file = "s.sql", sql = """
-- fathom: key=a
CREATE TABLE t (id {{key}}, n int);
-- fathom: key=b
\\if :n > {{n}}
CREATE TABLE t (id {{ key }});
\\endif
-- fathom: key=all
""" }
load = { table = "t", rows = "{{n}}", columns = { id = "row", n = "random(1, :n)", note = "null(5, text(2, 9))" } }
scripts = [ { sql = "SELECT :n, ':key' {{share}};", weight = 2 }, { builtin = "select-only" } ]
after = { sql = "SELECT 1 AS t_bytes" }
define = { share = 0.5 }
[factors]
key = ["a", "b"]
n = [10, 20]
protocol = ["simple", "prepared"]
[parameters]
connections = 2
duration = "1s"
latency_limit = "500us"
[miniature.factors]
key = ["a"]
[miniature.parameters]
n = 3
"#;

#[test]
fn no_damaged_workload_makes_the_reader_panic() {
    assert!(resolve(ALL_FORMS, &on("sqlite", &[])).is_ok());
    let mut random = Random::new(6);
    for _ in 0..3000 {
        let mut bytes = ALL_FORMS.as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[at] = b"[]{}=\".,'\n#0a\\:-{\xc3"[random.below(18) as usize],
                1 => bytes.insert(at, b"{}:\"'\n-=\xe9"[random.below(9) as usize]),
                2 => bytes.truncate(at.max(1)),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(b'n');
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match Experiment::parse("damaged.toml", &text) {
            Err(error) => drop(error.to_string()),
            Ok(experiment) => {
                for scale in experiment.scales() {
                    let request = lab::spec::Request::plain(scale, crate::engine("sqlite"));
                    match experiment.resolve(&request) {
                        Err(error) => drop(error.to_string()),
                        Ok(resolved) => {
                            let again = resolve(&resolved.spec_toml, &request);
                            assert!(again.is_ok_and(|again| again == resolved), "{}", resolved.spec_toml);
                        }
                    }
                }
            }
        }
    }
}
