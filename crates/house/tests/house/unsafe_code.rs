//! `unsafe` lives in the modules that ARCHITECTURE.md lists, each with its argument, and nowhere else.

use std::collections::BTreeSet;

use crate::tree::{self, TextFile};

const DOCUMENT: &str = "ARCHITECTURE.md";
/// Crates that rely on the lint of the workspace alone. May only become fewer.
const DENIED_NOT_FORBIDDEN: [&str; 1] = ["crates/stats/"];

#[test]
fn unsafe_code_is_in_the_listed_modules_only() {
    let listed: BTreeSet<String> = tree::fenced_block(DOCUMENT, "unsafe").into_iter().collect();
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    for file in tree::files().iter().filter(|file| file.is_rust()) {
        let lines = unsafe_lines(file);
        if let Some(line) = lines.first() {
            used.insert(file.path.clone());
            if !listed.contains(&file.path) {
                faults.push(format!("{line}: not in the list of {DOCUMENT}"));
            } else if !file.text.contains("SAFETY:") {
                faults.push(format!("{line}: the module has no comment `SAFETY:` with its argument"));
            }
        }
    }
    for path in listed.difference(&used) {
        faults.push(format!("{DOCUMENT} lists \"{path}\", which has no unsafe code: strike it there"));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_workspace_denies_unsafe_code_and_crates_without_any_forbid_it() {
    let workspace = std::fs::read_to_string(tree::root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"deny\""), "Cargo.toml does not deny unsafe code");
    let listed = tree::fenced_block(DOCUMENT, "unsafe");
    let faults: Vec<String> = tree::files()
        .into_iter()
        .filter(|file| {
            let parts: Vec<&str> = file.path.split('/').collect();
            matches!(parts.as_slice(), ["crates", _, "src", "lib.rs" | "main.rs"])
        })
        .filter(|file| {
            let crate_path = file.path.split("src/").next().unwrap();
            // Forbidding cannot be lifted for a module: a crate with a listed one relies on the workspace's lint.
            !DENIED_NOT_FORBIDDEN.contains(&crate_path)
                && !listed.iter().any(|path| path.starts_with(crate_path))
                && !file.text.contains("#![forbid(unsafe_code)]")
        })
        .map(|file| format!("{}: add #![forbid(unsafe_code)]", file.path))
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Lines with an unsafe block, function, implementation, trait or lifted lint, outside comments and strings.
fn unsafe_lines(file: &TextFile) -> Vec<String> {
    let word = concat!("uns", "afe");
    let lifts = ["allow", "expect"].map(|lint| format!("{lint}({word}_code"));
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            let code = line.split("//").next().unwrap_or("");
            let quoted = code.find('"').unwrap_or(code.len());
            let before_strings = &code[..quoted];
            let follows = |rest: &str| {
                let rest = rest.trim_start();
                ["{", "fn ", "impl ", "impl<", "extern ", "trait "].iter().any(|next| rest.starts_with(next))
            };
            let is_used = before_strings
                .match_indices(word)
                .any(|(index, _)| follows(&before_strings[index + word.len()..]));
            is_used || lifts.iter().any(|lift| before_strings.contains(lift.as_str()))
        })
        .map(|(index, line)| format!("{}:{}: {}", file.path, index + 1, line.trim()))
        .collect()
}
