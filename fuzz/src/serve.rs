//! The part of `fathom serve` that reads requests. The program is no library: its files are compiled into this crate.
#![allow(dead_code)]

use std::net::{Ipv4Addr, SocketAddr};

#[path = "../../crates/fathom/src/commands/serve/access.rs"]
mod access;
#[path = "../../crates/fathom/src/commands/serve/http.rs"]
mod http;
#[path = "../../crates/fathom/src/commands/serve/percent.rs"]
mod percent;

/// Reads bytes as a request, and asks whether it may be answered.
pub(crate) fn exercise(bytes: &[u8]) {
    let mut rest = bytes;
    let outcome = http::read(&mut rest);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
    let access = access::Access::new(Some("a&b%".to_owned()), vec!["box".to_owned()], address);
    let response = match outcome {
        Ok(request) => match access.refusal(&request) {
            Some(response) => response,
            None => access.remembered(&request, http::Response::text(200, "")),
        },
        Err(response) => response,
    };
    let bytes = http::bytes(&response);
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    assert!(head.is_some(), "an answer has a head");
}
