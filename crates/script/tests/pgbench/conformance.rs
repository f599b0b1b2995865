//! The scripts of pgbench's own regression tests: accepted or refused as there, with the same values and messages.

use script::Protocol;

use crate::cases::{At, EXPRESSIONS, FAILURES, PERMUTATIONS};
use crate::oracle::with_pgbench;
use crate::running::RUNNING;
use crate::support::{program, run, run_text};

/// The definitions of the script of expressions.
const DEFINED: [&str; 7] = ["foo=-10.1", "bla=false", "i=+3", "n=null", "t=t", "f=of", "d=1.0"];

/// All expressions in one script, and the conditions and statements among them.
fn expressions() -> String {
    let mut script = String::new();
    for (name, expression, _) in EXPRESSIONS {
        script += &format!("\\set {name} debug({expression})\n");
    }
    for (distance, _) in PERMUTATIONS {
        script += &format!("\\set t debug(permute(:size-{distance}, :size, 5432))\n");
    }
    script + "\\set v0 NULL\n\\set v1 TRUE\n\\set v2 5432\n\\set v3 -54.21E-2\nSELECT :v0, :v1, :v2, :v3;\n"
}

#[test]
fn the_expressions_of_the_tests_of_pgbench_have_the_values_that_these_tests_require() {
    let mut program = program(Protocol::Simple);
    for definition in DEFINED {
        program.define(definition).unwrap();
    }
    program.add("expressions.sql", expressions().as_bytes()).unwrap();
    let seeds = script::Seeds::new(crate::support::SEED, 1);
    let mut client = script::Client::new(&program, &seeds, 0, 1);
    let mut found = run(&program, &mut client).unwrap();
    for ((_, expression, expected), value) in EXPRESSIONS.iter().zip(&found) {
        assert!(value.starts_with(expected), "{expression}: {value}, not {expected}");
    }
    let permuted = PERMUTATIONS.map(|(_, place)| format!("int {place}"));
    assert_eq!(found[EXPRESSIONS.len()..][..7], permuted);
    assert_eq!(found.pop().unwrap(), "sql SELECT NULL, true, 5432, -0.5421;");
    with_pgbench(|pgbench| {
        let options: Vec<String> = DEFINED.iter().map(|definition| format!("-D{definition}")).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        assert_eq!(pgbench.values(&expressions(), &options), found);
    });
}

#[test]
fn a_script_that_fails_in_the_tests_of_pgbench_fails_here_with_the_same_message() {
    for (name, text, at, message) in FAILURES {
        let parsed = program(Protocol::Prepared).add(name, text.as_bytes());
        let found = match (at, parsed) {
            (At::Parse | At::Early, Err(error)) => error.message,
            (At::Refused, Err(error)) => {
                assert!(error.message.contains("is refused: scripts run no programs"), "{name}: {error}");
                continue;
            }
            (At::Command, Ok(_)) => run_text(text, Protocol::Prepared).unwrap_err(),
            // What fails there is tested with a server.
            (At::Server, Ok(_)) => {
                assert!(run_text(text, Protocol::Prepared).is_ok(), "{name}");
                continue;
            }
            (_, parsed) => panic!("{name}: {parsed:?}"),
        };
        assert!(found.contains(message), "{name}: {found}");
    }
}

#[test]
fn the_table_of_failing_scripts_says_what_pgbench_says() {
    with_pgbench(|pgbench| {
        for (name, text, at, message) in FAILURES {
            // PostgreSQL 15 has no \syncpipeline.
            if at == At::Refused || text.contains("syncpipeline") {
                continue;
            }
            let output = pgbench.run(text, &["-M", "prepared"]).join("\n");
            assert!(output.contains(message), "{name}: {output}");
        }
    });
}

#[test]
fn a_statement_of_the_tests_has_too_many_arguments_for_the_protocols_with_parameters() {
    let text = format!("-- MAX_ARGS=256 for prepared\n\\set i 0\nSELECT LEAST({})", [":i"; 256].join(", "));
    let error = run_text(&text, Protocol::Prepared);
    assert_eq!(error, Err("statement has too many arguments (maximum is 255)".to_owned()));
    with_pgbench(|pgbench| {
        let output = pgbench.run(&text, &["-M", "prepared"]).join("\n");
        assert!(output.contains("statement has too many arguments (maximum is 255)"), "{output}");
    });
}

#[test]
fn a_script_that_runs_in_the_tests_of_pgbench_is_accepted() {
    for (name, text, has_parameters) in RUNNING {
        for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
            if protocol == Protocol::Simple && has_parameters {
                continue;
            }
            program(protocol).add(name, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            // What is stored by \gset comes from a server.
            if !text.contains("set\n") {
                run_text(text, protocol).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

#[test]
fn the_statements_of_scripts_without_tables_are_those_that_pgbench_sends() {
    with_pgbench(|pgbench| {
        for (name, text, _) in RUNNING {
            let needs_server = ["pgbench_accounts", "seeded_random", "set\n", "pipeline", "advisory", "ENUM"];
            if needs_server.into_iter().any(|word| text.contains(word)) {
                continue;
            }
            let found = run_text(text, Protocol::Simple).unwrap();
            let found: Vec<&str> = found.iter().filter_map(|line| line.strip_prefix("sql ")).collect();
            assert_eq!(pgbench.statements(text, &[]), found, "{name}");
        }
    });
}
