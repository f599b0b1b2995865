//! As much of HTTP/1.1 as reading pages needs: one GET or HEAD per connection, no body, a bounded head.

use std::io::{ErrorKind, Read};

/// Longest head of a request; browsers send a tenth of it.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Most header lines.
const HEADERS_MAX: usize = 64;

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    /// `HEAD` instead of `GET`.
    pub(super) is_head: bool,
    /// Path without the query.
    pub(super) path: String,
    /// What follows the question mark; may be empty.
    pub(super) query: String,
    /// Every value of the header `Host`: more than one is no request of a browser.
    pub(super) hosts: Vec<String>,
    /// Value of the header `Cookie`.
    pub(super) cookie: String,
    /// Value of the header `Authorization`.
    pub(super) authorization: String,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Response {
    /// Status.
    pub(super) status: u16,
    kind: &'static str,
    /// Header lines beyond those that every answer has.
    pub(super) headers: Vec<String>,
    body: Vec<u8>,
    /// Is only the head sent?
    pub(super) is_head: bool,
}

impl Response {
    /// Plain words.
    pub(super) fn text(status: u16, words: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            headers: Vec::new(),
            body: words.into(),
            is_head: false,
        }
    }

    /// Others are answered first.
    pub(super) fn busy() -> Self {
        let mut response =
            Self::text(503, "too many requests at the same time\nhint: try again in a second\n");
        response.headers.push("Retry-After: 1".to_owned());
        response
    }

    /// A page.
    pub(super) fn html(page: String) -> Self {
        Self { kind: "text/html; charset=utf-8", body: page.into_bytes(), ..Self::text(200, "") }
    }

    /// A document for scripts.
    pub(super) fn json(document: String) -> Self {
        Self { kind: "application/json", body: document.into_bytes(), ..Self::text(200, "") }
    }
}

/// Reads one request; what is none is answered at once. What follows the head is left: a body, or another request.
pub(super) fn read(stream: &mut impl Read) -> Result<Request, Response> {
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    loop {
        let length = match stream.read(&mut chunk) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                return Err(Response::text(408, "the request header took too long\n"));
            }
            Err(_) => return Err(Response::text(400, "the request could not be read\n")),
        };
        head.extend_from_slice(chunk.get(..length).unwrap_or_default());
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
        if length == 0 {
            return Err(Response::text(400, "the request header is incomplete\n"));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Err(Response::text(431, "the request header has more than 16 KiB\n"));
        }
    }
}

/// A whole head as a request; `None` while it is not whole.
fn parse(head: &[u8]) -> Result<Option<Request>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Response::text(431, "the request has more than 64 headers\n"));
        }
        Err(_) => return Err(Response::text(400, "not an HTTP request\n")),
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(_)) => {}
    }
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => {
            let mut response = Response::text(405, "read-only: use GET or HEAD\n");
            response.headers.push("Allow: GET, HEAD".to_owned());
            return Err(response);
        }
    };
    let (path, query) =
        parsed.path.unwrap_or("/").split_once('?').unwrap_or((parsed.path.unwrap_or("/"), ""));
    let mut request =
        Request { is_head, path: path.to_owned(), query: query.to_owned(), ..Request::default() };
    for header in parsed.headers.iter() {
        let value = String::from_utf8_lossy(header.value).into_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.hosts.push(value),
            "cookie" => request.cookie = value,
            "authorization" => request.authorization = value,
            _ => {}
        }
    }
    Ok(Some(request))
}

/// An answer as it is sent, with the headers that keep a page to itself.
pub(super) fn bytes(response: &Response) -> Vec<u8> {
    let reason = match response.status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let mut head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n",
        response.status,
        response.kind,
        response.body.len()
    );
    for header in &response.headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    if !response.is_head {
        bytes.extend_from_slice(&response.body);
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_is_read_when_its_head_is_whole_and_others_are_answered() {
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a").unwrap(), None);
        let request =
            parse(b"GET /study/1?token=x HTTP/1.1\r\nHost: a:1\r\nhost: b\r\n\r\n").unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.query.as_str()), ("/study/1", "token=x"));
        assert_eq!(request.hosts, ["a:1", "b"]);
        for (head, status) in
            [("POST / HTTP/1.1\r\n\r\n", 405), ("\u{0}\r\n\r\n", 400), ("GET /\r\n\r\n", 400)]
        {
            assert_eq!(parse(head.as_bytes()).unwrap_err().status, status, "{head:?}");
        }
    }
}
