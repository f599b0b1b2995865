//! What a check said, read from its JSON lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cells::Database;

/// A finding, in the parts that a fault decides on.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) file: String,
    pub(crate) rule: String,
    pub(crate) is_certain: bool,
}

/// What a check said.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) findings: Vec<Found>,
    pub(crate) is_balanced: bool,
    /// Why it could not finish.
    pub(crate) unfinished: String,
    pub(crate) words: String,
}

impl Answer {
    pub(crate) fn rules(&self) -> BTreeSet<&str> {
        self.findings.iter().map(|finding| finding.rule.as_str()).collect()
    }

    pub(crate) fn reason(&self) -> String {
        self.unfinished.chars().take(230).collect()
    }
}

/// Checks a database below a directory.
pub(crate) fn check(database: &Database, directory: &Path) -> Answer {
    let mut targets: Vec<PathBuf> = database.targets.iter().map(|target| directory.join(target)).collect();
    if targets.is_empty() {
        targets.push(directory.to_path_buf());
    }
    // A check that hangs is a failure of its cell, not of the suite.
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "600", env!("CARGO_BIN_EXE_fathom")]);
    command.args(["check", "--json", "--no-store", "-j", "2"]).args(&targets);
    answer(command)
}

/// Runs a check with `--json`, and reads what it says.
pub(crate) fn answer(mut command: Command) -> Answer {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut answer = Answer {
        code: output.status.code(),
        findings: Vec::new(),
        is_balanced: true,
        unfinished: error.to_string(),
        words: String::new(),
    };
    for line in out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str() {
            Some("finding") => {
                answer.findings.push(Found {
                    file: line["file"].as_str().unwrap().to_owned(),
                    rule: line["rule"].as_str().unwrap().to_owned(),
                    is_certain: line["confidence"] == "certain",
                });
                answer.words.push_str(&format!(
                    "finding: {} {} {} {} {} found {}\n",
                    line["confidence"],
                    line["file"],
                    line["page"],
                    line["rule"],
                    line["object"],
                    line["found"]
                ));
            }
            Some("summary") => {
                let accounting = &line["accounting"];
                let count = |name: &str| accounting[name].as_u64().unwrap_or(0);
                let skipped = accounting["skipped"].as_array().unwrap();
                let skipped: u64 = skipped.iter().filter_map(|entry| entry["page_count"].as_u64()).sum();
                let classes =
                    ["clean_count", "damaged_count", "affected_count", "unreadable_count", "unreached_count"];
                answer.is_balanced = count("page_count") == skipped + classes.map(count).iter().sum::<u64>();
                answer.unfinished.push_str(line["unfinished"].as_str().unwrap_or_default());
                answer
                    .words
                    .push_str(&format!("unfinished: {}\naccounting: {accounting}\n", line["unfinished"]));
            }
            _ => {}
        }
    }
    answer.words.push_str(&error);
    answer
}
