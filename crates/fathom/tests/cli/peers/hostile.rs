//! Every command that talks to a server ends with status 2 in its limits of time and memory, whatever the server sends.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::server::{
    Speech, agree_to_tls, answer, be_silent, description, error, hear, hear_ssl_request, hear_startup,
    let_in, message, ready, row, start, trickle, url, without_end,
};
use crate::bench::{Bench, text};

/// Address space of the program: what a debug build needs with all its threads, and little more.
const MEMORY_KIB_MAX: u32 = 2 << 20;

/// The longest limit of one question is 30 s; a slow machine works on others beside.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Servers that are met at the same time, each by six programs: many of them only wait for a limit of time, and too many
/// would have no CPU to reach their limit of memory before.
const MEETINGS: usize = 8;

/// Lets in, hears the first question, and says this.
fn after_question(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let_in(stream)?;
    hear(stream)?;
    stream.write_all(bytes)
}

/// What a server does, and a phrase of the message that each command must print.
const BEHAVIOURS: [(&str, Speech, &str); 32] = [
    ("closes at once", |_| Ok(()), "could not connect"),
    ("is silent", be_silent, "connect_timeout"),
    ("sends a byte a second", |stream| trickle(stream, &message(b'R', &[0; 60])), "connect_timeout"),
    (
        "agrees to TLS and is silent",
        |s| {
            agree_to_tls(s)?;
            be_silent(s)
        },
        "could not connect",
    ),
    (
        "agrees to TLS and sends no end of zero bytes",
        |s| {
            agree_to_tls(s)?;
            without_end(s, &[0; 64])
        },
        "could not connect",
    ),
    (
        "agrees to TLS and sends records without end",
        |s| {
            agree_to_tls(s)?;
            without_end(s, &[&[22, 3, 3, 64, 0][..], &[1; 0x4000]].concat())
        },
        "could not connect",
    ),
    (
        "refuses TLS with an error of 4 GiB",
        |s| {
            hear_ssl_request(s)?;
            s.write_all(b"E\xff\xff\xff\xff")?;
            be_silent(s)
        },
        "could not connect",
    ),
    (
        "is silent after the start-up message",
        |s| {
            hear_startup(s)?;
            be_silent(s)
        },
        "connect_timeout",
    ),
    (
        "asks for the password again and again",
        |s| {
            hear_startup(s)?;
            without_end(s, &message(b'R', &3_u32.to_be_bytes()))
        },
        "more than once",
    ),
    (
        "never ends SCRAM",
        |s| {
            hear_startup(s)?;
            s.write_all(&message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"))?;
            without_end(s, &message(b'R', b"\0\0\0\x0br=x,s=eA==,i=4096"))
        },
        "could not connect",
    ),
    (
        "asks for SCRAM with four billion rounds",
        |s| {
            hear_startup(s)?;
            s.write_all(&message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"))?;
            hear(s)?;
            s.write_all(&message(b'R', b"\0\0\0\x0br=x,s=eA==,i=4000000000"))
        },
        "could not connect",
    ),
    (
        "asks for a method that is not supported",
        |s| {
            hear_startup(s)?;
            s.write_all(&message(b'R', &7_u32.to_be_bytes()))
        },
        "method 7",
    ),
    (
        "is ready before it lets anybody in",
        |s| {
            hear_startup(s)?;
            s.write_all(&ready())?;
            be_silent(s)
        },
        "let this user in",
    ),
    (
        "has notices without end at the start",
        |s| {
            hear_startup(s)?;
            without_end(s, &message(b'N', b"SNOTICE\0Mhello\0\0"))
        },
        "messages before it was ready",
    ),
    (
        "has parameters without end at the start",
        |s| {
            hear_startup(s)?;
            s.write_all(&message(b'R', &[0; 4]))?;
            without_end(s, &message(b'S', b"name\0value\0"))
        },
        "messages before it was ready",
    ),
    (
        "refuses with an error full of escapes",
        |s| {
            hear_startup(s)?;
            s.write_all(&error("\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}no"))
        },
        "\\u{1b}",
    ),
    (
        "answers the start-up with HTTP",
        |s| {
            hear_startup(s)?;
            s.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        },
        "protocol",
    ),
    (
        "is silent after the first question",
        |s| {
            after_question(s, b"")?;
            be_silent(s)
        },
        "after 30 s",
    ),
    (
        "answers a byte a second",
        |s| {
            let_in(s)?;
            hear(s)?;
            trickle(s, &answer(&"x".repeat(100)))
        },
        "after 30 s",
    ),
    (
        "never ends a result",
        |s| {
            after_question(s, &description(1))?;
            without_end(s, &row(&[b'x'; 5000]))
        },
        "MiB",
    ),
    (
        "never ends a result of rows without values",
        |s| {
            after_question(s, &description(0))?;
            without_end(s, &message(b'D', b"\0\0"))
        },
        "one answer",
    ),
    (
        "sends a row of almost 4 MiB again and again",
        |s| {
            after_question(s, &description(1))?;
            without_end(s, &row(&vec![b'x'; (4 << 20) - 100]))
        },
        "MiB",
    ),
    (
        "has notices without end",
        |s| {
            after_question(s, b"")?;
            without_end(s, &message(b'N', b"SNOTICE\0Mhello\0\0"))
        },
        "protocol",
    ),
    (
        "has errors without end",
        |s| {
            after_question(s, b"")?;
            without_end(s, &error("no"))
        },
        "protocol",
    ),
    (
        "says that a message has 4 GiB",
        |s| {
            after_question(s, b"D\xff\xff\xff\xff")?;
            be_silent(s)
        },
        "length 4294967295",
    ),
    (
        "says that a message has 2 GiB",
        |s| {
            after_question(s, b"D\x7f\xff\xff\xff")?;
            be_silent(s)
        },
        "length 2147483647",
    ),
    (
        "says that a message has no length",
        |s| {
            after_question(s, b"D\0\0\0\0")?;
            be_silent(s)
        },
        "length 0",
    ),
    (
        "says that a value is longer than its row",
        |s| after_question(s, &[description(1), message(b'D', b"\0\x01\x7f\xff\xff\xffx")].concat()),
        "ends before its last value",
    ),
    (
        "says that a value has a negative length",
        |s| after_question(s, &[description(1), message(b'D', b"\0\x01\xff\xff\xff\xfe")].concat()),
        "ends before its last value",
    ),
    (
        "sends a row before its description",
        |s| after_question(s, &[row(b"x"), ready()].concat()),
        "without a row description",
    ),
    (
        "sends rows of another shape",
        |s| after_question(s, &[description(3), row(b"x"), ready()].concat()),
        "1 values, its description 3",
    ),
    ("is ready again without an answer", |s| after_question(s, &ready()), "without an answer"),
];

/// Commands that talk to a server, with what goes before and after its URL.
const COMMANDS: [(&[&str], &[&str]); 6] = [
    (&["inventory"], &[]),
    (&["waits"], &["--once", "--interval", "1s"]),
    (&["run", "a-a", "--mini", "--ceilings", "never", "--target"], &[]),
    (&["check"], &[]),
    (&["structure"], &[]),
    (&["expand", "sample"], &["--size", "1MB"]),
];

fn begin(bench: &Bench, words: &[String]) -> Child {
    let program = env!("CARGO_BIN_EXE_fathom");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB_MAX}; exec \"$0\" \"$@\""), program]).args(words);
    command.current_dir(bench.path()).env("PGPASSWORD", "secret-word").env_remove("PGCONNECT_TIMEOUT");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// All commands against one behaviour, at the same time.
fn meet(name: &str, speech: Speech, phrase: &str) -> Vec<String> {
    let bench = Bench::new();
    let url = url(start(speech));
    let began = Instant::now();
    let children: Vec<_> = COMMANDS
        .iter()
        .map(|(before, after)| {
            let words: Vec<String> =
                before.iter().chain([&url.as_str()]).chain(*after).map(|word| (*word).to_owned()).collect();
            (before[0], begin(&bench, &words))
        })
        .collect();
    let mut complaints = Vec::new();
    for (command, child) in children {
        let output = child.wait_with_output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let all = format!("{out}{err}");
        let mut complain = |what: &str| complaints.push(format!("{command}, server {name}: {what}\n{all}"));
        if output.status.code() != Some(2) {
            complain(&format!("status {:?}", output.status.code()));
        }
        if !all.contains(phrase) {
            complain(&format!("does not say \"{phrase}\""));
        }
        if all.contains("panicked") || all.contains("secret-word") {
            complain("panic or password");
        }
        if all.chars().any(|character| character.is_control() && character != '\n')
            || all.contains('\u{202e}')
        {
            complain("control characters");
        }
        if began.elapsed() > TIME_MAX {
            complain(&format!("took {:?}", began.elapsed()));
        }
    }
    complaints
}

#[test]
fn every_command_leaves_a_hostile_server_in_its_limits_and_says_why() {
    let left = std::sync::Mutex::new(BEHAVIOURS.into_iter());
    let work = || {
        let mut complaints = Vec::new();
        while let Some((name, speech, phrase)) = { left.lock().unwrap().next() } {
            complaints.extend(meet(name, speech, phrase));
        }
        complaints
    };
    let complaints: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..MEETINGS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
