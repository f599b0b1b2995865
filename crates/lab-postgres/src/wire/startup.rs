//! From nothing to a connection that is ready: the socket, the start-up message, authentication.

#[cfg(test)]
mod tests;

use std::time::Instant;

use bytes::BytesMut;
use lab::client::Registration;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use super::answer;
use super::blocking::complete;
use super::connecting::{Addresses, Waiter};
use super::connection::Connection;
use super::error::WireError;
use super::login::Login;
use super::security::Attempt;
use super::stream::Stream;
use super::trust::TlsRefusal;

/// Messages accepted before the server is ready: it reports about fifteen parameters.
const STARTUP_MESSAGES_MAX: usize = 1000;

/// SCRAM iterations that are carried out. The default is 4096; the number comes from the server, and a huge one
/// would keep this client computing for hours.
const SCRAM_ITERATIONS_MAX: u32 = 1_000_000;

impl Connection {
    /// Connects and waits until the server is ready. Blocks the thread.
    pub(in super::super) fn open(login: &Login) -> Result<Self, WireError> {
        let deadline = deadline_of(login);
        match complete(Self::connect(login, Waiter::thread(deadline))) {
            Ok(mut connection) => {
                connection.set_deadline(None);
                Ok(connection)
            }
            Err(error) if is_late(&error, deadline) => Err(late(login)),
            Err(error) => Err(error),
        }
    }

    /// As [`Self::open`], in an event loop. [`Self::enter_loop`] comes before the measured part.
    pub(in super::super) async fn open_in(
        registration: Registration<'_>,
        login: &Login,
        addresses: &Addresses,
    ) -> Result<Self, WireError> {
        let deadline = deadline_of(login);
        let waiter = Waiter::event_loop(registration, addresses, deadline);
        registration.within(deadline, Self::connect(login, waiter)).await.unwrap_or_else(|| Err(late(login)))
    }

    async fn connect(login: &Login, waiter: Waiter<'_>) -> Result<Self, WireError> {
        let (first, second) = login.security.attempts(&login.endpoint);
        let refusal = match Self::attempt(login, first, waiter).await {
            Ok(connection) => return Ok(connection),
            Err(refusal) => refusal,
        };
        match second.filter(|_| refusal.is_about_the_way) {
            // When that does not work either, the reason against what was wanted more is the one to report.
            Some(second) => Self::attempt(login, second, waiter).await.map_err(|other| {
                match is_late(&other.error, waiter.deadline()) {
                    true => other.error,
                    false => refusal.error,
                }
            }),
            None => Err(refusal.error),
        }
    }

    async fn attempt(login: &Login, attempt: Attempt<'_>, waiter: Waiter<'_>) -> Result<Self, Refusal> {
        let socket = waiter.connect(&login.endpoint).await.map_err(WireError::Io)?;
        let mut stream = Stream::new(socket);
        if let Attempt::Tls { client, may_go_without } = attempt {
            match ask_for_tls(&mut stream).await? {
                true => {
                    stream.encrypt(client).await.map_err(|error| Refusal { error, is_about_the_way: true })?
                }
                false if may_go_without => {}
                false => return Err(WireError::Tls(TlsRefusal::no_tls()).into()),
            }
        }
        let mut connection = Self::new(stream);
        let mut request = BytesMut::new();
        let parameters = [
            ("user", login.user.as_str()),
            ("database", login.database.as_str()),
            ("application_name", login.application_name.as_str()),
            ("client_encoding", "UTF8"),
        ];
        let options = login.options.as_deref().map(|options| ("options", options));
        frontend::startup_message(parameters.into_iter().chain(options), &mut request)
            .map_err(WireError::Io)?;
        connection.send(&request);
        let mut was_asked = false;
        match connection.authenticate(login, &mut was_asked).await {
            Ok(()) => Ok(connection),
            Err(error) => {
                let is_about_the_way = !was_asked && matches!(error, WireError::Server(_));
                Err(Refusal { error, is_about_the_way })
            }
        }
    }

    /// Answers the server's questions until it is ready.
    ///
    /// `was_asked` becomes true when the server asks for proof or waives it: then it lets this way of connecting in.
    pub(super) async fn authenticate(
        &mut self,
        login: &Login,
        was_asked: &mut bool,
    ) -> Result<(), WireError> {
        let mut scram: Option<(ScramSha256, bool)> = None;
        let mut is_let_in = false;
        for _ in 0..STARTUP_MESSAGES_MAX {
            let message = match self.next_message().await {
                Ok(message) => message,
                Err(error) => return Err(self.lost(error, None)),
            };
            let body = self.input.get(message.body).unwrap_or_default();
            match message.tag {
                b'R' if is_let_in => {
                    return Err(self.protocol("it asks for proof after it let this user in"));
                }
                b'R' => {
                    let is_second = *was_asked && scram.is_none();
                    *was_asked = true;
                    is_let_in = body == [0; 4];
                    if is_second && !is_let_in {
                        return Err(self.protocol("it asks for the password more than once"));
                    }
                    let mut reply = BytesMut::new();
                    if let Err(error) = authentication(body, login, &mut scram, &mut reply) {
                        self.broken = true;
                        return Err(error);
                    }
                    if !reply.is_empty() {
                        self.send(&reply);
                    }
                }
                b'Z' | b'K' if !is_let_in => {
                    return Err(self.protocol("it is ready before it let this user in"));
                }
                b'K' => {
                    self.process_id = body.first_chunk::<4>().map(|bytes| i32::from_be_bytes(*bytes));
                }
                b'Z' => return Ok(()),
                b'E' => {
                    let error = answer::server_error(body);
                    self.broken = true;
                    return Err(WireError::Server(Box::new(error)));
                }
                // Parameters, notices, and NegotiateProtocolVersion, which says what we did not ask for.
                b'S' | b'N' | b'v' => {}
                other => {
                    let kind = other.escape_ascii().to_string();
                    return Err(
                        self.protocol(&format!("message \"{kind}\" does not belong into the start-up"))
                    );
                }
            }
        }
        Err(self.protocol(&format!("more than {STARTUP_MESSAGES_MAX} messages before it was ready")))
    }
}

/// Why an attempt to connect ended.
struct Refusal {
    error: WireError,
    /// Is another way (with TLS, or without) worth trying?
    is_about_the_way: bool,
}

impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        let is_about_the_way = matches!(error, WireError::Tls(_));
        Self { error, is_about_the_way }
    }
}

/// When the start-up is given up.
fn deadline_of(login: &Login) -> Option<Instant> {
    login.connect_time_max.and_then(|time| Instant::now().checked_add(time))
}

/// Did it end because the deadline passed? The kernel gives a connection up with the same error, but earlier.
fn is_late(error: &WireError, deadline: Option<Instant>) -> bool {
    let is_timeout = matches!(error, WireError::Io(error) if error.kind() == std::io::ErrorKind::TimedOut);
    is_timeout && deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

fn late(login: &Login) -> WireError {
    let time = login.connect_time_max.unwrap_or_default().as_secs();
    WireError::TimedOut(format!("the connection was not ready after {time} s (connect_timeout)"))
}

/// Asks whether the server has TLS.
///
/// Exactly one byte is read: whatever somebody in between sends after it, hoping that it is taken for a part of what
/// comes encrypted, goes into the handshake and breaks it (CVE-2021-23222).
// EVIDENCE: PostgreSQL documentation, "Message Flow", SSL Session Encryption
async fn ask_for_tls(stream: &mut Stream) -> Result<bool, WireError> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).map_err(WireError::Io)?;
    let mut answer = [0];
    match stream.read(&mut answer).await.map_err(WireError::Io)? {
        0 => Err(WireError::Closed(None)),
        _ => match answer {
            [b'S'] => Ok(true),
            [b'N'] => Ok(false),
            [other] => Err(WireError::Tls(TlsRefusal::by_answer(other))),
        },
    }
}

/// Handles one Authentication message; what must be sent is put into `reply`.
// EVIDENCE: PostgreSQL documentation, "Message Formats", AuthenticationOk to AuthenticationSASLFinal
fn authentication(
    body: &[u8],
    login: &Login,
    scram: &mut Option<(ScramSha256, bool)>,
    reply: &mut BytesMut,
) -> Result<(), WireError> {
    let Some((kind, data)) = body.split_first_chunk::<4>() else {
        return Err(WireError::Protocol("an authentication request without a kind".to_owned()));
    };
    let password = || match &login.password {
        Some(password) => Ok(password.bytes()),
        None => Err(WireError::NoPassword(login.user.clone())),
    };
    match (u32::from_be_bytes(*kind), scram.as_mut()) {
        // A server that skips the last step of SCRAM did not prove that it knows the password.
        (0, Some((_, false))) => {
            Err(WireError::Protocol("SCRAM ended before the server proved who it is".to_owned()))
        }
        (0, _) => Ok(()),
        (3, None) => frontend::password_message(password()?, reply).map_err(WireError::Io),
        (5, None) => {
            let Some(salt) = data.first_chunk::<4>() else {
                return Err(WireError::Protocol("an MD5 request without salt".to_owned()));
            };
            let hash = md5_hash(login.user.as_bytes(), password()?, *salt);
            frontend::password_message(hash.as_bytes(), reply).map_err(WireError::Io)
        }
        (10, None) => {
            if !data.split(|&byte| byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) {
                return Err(WireError::Protocol(format!(
                    "none of the offered methods is supported: {}",
                    data.escape_ascii()
                )));
            }
            let exchange = ScramSha256::new(password()?, ChannelBinding::unsupported());
            frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), reply)
                .map_err(WireError::Io)?;
            *scram = Some((exchange, false));
            Ok(())
        }
        (11, Some((exchange, false))) => {
            let iterations = scram_iterations(data);
            if iterations > SCRAM_ITERATIONS_MAX {
                return Err(WireError::Protocol(format!(
                    "SCRAM asks for {iterations} iterations, at most {SCRAM_ITERATIONS_MAX} are done"
                )));
            }
            exchange.update(data).map_err(WireError::Io)?;
            frontend::sasl_response(exchange.message(), reply).map_err(WireError::Io)
        }
        (12, Some((exchange, proved @ false))) => {
            exchange.finish(data).map_err(WireError::Io)?;
            *proved = true;
            Ok(())
        }
        (other, _) => {
            Err(WireError::Protocol(format!("authentication method {other} is not supported here")))
        }
    }
}

/// The iteration count in a server-first message (`r=...,s=...,i=4096`); the maximum when it has none that fits.
fn scram_iterations(data: &[u8]) -> u32 {
    data.split(|&byte| byte == b',').find_map(|field| field.strip_prefix(b"i=")).map_or(0, |digits| {
        std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
    })
}
