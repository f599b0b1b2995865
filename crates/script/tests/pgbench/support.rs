//! Scripts run by the crate alone.

use script::{Action, Client, Dialect, Program, Protocol, Seeds};

/// Definitions that all scripts have, here and with pgbench.
pub(crate) const DEFINITIONS: [&str; 13] = [
    "foo=bla",
    "null=null",
    "true=true",
    "one=1",
    "zero=0.0",
    "badtrue=trueXXX",
    "maxint=9223372036854775807",
    "minint=-9223372036854775808",
    "i=+3",
    "t=t",
    "f=of",
    "d=-10.1",
    "huge=9223372036854775808",
];

/// The seed of all scripts.
pub(crate) const SEED: u64 = 5432;

pub(crate) fn program(protocol: Protocol) -> Program {
    let engines = ["postgres", "sqlite"].map(str::to_owned).to_vec();
    let mut program = Program::new(Dialect { engine: "postgres".to_owned(), engines }, protocol);
    for definition in DEFINITIONS {
        program.define(definition).unwrap();
    }
    program
}

/// What a client does in one transaction of a script: a line for each value of `debug` and each action.
pub(crate) fn run(program: &Program, client: &mut Client) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    client.begin(0);
    loop {
        let action = client.step(program);
        lines.extend(client.take_debug().iter().map(|debug| {
            let text = debug.to_string();
            text.split_once("): ").unwrap().1.to_owned()
        }));
        match action.map_err(|failure| failure.message)? {
            Action::Statement { statement, .. } => {
                let mut out = Vec::new();
                statement.write(client.variables(), &mut out);
                lines.push(format!("sql {}", String::from_utf8(out).unwrap()));
            }
            Action::Sleep { microseconds } => lines.push(format!("sleep {microseconds}")),
            Action::StartPipeline => lines.push("startpipeline".to_owned()),
            Action::SyncPipeline => lines.push("syncpipeline".to_owned()),
            Action::EndPipeline => lines.push("endpipeline".to_owned()),
            Action::Done => return Ok(lines),
        }
    }
}

/// The same of a script's text and its only client.
pub(crate) fn run_text(text: &str, protocol: Protocol) -> Result<Vec<String>, String> {
    let mut program = program(protocol);
    program.add("test.sql", text.as_bytes()).map_err(|error| error.message)?;
    let mut client = Client::new(&program, &Seeds::new(SEED, 1), 0, 1);
    run(&program, &mut client)
}

/// The script that shows the value of an expression.
pub(crate) fn shown(expression: &str) -> String {
    format!("\\set x debug({expression})\n")
}

/// The value of an expression, or `error: ` and the message.
pub(crate) fn value(expression: &str) -> String {
    match run_text(&shown(expression), Protocol::Simple) {
        Ok(lines) => lines.join(" | "),
        Err(message) => format!("error: {message}"),
    }
}
