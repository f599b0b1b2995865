//! What differs around the runs of two sides: whoever explains a difference looks here first.

use results::model::Level;

use super::changed::{Changed, Part};
use super::side::Side;
use super::{pairs, plans, texts};
use crate::summary::{Fact, Record, record};

/// Lists everything that differs, in the order of the parts.
pub(crate) fn changes(baseline: &Side, candidate: &Side) -> Vec<Changed> {
    let records = [baseline, candidate].map(|side| record(&side.results));
    let mut changes = Vec::new();
    let parameters = [baseline, candidate].map(parameters);
    add(&mut changes, Part::Parameter, &parameters[0], &parameters[1]);
    let texts = [baseline, candidate].map(|side| texts::of_workload(&side.results.study.spec_toml));
    add(&mut changes, Part::Parameter, &texts[0], &texts[1]);
    let matched = pairs::matched(&baseline.results, &candidate.results);
    changes.extend(plans::changes(&baseline.results, &candidate.results, &matched));
    for part in [Part::Setting, Part::Engine, Part::Layout, Part::Machine] {
        let [left, right] = [&records[0], &records[1]].map(|record| flat(facts(record, part)));
        add(&mut changes, part, &left, &right);
    }
    let version = |record: &Record| vec![("version".to_owned(), record.fathom_version.clone())];
    add(&mut changes, Part::Fathom, &version(&records[0]), &version(&records[1]));
    changes
}

/// Factors with the levels that take part, and what does not vary.
fn parameters(side: &Side) -> Vec<(String, String)> {
    let results = &side.results;
    let mut parameters: Vec<(String, Vec<String>)> = vec![
        ("experiment".to_owned(), vec![results.study.experiment.clone()]),
        ("target".to_owned(), vec![results.study.target_words()]),
        ("scale".to_owned(), vec![format!("{:?}", results.study.scale).to_lowercase()]),
    ];
    let levels = results.cells.iter().flat_map(|cell| &cell.levels).chain(&results.study.fixed);
    for (name, level) in levels {
        let value = written(level);
        match parameters.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => parameters.push((name.clone(), vec![value])),
        }
    }
    parameters.into_iter().map(|(name, values)| (name, values.join(", "))).collect()
}

fn written(level: &Level) -> String {
    let text = level.to_string();
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

fn facts(record: &Record, part: Part) -> &[Fact] {
    match part {
        Part::Setting => &record.settings,
        Part::Engine => &record.engine,
        Part::Layout => &record.layout,
        Part::Machine => &record.machine,
        Part::Parameter | Part::Plan | Part::Fathom => &[],
    }
}

/// Facts as text; directories without the last part, which fathom names anew for every target.
fn flat(facts: &[Fact]) -> Vec<(String, String)> {
    let value = |fact: &Fact| {
        let own = |path: &str| {
            let place = path.rsplit_once('/').filter(|(_, last)| last.starts_with("fathom-"));
            place.map_or_else(|| path.to_owned(), |(above, _)| above.to_owned())
        };
        let mut values: Vec<String> = fact.values.iter().map(|value| own(value)).collect();
        values.dedup();
        values.join("; ")
    };
    facts.iter().map(|fact| (fact.name.clone(), value(fact))).collect()
}

fn add(changes: &mut Vec<Changed>, part: Part, left: &[(String, String)], right: &[(String, String)]) {
    let find = |side: &[(String, String)], name: &str| {
        side.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let names = left.iter().chain(right.iter().filter(|(name, _)| find(left, name).is_none()));
    for (name, _) in names {
        let (mut baseline, mut candidate) = (find(left, name), find(right, name));
        if baseline == candidate {
            continue;
        }
        if let (Some(one), Some(other)) = (&baseline, &candidate)
            && let Some((less, more)) = differing_words(one, other)
        {
            (baseline, candidate) = (Some(less), Some(more));
        }
        changes.push(Changed { part, name: name.clone(), baseline, candidate });
    }
}

/// Longer values that have words in common are shown by the words that they do not share.
const LONG: usize = 60;

/// Of two long values, the words that only one of them has: settings of a build, flags of a processor.
fn differing_words(one: &str, other: &str) -> Option<(String, String)> {
    if one.len().max(other.len()) < LONG {
        return None;
    }
    let [left, right] = [one, other].map(words);
    let shared = left.iter().filter(|word| right.contains(word)).count();
    if shared == 0 {
        return None;
    }
    let only = |all: &[&str], not_in: &[&str]| {
        let only: Vec<&str> = all.iter().filter(|word| !not_in.contains(word)).copied().collect();
        match only.is_empty() {
            true => format!("(the same without it: {})", results::wording::counted(shared as u64, "word")),
            false => format!("... {}", only.join(if one.contains(", ") { ", " } else { " " })),
        }
    };
    Some((only(&left, &right), only(&right, &left)))
}

/// The items of a list, or words; what stands between single quotation marks is one word.
fn words(text: &str) -> Vec<&str> {
    if text.contains(", ") {
        return text.split(", ").collect();
    }
    let mut is_quoted = false;
    let is_end = |letter: char| {
        is_quoted ^= letter == '\'';
        letter.is_whitespace() && !is_quoted
    };
    text.split(is_end).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn of_long_values_only_the_words_that_differ_are_shown() {
        let one =
            "'--build=x86_64' '--prefix=/usr/lib/postgresql/15' 'CFLAGS=-g -O2' '--with-llvm' '--with-icu'";
        let other = "'--build=x86_64' '--prefix=/usr/lib/postgresql/18' 'CFLAGS=-g -O2' '--with-icu'";
        let (left, right) = differing_words(one, other).unwrap();
        assert_eq!(left, "... '--prefix=/usr/lib/postgresql/15' '--with-llvm'");
        assert_eq!(right, "... '--prefix=/usr/lib/postgresql/18'");
        let flags =
            ["aes, avx, avx2, bmi1, bmi2, cx16, fma, fsgsbase, lahf_lm, movbe, popcnt", "aes, avx, popcnt"];
        let (left, right) = differing_words(flags[0], flags[1]).unwrap();
        assert_eq!(left, "... avx2, bmi1, bmi2, cx16, fma, fsgsbase, lahf_lm, movbe");
        assert_eq!(right, "(the same without it: 3 words)");
        assert_eq!(differing_words("15.1", "18.6"), None);
        let apart = ["a".repeat(80), "b".repeat(80)];
        assert_eq!(differing_words(&apart[0], &apart[1]), None);
    }
}
