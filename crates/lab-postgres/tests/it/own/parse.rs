//! All statements are parsed by the server before a run.

use lab::engine::Target;
use lab::own::{OwnWorkload, Protocol};

use super::support::{PROTOCOLS, own, own_work, parse, provided, with_scripts};
use crate::support::{oldest_and_newest, scratch};

#[test]
fn the_first_statement_that_the_server_refuses_is_named_and_nothing_is_executed() {
    for server in oldest_and_newest() {
        let scratch = scratch();
        let schema = "CREATE TABLE orders (id bigint, note text, at date); CREATE TABLE orders_1 (id int)";
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            refused(&mut target, &base, protocol);
            accepted(&mut target, &base, protocol);
        }
        let mut simple = with_scripts(
            &base,
            Protocol::Simple,
            &[
                "\\set n random(2, 3)\nSELECT * FROM orders_:n;\nSELECT 1 AS day \\gset\nSELECT 1 FROM orders WHERE at = ':day';\nSELECT :n + :n, -:n;\nSELECT 1 \\; SELECT 2;",
            ],
        );
        parse(&mut target, &simple).unwrap();
        simple.scripts[0].sql.text = "SELECT 1 \\;\nSELEC 2;".to_owned();
        let error = parse(&mut target, &simple).unwrap_err().to_string();
        assert!(error.starts_with("script-0.sql:2:1: syntax error"), "{error}");
        target.stop(false).unwrap();
    }
}

fn refused(target: &mut dyn Target, base: &OwnWorkload, protocol: Protocol) {
    for (script, expected) in [
        ("SELECT 1;\n\nSELECT nte FROM orders;", "script-0.sql:3:8: column \"nte\" does not exist (42703)"),
        (
            "\\set id 12345\nSELECT * FROM oders WHERE id = :id;",
            "script-0.sql:2:15: relation \"oders\" does not exist",
        ),
        (
            "\\set long_name 1\nSELECT :long_name, id\n  FRM orders x;",
            "script-0.sql:3:7: syntax error at or near \"orders\"",
        ),
        (
            "CREATE TEMP TABLE basket (id int);\nINSERT INTO baskett VALUES (1);",
            "script-0.sql:2:13: relation \"baskett\"",
        ),
        ("\\if true\nSELECT 1;\n\\endif\nSELECT a FROM only_elsewhere;", "script-0.sql:4:15: relation"),
        ("\\if true\nSELECTT 1;\n\\endif", "script-0.sql:2:1: syntax error"),
        ("SELECT no_such(id) FROM orders;", "script-0.sql:1:8: function no_such(bigint) does not exist"),
        ("COPY orders FROM STDIN;", "script-0.sql:1: COPY FROM STDIN"),
        ("UPDATE orders SET at = note;", "script-0.sql:1:24: column \"at\" is of type date"),
    ] {
        let error = parse(target, &with_scripts(base, protocol, &[script])).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{protocol:?} {error}");
    }
}

fn accepted(target: &mut dyn Target, base: &OwnWorkload, protocol: Protocol) {
    for script in [
        "DROP TABLE orders; SELECT pg_sleep(1000); DELETE FROM orders;",
        "CREATE TEMP TABLE basket (id int);\nINSERT INTO basket VALUES (1);\nDROP TABLE basket;",
        "DO $$ BEGIN EXECUTE 'CREATE TABLE made (a int)'; END $$;\nSELECT a FROM made;",
        "\\set id random(1, 10)\nINSERT INTO orders (id, at) VALUES (:id, CURRENT_DATE - :id::int);",
        "BEGIN;\nDECLARE c CURSOR FOR SELECT 1;\nFETCH ALL FROM c;\nEND;",
        "\\if 1 > 2\nSELECT a FROM only_elsewhere;\n\\else\nSELECT id FROM orders;\n\\endif",
        "PREPARE p AS SELECT 1;\nEXECUTE p;\nDEALLOCATE p;",
        "VACUUM orders;\nEXPLAIN SELECT * FROM orders;\nSELECT count(*) FROM orders;",
    ] {
        parse(target, &with_scripts(base, protocol, &[script])).unwrap();
    }
}
