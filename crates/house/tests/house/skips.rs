//! A test that cannot run says so in one way: `skips::skip`, which is seen and counted.

use skips::Capability;

use crate::tree;

/// Words of a message that a test is left out.
const MESSAGES: [&str; 4] = ["skipped: ", "not run: ", "not tested", "is absent"];

#[test]
fn no_test_prints_by_itself_that_it_is_left_out() {
    let files = tree::files();
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.path.starts_with("crates/skips/")) {
        let statements = file.text.split("eprintln!(").skip(1);
        let texts = statements.filter_map(|statement| statement.split_once(';').map(|(text, _)| text));
        let found = texts.filter(|text| MESSAGES.iter().any(|message| text.to_lowercase().contains(message)));
        faults.extend(found.map(|text| format!("{}: {}", file.path, text.trim())));
    }
    assert!(faults.is_empty(), "call skips::skip, which is counted:\n{}", faults.join("\n"));
}

#[test]
fn what_the_gate_requires_are_capabilities() {
    let script = std::fs::read_to_string(tree::root().join("scripts/install-deps.sh")).unwrap();
    let body = script.split("\ncapabilities() {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let words = body.split("found=").skip(1).filter_map(|rest| {
        let word = rest.split([' ', '\n']).next()?;
        word.rsplit([',', '}']).next().filter(|word| !word.is_empty())
    });
    let words: Vec<&str> = words.collect();
    assert_eq!(words, ["postgres", "chromium"]);
    let known = Capability::ALL.map(Capability::name);
    assert!(words.iter().all(|word| known.contains(word)), "{words:?}");
}
