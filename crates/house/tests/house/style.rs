//! STYLE rules that a machine is able to check. What is a number here is a ratchet: it may only go down.

use std::collections::BTreeSet;

use crate::tree::{self, TextFile};

/// No Rust file is longer, but for tables of data.
const LINES_MAX: usize = 600;
/// Files that are one table: each entry a few lines, no logic to lose one's way in.
const DATA_TABLES: [&str; 1] = ["crates/lab-postgres/src/waits/meanings.rs"];
/// Rust files should not be longer than this; `LONG_FILES_MAX` of them are.
const LINES_WANTED: usize = 400;
const LONG_FILES_MAX: usize = 21;
/// Functions should not be longer than this; `LONG_FUNCTIONS_MAX` of them are.
const FUNCTION_LINES_WANTED: usize = 70;
const LONG_FUNCTIONS_MAX: usize = 6;

fn rust_files() -> Vec<TextFile> {
    let files: Vec<TextFile> = tree::files().into_iter().filter(TextFile::is_rust).collect();
    assert!(files.len() > 50, "only {} Rust files were found", files.len());
    files
}

fn report(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Line number and text of every line for which `is_fault` holds, as `path:line: text`.
fn lines_where(files: &[TextFile], is_fault: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            if is_fault(line) {
                found.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn no_file_is_too_long_and_few_are_long() {
    let mut long: Vec<(usize, String)> = rust_files()
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, path)| *lines > LINES_WANTED && !DATA_TABLES.contains(&path.as_str()))
        .collect();
    long.sort();
    let listed: Vec<String> = long.iter().map(|(lines, path)| format!("{lines:5} {path}")).collect();
    let listed = listed.join("\n");
    assert!(long.iter().all(|(lines, _)| *lines <= LINES_MAX), "files over {LINES_MAX} lines:\n{listed}");
    assert!(
        long.len() <= LONG_FILES_MAX,
        "{} files have more than {LINES_WANTED} lines, {LONG_FILES_MAX} may: split one by what it does\n{listed}",
        long.len()
    );
}

#[test]
fn few_functions_are_long() {
    let mut long = Vec::new();
    for file in rust_files() {
        for (name, lines) in functions(&file.text) {
            if lines > FUNCTION_LINES_WANTED {
                long.push(format!("{lines:5} {}: {name}", file.path));
            }
        }
    }
    assert!(
        long.len() <= LONG_FUNCTIONS_MAX,
        "{} functions have more than {FUNCTION_LINES_WANTED} lines, {LONG_FUNCTIONS_MAX} may:\n{}",
        long.len(),
        long.join("\n")
    );
}

/// First line and number of lines of every function. Relies on rustfmt: the closing brace stands under the first word.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let is_function = head
            .split_whitespace()
            .take_while(|word| !word.contains('(') || word.starts_with("pub("))
            .any(|word| word == "fn")
            || head.starts_with("fn ");
        if !is_function || head.starts_with("//") || head.ends_with(';') || head.ends_with('}') {
            continue;
        }
        let indent = line.len() - head.len();
        let closing = format!("{}}}", " ".repeat(indent));
        if let Some(length) = lines[start..].iter().position(|line| *line == closing) {
            found.push((head.to_owned(), length + 1));
        }
    }
    found
}

#[test]
fn the_length_of_a_function_is_counted_from_its_first_line_to_its_brace() {
    let text = "impl A {\n    fn a() {}\n    pub(crate) fn b(\n        c: u8,\n    ) -> u8 {\n        c\n    }\n}\nfn d() {}\n";
    let found = functions(text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0], ("pub(crate) fn b(".to_owned(), 5));
}

#[test]
fn nothing_is_left_to_do_ignored_or_printed_for_debugging() {
    let words = ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!("));
    let ignored = concat!("#[", "ignore");
    report(&lines_where(&rust_files(), |line| {
        let code = line.split("//").next().unwrap_or("");
        words.iter().any(|word| code.contains(word.as_str())) || code.contains(ignored)
    }));
}

#[test]
fn every_hint_stands_on_a_line_of_its_own() {
    let others = ["; ", "(", ". "].map(|before| format!("{before}hint: "));
    report(&lines_where(&rust_files(), |line| {
        let code = line.split("//").next().unwrap_or("");
        others.iter().any(|other| code.contains(other.as_str())) || code.contains(concat!("; ", "try again"))
    }));
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let faults: Vec<String> = rust_files()
        .into_iter()
        // A unit's tests in a file of their own are for that unit.
        .filter(|file| !file.path.ends_with("/tests.rs") && !file.text.starts_with("//! "))
        .map(|file| format!("{}: does not begin with `//! ` and its purpose", file.path))
        .collect();
    report(&faults);
}

#[test]
fn no_module_has_a_name_that_says_nothing() {
    let empty_words = ["util", "utils", "helper", "helpers", "common", "manager", "misc"];
    let faults: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| {
            file.path.trim_end_matches(".rs").split(['/', '_']).any(|word| empty_words.contains(&word))
        })
        .map(|file| format!("{}: name it after what it holds", file.path))
        .collect();
    report(&faults);
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    // Absolute places of somebody's checkout or home, wherever a word may begin.
    let places = ["work", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let is_start =
        |before: Option<char>| before.is_none_or(|c| c.is_whitespace() || "\"'`(=:<[,".contains(c));
    report(&lines_where(&tree::files(), |line| {
        places.iter().any(|place| {
            line.match_indices(place.as_str()).any(|(index, _)| is_start(line[..index].chars().next_back()))
        })
    }));
}

#[test]
fn messages_avoid_words_that_blame_or_say_nothing() {
    let words = ["failed to", "unable to", "illegal"];
    let files: Vec<TextFile> =
        rust_files().into_iter().filter(|file| !file.path.starts_with("crates/house/")).collect();
    report(&lines_where(&files, |line| {
        let code = line.trim_start();
        !code.starts_with("//")
            && literals(code).any(|literal| words.iter().any(|word| literal.contains(word)))
    }));
}

/// The string literals of a line, as far as one line tells.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

#[test]
fn every_crate_takes_its_lints_and_its_version_from_the_workspace() {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for file in tree::files() {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        names.insert(name.to_owned());
        for wanted in ["[lints]\nworkspace = true", "version.workspace = true", "license.workspace = true"] {
            if !file.text.contains(wanted) {
                faults.push(format!("{}: has no \"{}\"", file.path, wanted.replace('\n', " ")));
            }
        }
    }
    assert!(names.len() > 5, "only {names:?} were found");
    report(&faults);
}
