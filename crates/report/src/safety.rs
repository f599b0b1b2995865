//! What the faster side of a comparison gives up: a gain that is paid with durability is never reported without saying so.

use results::model::Level;

use crate::summary::{Levels, StudySummary, Verdict};

/// A parameter that trades safety for speed: its levels from safe to unsafe, each with what it risks.
struct Trade {
    parameter: &'static str,
    levels: &'static [(&'static [&'static str], &'static str)],
}

const LAST_TRANSACTIONS: &str = "a crash may lose the last transactions that were acknowledged";
const DATABASE: &str = "a crash of the machine may damage or lose the database";
const ON: &[&str] = &["on", "true", "1"];
const OFF: &[&str] = &["off", "false", "0"];

const TRADES: [Trade; 7] = [
    Trade {
        parameter: "durability",
        levels: &[(&["full"], ""), (&["relaxed"], LAST_TRANSACTIONS), (&["none"], DATABASE)],
    },
    Trade {
        parameter: "synchronous_commit",
        levels: &[
            (&["on", "local", "remote_write", "remote_apply", "true", "1"], ""),
            (OFF, LAST_TRANSACTIONS),
        ],
    },
    Trade { parameter: "fsync", levels: &[(ON, ""), (OFF, DATABASE)] },
    Trade { parameter: "full_page_writes", levels: &[(ON, ""), (OFF, DATABASE)] },
    Trade {
        parameter: "synchronous",
        levels: &[
            (&["extra", "full", "2", "3"], ""),
            (&["normal", "1"], LAST_TRANSACTIONS),
            (&["off", "0"], DATABASE),
        ],
    },
    Trade {
        parameter: "journal_mode",
        levels: &[(&["wal", "delete", "truncate", "persist"], ""), (&["memory", "off"], DATABASE)],
    },
    Trade {
        parameter: "data_checksums",
        levels: &[(ON, ""), (OFF, "damage of pages on the device is not noticed")],
    },
];

/// One sentence for all levels that were shown to be better and are less safe than what they were compared with.
pub(crate) fn sentence(summary: &StudySummary) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for contrast in &summary.comparisons {
        let (winner, loser) = match contrast.comparison.map(|comparison| comparison.verdict) {
            Some(Verdict::Better) => (&contrast.of_candidate, &contrast.of_reference),
            Some(Verdict::Worse) => (&contrast.of_reference, &contrast.of_candidate),
            _ => continue,
        };
        for ((name, level), (_, other)) in winner.0.iter().zip(&loser.0) {
            let (Some((rank, risk)), Some((safer, _))) = (rank(name, level), rank(name, other)) else {
                continue;
            };
            let text = format!("{name}={level} is less safe than {name}={other}: {risk}");
            if rank > safer && !found.contains(&text) {
                found.push(text);
            }
        }
    }
    (!found.is_empty()).then(|| format!("Note: {}.", found.join("; ")))
}

/// What the named configurations risk that others of the study do not: for tables that pick the best.
pub(crate) fn of_best<'a>(summary: &StudySummary, best: impl Iterator<Item = &'a Levels>) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, level) in best.flat_map(|levels| &levels.0) {
        let of_factor = summary.factors.iter().filter(|factor| factor.name == *name);
        let safest = of_factor.flat_map(|factor| &factor.levels).filter_map(|level| rank(name, level)).min();
        let (Some((rank, risk)), Some((safest, _))) = (rank(name, level), safest) else { continue };
        let text = format!("{name}={level}: {risk}");
        if rank > safest && !found.contains(&text) {
            found.push(text);
        }
    }
    (!found.is_empty()).then(|| format!("Less safe than others: {}.", found.join("; ")))
}

/// What a side risks with its value of a parameter and the other does not; `None` where it is as safe.
pub(crate) fn of_change(name: &str, value: &str, other: &str) -> Option<String> {
    let [one, two] = [value, other].map(|value| rank(name, &Level::Text(value.to_owned())));
    let ((rank, risk), (safer, _)) = one.zip(two)?;
    (rank > safer).then(|| format!("{name}={value} is less safe than {name}={other}: {risk}"))
}

/// How unsafe a level is, from 0, and what it risks; `None` where the parameter has nothing to do with safety.
fn rank(name: &str, level: &Level) -> Option<(usize, &'static str)> {
    let name = name.rsplit('.').next().unwrap_or(name);
    let trade = TRADES.iter().find(|trade| trade.parameter == name)?;
    let level = level.to_string().to_lowercase();
    let found = trade.levels.iter().enumerate().find(|(_, (words, _))| words.contains(&level.as_str()));
    found.map(|(rank, (_, risk))| (rank, *risk))
}
