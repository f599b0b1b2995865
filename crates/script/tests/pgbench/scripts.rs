//! Scripts: commands, statements, blocks of engines, pipelines, errors.

use script::{Action, BUILTINS, Builtin, Client, Dialect, Program, Protocol, Seeds};

use crate::oracle::with_pgbench;
use crate::support::{SEED, program, run, run_text};

/// Statements that a server accepts and whose ends are not obvious.
const STATEMENTS: &str = r#"-- a comment; with a semicolon
  SELECT 1; SELECT 2
    , 3 -- inside; of a statement
  ;
SELECT ';', 'it''s;', E'\';', E'a'
  '\';', "a;" FROM (SELECT 1 AS "a;") x;
SELECT $$;$$, $a$;$b$;$a$;
/* ; /* nested; */ */ SELECT 4;
SELECT (5) \; SELECT 6 \; \;;
;
SELECT 7\set a 1 + \
  2
SELECT :a, ':a', :a::text, x[1:2], '::a', :undefined_is_kept FROM (SELECT ARRAY[1, 2] AS x, 1 AS undefined_is_kept) y
\set b -0.25
\if :a > 2
  SELECT :b;
\elif :a > 1
  SELECT 'no';
\else
  SELECT 'no';
\endif
\if false
  SELECT 'no';
\if true
  SELECT 'no';
\endif
\elif null
  SELECT 'no';
\else
  SELECT 'else';
\endif
BEGIN;
CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;
ROLLBACK;
\SET c NULL
SELECT :c, :true, :i, :d;
\
\ set d 5
SELECT :d
"#;

fn statements(text: &str) -> Vec<String> {
    let lines = run_text(text, Protocol::Simple).unwrap();
    lines.into_iter().filter_map(|line| line.strip_prefix("sql ").map(str::to_owned)).collect()
}

#[test]
fn statements_and_their_values_are_those_that_pgbench_sends() {
    // A name that is no variable is kept with its colon, which no server accepts: written without it for pgbench.
    let text = STATEMENTS.replace(":undefined_is_kept", "undefined_is_kept");
    let found = statements(&text);
    assert_eq!(found.len(), 16, "{found:#?}");
    with_pgbench(|pgbench| assert_eq!(found, pgbench.statements(&text, &[])));
    assert!(statements(STATEMENTS).iter().any(|statement| statement.contains(":undefined_is_kept")));
}

#[test]
fn lines_may_end_as_on_windows_and_a_byte_order_mark_is_passed() {
    let text = "\\set a 1 + \\\r\n  2\r\n\\sleep \\\r\n1 us\r\nSELECT :a;\r\nSELECT :a\r\n";
    let found = run_text(&format!("\u{feff}{text}"), Protocol::Simple).unwrap();
    assert_eq!(found, ["sleep 1", "sql SELECT 3;", "sql SELECT 3"]);
    with_pgbench(|pgbench| assert_eq!(pgbench.statements(text, &[]), ["SELECT 3;", "SELECT 3"]));
}

#[test]
fn the_time_for_a_long_script_grows_with_its_length() {
    // In one line: an algorithm that counts its characters for each command would take hours.
    let text = "SELECT :a;".repeat(400_000);
    let mut program = program(Protocol::Simple);
    program.add("long.sql", text.as_bytes()).unwrap();
    assert_eq!(program.scripts()[0].commands().len(), 400_000);
}

#[test]
fn built_in_scripts_send_what_those_of_pgbench_send() {
    assert_eq!(Builtin::find("s").len(), 2);
    for builtin in BUILTINS {
        assert_eq!(Builtin::find(builtin.name), [&builtin]);
        let lines = run_text(builtin.script, Protocol::Simple).unwrap();
        let statements = lines.iter().filter(|line| line.starts_with("sql ")).count();
        assert_eq!(statements, builtin.script.lines().filter(|line| line.ends_with(';')).count());
        // No tables: the first statement is enough, its values are random.
        with_pgbench(|pgbench| {
            let select = "SELECT :aid /* UPDATE */;\n";
            let script: String = builtin
                .script
                .lines()
                .filter(|line| line.starts_with('\\'))
                .map(|line| format!("{line}\n"))
                .collect();
            let script = script + select;
            let sent = pgbench.statements(&script, &[]);
            let lines = run_text(&script, Protocol::Simple).unwrap();
            assert_eq!(lines, [format!("sql {}", sent[0])]);
        });
    }
}

#[test]
fn sleeps_have_a_unit_and_may_be_a_variable() {
    let text = "\\set zero 0\n\\set one 1.0\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n\\sleep 2ms\n\\sleep -1\n\\sleep \\\n  3";
    let found = run_text(text, Protocol::Simple).unwrap();
    let expected = ["1000", "100", "0", "0", "2000", "0", "3000000"].map(|time| format!("sleep {time}"));
    assert_eq!(found, expected);
}

#[test]
fn conditions_skip_their_branches() {
    let text = "\\set nope 0
\\if 1 > 0
\\set id debug(65)
\\elif 0
\\set nope 1
\\else
\\set nope 1
\\endif
\\if 1 < 0
\\set nope 1
\\elif 1 > 0
\\set ie debug(74)
\\else
\\set nope 1
\\endif
\\if 1 < 0
\\set nope 1
\\elif 1 < 0
\\set nope 1
\\else
\\set if debug(83)
\\endif
\\if debug(0)
\\elif debug(1)
\\elif debug(2)
\\endif
\\set nope debug(:nope)
";
    let found = run_text(text, Protocol::Simple).unwrap();
    assert_eq!(found, ["int 65", "int 74", "int 83", "int 0", "int 1", "int 0"]);
    with_pgbench(|pgbench| assert_eq!(pgbench.values(text, &[]), found));
}

#[test]
fn results_are_stored_under_their_names() {
    let mut program = program(Protocol::Extended);
    let text = "SELECT 3 AS i3 \\gset x_\n\\; SELECT 6 AS i6 \\; SELECT 7 AS i7 \\; \\aset\n\\set i debug(:x_i3 + :i6)\nSELECT :x_i3, :x_i3;";
    program.add("gset.sql", text.as_bytes()).unwrap();
    let mut client = Client::new(&program, &Seeds::new(SEED, 1), 0, 1);
    client.begin(0);
    let Ok(Action::Statement { statement, command: 0 }) = client.step(&program) else {
        panic!("no statement")
    };
    assert_eq!(statement.text(), "SELECT 3 AS i3");
    let store = statement.store().unwrap();
    assert!(!store.is_aset);
    client.variables_mut().store(program.names(), &store.prefix, "i3", "3").unwrap();
    let Ok(Action::Statement { statement, .. }) = client.step(&program) else { panic!("no statement") };
    assert!(statement.store().unwrap().is_aset);
    assert_eq!(statement.text(), "; SELECT 6 AS i6 ; SELECT 7 AS i7 ;");
    client.variables_mut().store(program.names(), "", "i6", "6").unwrap();
    let Ok(Action::Statement { statement, .. }) = client.step(&program) else { panic!("no statement") };
    assert_eq!(client.take_debug()[0].to_string(), "debug(script=0,command=3): int 9");
    assert_eq!(statement.numbered(), "SELECT $1, $2;");
    assert_eq!(statement.parameters().len(), 2);
}

#[test]
fn pipelines_begin_and_end_once() {
    let text = "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\n";
    let found = run_text(text, Protocol::Prepared).unwrap();
    assert_eq!(found, ["startpipeline", "sql select 1;", "syncpipeline", "sql select 2;", "endpipeline"]);
    for (text, protocol, message) in [
        ("\\startpipeline\n\\startpipeline", Protocol::Extended, "startpipeline: already in pipeline mode"),
        ("\\endpipeline", Protocol::Extended, "endpipeline: not in pipeline mode"),
        ("\\syncpipeline", Protocol::Extended, "syncpipeline: not in pipeline mode"),
        (
            "\\startpipeline\nselect 1 \\gset f\n",
            Protocol::Extended,
            "\\gset is not allowed in pipeline mode",
        ),
        ("\\startpipeline\nselect 1;\n", Protocol::Extended, "end of script reached with pipeline open"),
        (
            "\\startpipeline",
            Protocol::Simple,
            "startpipeline: cannot use pipeline mode with the simple query protocol",
        ),
    ] {
        assert_eq!(run_text(text, protocol), Err(message.to_owned()), "{text}");
    }
}

/// Scripts that cannot be parsed: the message of pgbench, if it has one, and the place.
const WRONG: [(&str, &str, u32, u32); 37] = [
    ("\\if 1", "\\if without matching \\endif", 1, 1),
    ("\\elif 1", "\\elif without matching \\if", 1, 1),
    ("SELECT 1;\n \\else", "\\else without matching \\if", 2, 2),
    ("\\endif", "\\endif without matching \\if", 1, 1),
    ("\\if 1\n\\else\n\\elif 0\n\\endif", "\\elif after \\else", 3, 1),
    ("\\if 1\n\\else\n\\else\n\\endif", "\\else after \\else", 3, 1),
    ("\\if\n\\endif\n", "syntax error in command \"if\"", 1, 4),
    ("\\if 0\n\\elif +\n\\endif\n", "syntax error in command \"elif\"", 2, 8),
    ("\\if 0\n\\else BAD\n\\endif\n", "unexpected argument in command \"else\"", 2, 7),
    ("\\if 0\n\\endif BAD\n", "unexpected argument in command \"endif\"", 2, 8),
    ("\\set i least()\n", "at least one argument expected (least) in command \"set\"", 1, 14),
    ("\\set i hash(1,2,3)\n", "unexpected number of arguments (hash) in command \"set\"", 1, 18),
    (
        "\\set i 100000000000000000000\n",
        "bigint constant overflow (100000000000000000000) in command \"set\"",
        1,
        8,
    ),
    ("\\set d 1.0E309\n", "double constant overflow (1.0E309) in command \"set\"", 1, 8),
    ("\\set i 1 +\n", "syntax error in command \"set\"", 1, 11),
    ("\\set i 1 + \\\n  2 + \\\n  ;", "unexpected character (;) in command \"set\"", 3, 3),
    ("\\set i noSuchFunction()", "unexpected function name (noSuchFunction) in command \"set\"", 1, 8),
    ("\\set", "missing argument in command \"set\"", 1, 5),
    ("\\set . 1", "invalid variable name: \".\" in command \"set\"", 1, 6),
    ("\\set i", "syntax error in command \"set\"", 1, 7),
    (
        "\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)",
        "too many function arguments, maximum is 16 in command \"set\"",
        1,
        54,
    ),
    ("\\sleep", "missing argument in command \"sleep\"", 1, 7),
    ("\\sleep too many args", "too many arguments in command \"sleep\"", 1, 17),
    ("\\sleep 1 week", "unrecognized time unit, must be us, ms or s (week) in command \"sleep\"", 1, 10),
    ("\\sleep 1d", "unrecognized time unit, must be us, ms or s (d) in command \"sleep\"", 1, 9),
    ("\\sleep one", "invalid sleep time, must be an integer (one) in command \"sleep\"", 1, 8),
    ("\\nosuchcommand", "invalid command in command \"nosuchcommand\"", 1, 1),
    ("", "empty command list for script \"test.sql\"", 1, 1),
    ("-- nothing\n", "empty command list for script \"test.sql\"", 1, 1),
    ("\\gset", "\\gset must follow an SQL command", 1, 1),
    ("\\set i +1\n\\gset", "\\gset must follow an SQL command", 2, 1),
    ("SELECT 1 \\gset a b", "too many arguments in command \"gset\"", 1, 18),
    ("SELECT 1 AS i \\gset\n\\gset", "\\gset must follow an SQL command", 2, 1),
    ("SELECT 1;\nSELECT 'a;\n", "unterminated quoted string", 2, 8),
    ("SELECT 1;\n\t\\shell ls", "\\shell is refused: scripts run no programs on this machine", 2, 2),
    ("\\setshell x echo 1", "\\setshell is refused: scripts run no programs on this machine", 1, 1),
    ("SELECT 1\n-- fathom: engine=sqlite\n;", "comment for fathom inside of a statement", 2, 1),
];

#[test]
fn a_script_that_cannot_be_parsed_is_refused_with_place_and_reason() {
    for (text, message, line, column) in WRONG {
        let error = program(Protocol::Simple).add("test.sql", text.as_bytes()).unwrap_err();
        assert_eq!((error.message.as_str(), error.line, error.column), (message, line, column), "{text:?}");
    }
    let error = program(Protocol::Simple).add("my.sql", b"SELECT 1;\n\\set x 1 +* 2\n").unwrap_err();
    let expected =
        "my.sql:2:11: syntax error in command \"set\"\n\\set x 1 +* 2\n          ^ error found here";
    assert_eq!(error.to_string(), expected);
    let shown = program(Protocol::Simple).add("my.sql", b"\\shell ls").unwrap_err().to_string();
    assert!(shown.contains("\nhint: compute the value with \\set"), "{shown}");
}

#[test]
fn messages_about_scripts_are_those_of_pgbench() {
    with_pgbench(|pgbench| {
        for (text, message, ..) in WRONG {
            let is_ours = ["shell", "fathom", "unterminated", "maximum is 16", "invalid variable name"]
                .into_iter()
                .any(|word| message.contains(word));
            let expected = pgbench.values(text, &[]).join("\n");
            // pgbench names the number of the command, or gives the statement before, or a path.
            let is_same = expected.contains(message.split(" for script").next().unwrap());
            assert!(is_ours || is_same, "{text:?}: {message}\n{expected}");
        }
    });
}

#[test]
fn parameters_of_a_statement_are_limited_where_the_protocol_has_some() {
    let text = format!("SELECT LEAST({}:i)", ":i, ".repeat(255));
    assert!(run_text(&text, Protocol::Simple).is_ok());
    let error = run_text(&text, Protocol::Prepared);
    assert_eq!(error, Err("statement has too many arguments (maximum is 255)".to_owned()));
}

#[test]
fn a_block_belongs_to_its_engines() {
    let text = "SELECT 1;
-- fathom: engine=sqlite
SELECT 2 \\gset
\\set x 1
-- fathom: engine=postgres, sqlite
SELECT 3;
--fathom:engine=postgres
SELECT 4 \\gset
-- fathom: engine=all
SELECT 5;
";
    let engines = ["postgres", "sqlite"].map(str::to_owned);
    for (engine, expected) in [("postgres", "1345"), ("sqlite", "1235")] {
        let dialect = Dialect { engine: engine.to_owned(), engines: engines.to_vec() };
        let mut program = Program::new(dialect, Protocol::Simple);
        program.add("blocks.sql", text.as_bytes()).unwrap();
        let digits: String = program.scripts()[0]
            .commands()
            .iter()
            .filter_map(|command| command.statement()?.text().chars().find(char::is_ascii_digit))
            .collect();
        assert_eq!(digits, expected, "{engine}");
    }
    for (text, message) in [
        ("-- fathom: engine=oracle\nSELECT 1", "unknown engine \"oracle\""),
        ("-- fathom: rows=1\nSELECT 1", "unrecognized comment for fathom: \"rows=1\""),
        ("-- fathom: engine=sqlite\nSELECT 1", "empty command list for script \"b.sql\""),
        ("\\if 1\n-- fathom: engine=sqlite\n\\endif", "\\if without matching \\endif"),
    ] {
        assert_eq!(program(Protocol::Simple).add("b.sql", text.as_bytes()).unwrap_err().message, message);
    }
}

#[test]
fn a_failure_has_the_line_of_its_command() {
    let mut program = program(Protocol::Simple);
    program.add("a.sql", b"SELECT 1;\n\\if 0\n\\elif 1/0\n\\endif\n").unwrap();
    let mut client = Client::new(&program, &Seeds::new(SEED, 1), 0, 1);
    client.begin(0);
    assert!(matches!(client.step(&program), Ok(Action::Statement { .. })));
    let failure = client.step(&program).unwrap_err();
    assert_eq!(failure.to_string(), "a.sql:3: command 3: division by zero");
    for (text, message) in [
        ("\\sleep :nosuch", "sleep: undefined variable \"nosuch\""),
        ("\\sleep :foo", "sleep: invalid sleep time \"bla\" for variable \"foo\""),
        ("\\set i :huge", "value \"9223372036854775808\" is out of range for type bigint"),
    ] {
        assert_eq!(run_text(text, Protocol::Simple), Err(message.to_owned()));
    }
}

#[test]
fn text_that_is_not_utf_8_and_bytes_of_zero_are_refused() {
    for (bytes, message) in [
        (&b"SELECT 1;\n'\xff'"[..], "script is not UTF-8 at byte 11"),
        (&b"SELECT\0 1"[..], "script has a NUL byte at byte 6"),
    ] {
        assert_eq!(program(Protocol::Simple).add("x.sql", bytes).unwrap_err().message, message);
    }
    let deep = format!("\\set x {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let error = run_text(&deep, Protocol::Simple).unwrap_err();
    assert!(error.starts_with("expression is nested deeper than 200 levels"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_or_a_client_panic(
        text in "([\\\\]?(set|if|elif|else|endif|sleep|gset|startpipeline| |x|:x|\n|1|-9223372036854775808|[0-9]e[0-9]{3}|[-+*/%&|#~<>=(),;'$:.é\"]|case when|then|end|not|is null|and|least|permute|hash|random_zipfian|random_gaussian|E'|/\\*|--|-- expect: rows >= 1\n|expect|rows|BEGIN ATOMIC|CREATE FUNCTION|CREATE TRIGGER)){0,40}",
        tail in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20),
    ) {
        let mut program = program(Protocol::Extended);
        let bytes = [text.as_bytes(), &tail].concat();
        let _ = program.add("tail.sql", &bytes);
        if program.add("text.sql", text.as_bytes()).is_ok() {
            let mut client = Client::new(&program, &Seeds::new(1, 1), 0, 1);
            let _ = run(&program, &mut client);
        }
    }
}
