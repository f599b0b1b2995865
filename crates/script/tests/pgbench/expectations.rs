//! `-- expect:` clauses: which statement they belong to, and which are refused.

use script::{Expect, Protocol};

use crate::support::{program, run_text};

/// Each statement's first word with its expectation.
fn expectations(text: &str) -> Vec<String> {
    let mut program = program(Protocol::Extended);
    program.add("test.sql", text.as_bytes()).unwrap();
    let commands = program.scripts()[0].commands().iter();
    let statements = commands.filter_map(|command| {
        let statement = command.statement()?;
        let word = statement.text().split([' ', ';', '\n']).next()?.to_owned();
        Some(statement.expect().map_or(word.clone(), |expect| format!("{word} [{expect}]")))
    });
    statements.collect()
}

#[test]
fn an_expectation_belongs_to_the_statement_beside_it() {
    for (text, expected) in [
        ("A; -- expect: rows = 1\nB;", "A [rows = 1], B"),
        ("A;\n-- expect: rows = 1\n\nB;", "A [rows = 1], B"),
        ("A;\n\n-- expect: rows = 1\nB;", "A, B [rows = 1]"),
        ("-- expect: rows = 1\r\nB;\r\n", "B [rows = 1]"),
        ("-- expect: rows = 1\n-- why\nB;", "B [rows = 1]"),
        ("A;\n-- why\n-- expect: rows = 1", "A [rows = 1]"),
        ("A; B; -- expect: rows = 1", "A, B [rows = 1]"),
        ("A\n-- expect: rows = 1\n;B;", "A [rows = 1], B"),
        ("A -- expect: rows = 1", "A [rows = 1]"),
        ("A '\n-- expect: rows = 1\n';", "A"),
        ("A $$\n-- expect: rows = 1\n$$ /* -- expect: rows = 2 */;", "A"),
        ("A \\gset\n-- expect: rows = 1\n\\set x 1\nB;", "A [rows = 1], B"),
        ("A -- expect: rows = 1\n\\gset\nB;", "A [rows = 1], B"),
        ("\\set x 1\n-- expect: rows = 1\nA;", "A [rows = 1]"),
        ("A\n  b\n  c;\n-- expect: rows = 1", "A [rows = 1]"),
    ] {
        assert_eq!(expectations(text).join(", "), expected, "{text:?}");
    }
}

#[test]
fn an_expectation_between_two_statements_belongs_to_the_one_that_has_no_other() {
    for (text, expected) in [
        ("A;\n-- expect: rows = 1\nB;\n-- expect: rows = 2\n", "A [rows = 1], B [rows = 2]"),
        ("-- expect: rows = 1\nA;\n-- expect: rows = 2\nB;", "A [rows = 1], B [rows = 2]"),
        ("A; -- expect: rows = 1\n-- expect: rows = 2\nB;", "A [rows = 1], B [rows = 2]"),
        ("A;\n-- expect: rows = 1\nB; -- expect: rows = 2\n", "A [rows = 1], B [rows = 2]"),
        (
            "BEGIN;\n-- expect: rows = 1\nA;\n-- expect: rows = 2\nB;\nCOMMIT;",
            "BEGIN, A [rows = 1], B [rows = 2], COMMIT",
        ),
        (
            "BEGIN;\nA;\n-- expect: rows = 1\nB;\n-- expect: rows = 2\nEND;",
            "BEGIN, A [rows = 1], B [rows = 2], END",
        ),
        (
            "A;\n-- expect: rows = 1\nB;\n-- expect: rows = 2\nC;\n-- expect: rows = 3\n",
            "A [rows = 1], B [rows = 2], C [rows = 3]",
        ),
    ] {
        assert_eq!(expectations(text).join(", "), expected, "{text:?}");
    }
}

#[test]
fn an_expectation_in_a_block_belongs_to_the_engines_of_the_block() {
    let text = "-- fathom: engine=postgres\nA; -- expect: rows = 1\n-- fathom: engine=sqlite\nB;\n-- expect: rows = 2\n-- fathom: engine=all\nC;";
    assert_eq!(expectations(text).join(", "), "A [rows = 1], C");
}

#[test]
fn rows_are_compared_as_the_clause_says() {
    for (clause, shown, held, not_held) in [
        ("rows = 1", "rows = 1", &[1][..], &[0, 2][..]),
        ("rows<>1", "rows <> 1", &[0, 2], &[1]),
        ("rows != 1", "rows <> 1", &[0, 2], &[1]),
        ("rows < 2", "rows < 2", &[0, 1], &[2]),
        ("  rows\t<=\t2  ", "rows <= 2", &[0, 2], &[3]),
        ("rows > 0", "rows > 0", &[1, u64::MAX], &[0]),
        ("rows >= 18446744073709551615", "rows >= 18446744073709551615", &[u64::MAX], &[0]),
    ] {
        let mut program = program(Protocol::Simple);
        program.add("x.sql", format!("SELECT 1; --Expect :{clause}").as_bytes()).unwrap();
        let expect: Expect = program.scripts()[0].commands()[0].statement().unwrap().expect().unwrap();
        assert_eq!(expect.to_string(), shown);
        assert!(held.iter().all(|rows| expect.holds(*rows)), "{clause}");
        assert!(!not_held.iter().any(|rows| expect.holds(*rows)), "{clause}");
    }
}

#[test]
fn a_comment_that_only_speaks_of_expecting_is_no_clause() {
    for comment in ["expected: rows = 1", "expect rows of the customer", "we expect: rows = 1", "expec", "é"]
    {
        assert_eq!(expectations(&format!("A; -- {comment}")), ["A"], "{comment}");
    }
}

#[test]
fn a_clause_that_cannot_be_tested_is_refused_with_its_place() {
    for (text, message, line, column) in [
        ("A;\n -- expect: row = 1", "unrecognized expectation: \"row = 1\"", 2, 13),
        ("A; -- expect:", "unrecognized expectation: \"\"", 1, 14),
        ("A; -- expect: rows", "expectation without a comparison: \"expect: rows\"", 1, 19),
        ("A; -- expect: rows ~ 1", "expectation without a comparison: \"expect: rows ~ 1\"", 1, 20),
        ("A; -- expect: rows == 1", "invalid number of rows: \"= 1\"", 1, 21),
        ("A; -- expect: rows = ", "invalid number of rows: \"\"", 1, 22),
        ("A; -- expect: rows = -1", "invalid number of rows: \"-1\"", 1, 22),
        ("A; -- expect: rows = 1 and more", "invalid number of rows: \"1 and more\"", 1, 22),
        ("A; -- expect: rows = :n", "invalid number of rows: \":n\"", 1, 22),
        (
            "A; -- expect: rows = 18446744073709551616",
            "number of rows \"18446744073709551616\" is out of range",
            1,
            22,
        ),
        ("A; -- expect rows = 1", "missing colon after expect", 1, 14),
        ("A b -- expect: é\n;", "unrecognized expectation: \"é\"", 1, 16),
        ("A;\n-- expect: rows = 1\nB;", "expectation may belong to the statement above or below", 2, 1),
        ("A;\n\n-- expect: rows = 1\n\nB;", "expectation belongs to no statement", 3, 1),
        ("-- expect: rows = 1\n\\set x 1\nA;", "expectation belongs to no statement", 1, 1),
        ("BEGIN;\n-- expect: rows = 1\n", "expectation belongs to no statement", 2, 1),
        (
            "A;\n-- expect: rows = 1\n-- fathom: engine=all\nB; -- expect: rows = 1\nC;\n-- fathom: engine=all\n-- expect: rows = 1\n\n",
            "expectation belongs to no statement",
            7,
            1,
        ),
        ("-- expect: rows = 1\nA; -- expect: rows = 1", "statement has more than one expectation", 1, 1),
        ("A; -- expect: rows = 1\n-- expect: rows = 2\n", "statement has more than one expectation", 2, 1),
        (
            "\\startpipeline\nA; -- expect: rows = 1\n\\endpipeline",
            "expectation of a statement in a pipeline",
            2,
            4,
        ),
    ] {
        let error = program(Protocol::Extended).add("t.sql", text.as_bytes()).unwrap_err();
        assert_eq!((error.message.as_str(), error.line, error.column), (message, line, column), "{text:?}");
        assert!(error.hint.is_some(), "{text:?}");
    }
}

#[test]
fn an_expectation_reached_inside_of_a_pipeline_fails_its_command() {
    let text = "\\set x 1\n\\if :x\n\\startpipeline\n\\endif\n\\if not :x\n\\endpipeline\n\\endif\nA; -- expect: rows = 1\n";
    let text = text.replace("not :x", "0");
    let failure = run_text(&text, Protocol::Extended);
    assert_eq!(failure, Err("expectation rows = 1 is not allowed in pipeline mode".to_owned()));
}

#[test]
fn the_time_for_many_expectations_grows_with_their_number() {
    // Each may belong to two statements until the last one decides them all, from the end to the start.
    let text = "SELECT 1;\n-- expect: rows = 1\n".repeat(100_000);
    assert_eq!(expectations(&text).iter().filter(|line| line.ends_with("[rows = 1]")).count(), 100_000);
}
