//! Expressions: each recorded one, and made-up ones beside pgbench.

use std::fmt::Write;

use crate::oracle::with_pgbench;
use crate::support::{shown, value};

const RECORDED: &str = include_str!("recorded.txt");

fn recorded() -> Vec<(&'static str, &'static str)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('-'));
    lines.map(|line| line.split_once(" => ").unwrap_or((line, ""))).collect()
}

#[test]
fn every_recorded_expression_gives_what_pgbench_gave() {
    let all = recorded();
    assert!(all.len() > 500, "{}", all.len());
    let wrong: Vec<String> = all
        .into_iter()
        .filter_map(|(expression, expected)| {
            let found = value(expression);
            (found != expected).then(|| format!("{expression}\n  pgbench {expected}\n  fathom  {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pgbench_gives_what_is_recorded() {
    with_pgbench(|pgbench| {
        if std::env::var_os("FATHOM_UPDATE").is_some() {
            let mut text = String::new();
            for line in RECORDED.lines() {
                let expression = line.split(" => ").next().unwrap();
                if line.starts_with('-') {
                    writeln!(text, "{line}").unwrap();
                } else {
                    let values = pgbench.values(&shown(expression), &[]).join(" | ");
                    writeln!(text, "{expression} => {values}").unwrap();
                }
            }
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pgbench/recorded.txt"), text).unwrap();
            return;
        }
        // Those that give one value run in one script; each error, and each with more values, needs a run of its own.
        let (together, alone): (Vec<_>, Vec<_>) = recorded()
            .into_iter()
            .partition(|(_, expected)| !expected.starts_with("error") && !expected.contains(" | "));
        let script: String = together.iter().map(|(expression, _)| shown(expression)).collect();
        let values = pgbench.values(&script, &[]);
        assert_eq!(values.len(), together.len(), "{:?}", values.last());
        for ((expression, expected), found) in together.into_iter().zip(values) {
            assert_eq!(found, expected, "{expression}");
        }
        for (expression, expected) in alone {
            assert_eq!(pgbench.values(&shown(expression), &[]).join(" | "), expected, "{expression}");
        }
    });
}

/// Made-up expressions, most of them valid; a linear congruential generator chooses.
struct Maker(u64);

impl Maker {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of(&mut self, words: &[&str]) -> String {
        words[self.below(words.len() as u64) as usize].to_owned()
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.of(&[
                "0", "1", "-7", "42", "3.25", "-0.5", "1e3", "NULL", "TRUE", "FALSE", ":one", ":i", ":zero",
                ":null", ":t", ":f", ":maxint", ":minint", ":d", "pi()", ".5", "9", "64",
            ]);
        }
        let mut next = || self.below(u64::from(depth)) as u32;
        let depths = [next(), next(), next()];
        let a = self.expression(depths[0]);
        let b = self.expression(depths[1]);
        let c = self.expression(depths[2]);
        match self.below(12) {
            0..=5 => {
                let operator = self.of(&[
                    "+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>", "<", ">", "<=", ">=", "=", "<>",
                    "!=", "AND", "or",
                ]);
                format!("{a} {operator} {b}")
            }
            6 => format!("({a})"),
            7 => format!("{}{a}", self.of(&["-", "+ ", "~", "NOT "])),
            8 => format!(
                "{a} {}",
                self.of(&["IS NULL", "is not null", "ISNULL", "NOTNULL", "IS TRUE", "IS NOT FALSE"])
            ),
            9 => format!("CASE WHEN {a} THEN {b} ELSE {c} END"),
            10 => {
                format!("{}({a})", self.of(&["abs", "int", "double", "sqrt", "ln", "exp", "hash", "debug"]))
            }
            _ => format!(
                "{}({a}, {b})",
                self.of(&["least", "greatest", "mod", "pow", "hash_fnv1a", "permute"])
            ),
        }
    }
}

/// What C leaves open, or what another library computes in another way.
fn differs_by_choice(found: &str, expected: &str) -> bool {
    let is_nan = |text: &str| text.contains("NaN");
    (is_nan(found) && is_nan(expected)) || found.contains("cannot coerce boolean to double")
}

#[test]
fn made_up_expressions_give_what_pgbench_gives() {
    with_pgbench(|pgbench| {
        let mut maker = Maker(17);
        let mut wrong = Vec::new();
        for _ in 0..200 {
            let expression = maker.expression(4);
            let found = value(&expression);
            let expected = pgbench.values(&shown(&expression), &[]).join(" | ");
            if found != expected && !differs_by_choice(&found, &expected) {
                wrong.push(format!("{expression}\n  pgbench {expected}\n  fathom  {found}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
