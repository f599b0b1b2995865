//! Who may read: the name that was asked for must be ours, and where there is a token it must be shown.
//!
//! A page of somebody else may make a browser send requests to a loopback address under a name of its own (DNS
//! rebinding); such a request has a foreign `Host`, and is turned away. The token comes once in the address, and is then
//! kept in a cookie that no script and no other site sees.

use std::net::{IpAddr, SocketAddr};

use super::http::{Request, Response};
use super::percent;

const COOKIE: &str = "fathom_token";

/// The rules of one server.
#[derive(Clone, Debug)]
pub(super) struct Access {
    token: Option<String>,
    hosts: Vec<String>,
    address: SocketAddr,
}

impl Access {
    /// Rules for a server at `address`; `hosts` are further names that it may be asked by.
    pub(super) fn new(token: Option<String>, hosts: Vec<String>, address: SocketAddr) -> Self {
        Self { token, hosts, address }
    }

    /// Why a request is turned away; `None` when it is not.
    pub(super) fn refusal(&self, request: &Request) -> Option<Response> {
        let is_ours = matches!(request.hosts.as_slice(), [host] if self.is_ours(host));
        if !is_ours {
            let words =
                "unknown host name\nhint: use the address of the server, or start it with --host NAME\n";
            return Some(Response::text(421, words));
        }
        let token = self.token.as_ref()?;
        // In addresses and cookies a token may be written with percent signs, or as it is where it has none of the
        // characters that mean something there.
        let shown = [asked(&request.query), kept(&request.cookie)];
        let is_shown = |shown: &str| {
            are_equal(shown.as_bytes(), token.as_bytes())
                || percent::decoded(shown).is_some_and(|shown| are_equal(&shown, token.as_bytes()))
        };
        let is_borne =
            bearer(&request.authorization).is_some_and(|shown| are_equal(shown.as_bytes(), token.as_bytes()));
        if shown.into_iter().flatten().any(is_shown) || is_borne {
            return None;
        }
        let words = "a token is needed\nhint: append ?token=TOKEN to the address once, with %26 for & and %25 for %\n";
        Some(Response::text(401, words))
    }

    /// Keeps a token that came in the address in a cookie, and leads to the address without it.
    pub(super) fn remembered(&self, request: &Request, response: Response) -> Response {
        let mut response = response;
        response.is_head = request.is_head;
        if let (Some(token), Some(_)) = (&self.token, asked(&request.query)) {
            let mut onward = Response::text(303, "");
            // The path came in a request line: it holds neither spaces nor line ends.
            onward.headers.push(format!("Location: {}", own_path(&request.path)));
            let token = percent::encoded(token);
            onward.headers.push(format!("Set-Cookie: {COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"));
            return onward;
        }
        response
    }

    /// The name without its port: an address, `localhost` on a loopback address, or a name that was given.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => {
                (name, port.parse().ok())
            }
            _ => (host, Some(80)),
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = self.address.ip().is_loopback();
        let is_known = match bare.parse::<IpAddr>() {
            // On a loopback address other addresses are foreign, too.
            Ok(address) => !is_loopback || address.is_loopback(),
            Err(_) => {
                let is_local = is_loopback && bare.eq_ignore_ascii_case("localhost");
                is_local || self.hosts.iter().any(|other| other.eq_ignore_ascii_case(bare))
            }
        };
        // A name that was given may stand for a proxy or a tunnel with another port.
        let is_given = self.hosts.iter().any(|other| other.eq_ignore_ascii_case(bare));
        is_known && (is_given || port == Some(self.address.port()) || is_loopback)
    }
}

/// A path of our own: never one that browsers read as the name of another server.
fn own_path(path: &str) -> String {
    format!("/{}", path.trim_start_matches(['/', '\\']))
}

fn asked(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn kept(cookie: &str) -> Option<&str> {
    cookie.split(';').find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn bearer(authorization: &str) -> Option<&str> {
    authorization.strip_prefix("Bearer ")
}

/// Compares in a time that tells nothing about where the two differ.
fn are_equal(shown: &[u8], token: &[u8]) -> bool {
    let differences = shown.iter().zip(token).fold(0, |sum, (left, right)| sum | (left ^ right));
    shown.len() == token.len() && differences == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn access(address: &str, token: Option<&str>) -> Access {
        Access::new(token.map(str::to_owned), vec!["lab.example".to_owned()], address.parse().unwrap())
    }

    fn request(host: &str) -> Request {
        Request { path: "/".to_owned(), hosts: vec![host.to_owned()], ..Request::default() }
    }

    fn status(access: &Access, request: &Request) -> Option<u16> {
        access.refusal(request).map(|response| response.status)
    }

    #[test]
    fn only_names_of_our_own_are_answered() {
        let local = access("127.0.0.1:8474", None);
        for host in ["127.0.0.1:8474", "localhost:8474", "LOCALHOST", "[::1]:8474", "lab.example"] {
            assert_eq!(status(&local, &request(host)), None, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8474",
            "localhost.evil.example",
            "10.0.0.1:8474",
            "",
            "127.0.0.1.evil",
        ] {
            assert_eq!(status(&local, &request(host)), Some(421), "{host}");
        }
        let twice = Request { hosts: vec!["localhost".to_owned(), "evil.example".to_owned()], ..request("") };
        assert_eq!(status(&local, &twice), Some(421));
        assert_eq!(status(&local, &Request { hosts: Vec::new(), ..request("") }), Some(421));
    }

    #[test]
    fn a_token_of_any_characters_is_shown_in_an_address_a_cookie_or_a_header() {
        for token in ["a&b=c%d;e f\"g+h,i#", "%41%42%43%44%45%46", "schlüssel-für-alle"] {
            let open = access("0.0.0.0:8474", Some(token));
            let plain = request("192.0.2.1:8474");
            let encoded = percent::encoded(token);
            let shown = Request { query: format!("x=1&token={encoded}&y=2"), ..plain.clone() };
            assert_eq!(status(&open, &shown), None, "{token}");
            let onward = open.remembered(&shown, Response::text(200, ""));
            let cookie = onward.headers[1].strip_prefix("Set-Cookie: ").unwrap().split(';').next().unwrap();
            let kept = Request { cookie: format!("other=1; {cookie}"), ..plain.clone() };
            assert_eq!(status(&open, &kept), None, "{cookie}");
            let borne = Request { authorization: format!("Bearer {token}"), ..plain.clone() };
            assert_eq!(status(&open, &borne), None, "{token}");
            let cut = Request { query: format!("token={}", &encoded[..encoded.len() - 1]), ..plain };
            assert_eq!(status(&open, &cut), Some(401), "{token}");
        }
    }

    #[test]
    fn a_token_is_asked_for_once_and_kept_where_no_script_sees_it() {
        let open = access("0.0.0.0:8474", Some(TOKEN));
        let plain = request("192.0.2.1:8474");
        assert_eq!(status(&open, &plain), Some(401));
        let shown = Request {
            query: format!("a=b&token={TOKEN}"),
            path: "//evil.example".to_owned(),
            ..plain.clone()
        };
        assert_eq!(status(&open, &shown), None);
        let onward = open.remembered(&shown, Response::text(200, ""));
        assert_eq!(onward.status, 303);
        assert!(onward.headers[0].ends_with(" /evil.example"), "{:?}", onward.headers);
        assert!(onward.headers[1].contains("HttpOnly; SameSite=Strict"));
        for wrong in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            let request = Request { cookie: format!("x=1; {COOKIE}={wrong}"), ..plain.clone() };
            assert_eq!(status(&open, &request), Some(401), "{wrong}");
        }
        assert_eq!(
            status(&open, &Request { cookie: format!("x=1; {COOKIE}={TOKEN}"), ..plain.clone() }),
            None
        );
        assert_eq!(status(&open, &Request { authorization: format!("Bearer {TOKEN}"), ..plain }), None);
    }
}
