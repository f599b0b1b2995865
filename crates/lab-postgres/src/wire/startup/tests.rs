//! Authentication, one message at a time.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::Pin;
use std::time::Duration;

use lab::client::EventLoop;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::wire::{CONNECT_TIME_DEFAULT, Endpoint, Secret, Security};

use super::*;

fn login(password: Option<&str>) -> Login {
    Login {
        endpoint: Endpoint::Tcp { host: "localhost".to_owned(), port: 5432 },
        user: "user".to_owned(),
        password: password.map(|text| Secret::new(text.to_owned())),
        database: "postgres".to_owned(),
        application_name: "fathom".to_owned(),
        options: None,
        security: Security::none(),
        connect_time_max: Some(CONNECT_TIME_DEFAULT),
    }
}

#[test]
fn a_password_is_never_shown() {
    assert!(!format!("{:?}", login(Some("geheim"))).contains("geheim"));
}

#[test]
fn a_server_that_leaves_out_its_scram_proof_is_refused() {
    let mut scram = None;
    let mut reply = BytesMut::new();
    authentication(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &login(Some("x")), &mut scram, &mut reply).unwrap();
    assert!(!reply.is_empty());
    let error = authentication(b"\0\0\0\0", &login(Some("x")), &mut scram, &mut reply).unwrap_err();
    assert!(error.to_string().contains("proved"), "{error}");
}

#[test]
fn a_huge_number_of_scram_iterations_is_refused() {
    assert_eq!(scram_iterations(b"r=abc,s=def,i=4096"), 4096);
    assert_eq!(scram_iterations(b"r=abc,s=def,i=99999999999"), u32::MAX);
    let mut scram = Some((ScramSha256::new(b"x", ChannelBinding::unsupported()), false));
    let mut reply = BytesMut::new();
    let request = b"\0\0\0\x0br=abc,s=def,i=4000000000";
    let error = authentication(request, &login(Some("x")), &mut scram, &mut reply).unwrap_err();
    assert!(error.to_string().contains("iterations"), "{error}");
}

#[test]
fn requests_that_are_cut_short_or_not_supported_are_errors() {
    for request in [&b""[..], b"\0\0", b"\0\0\0\x05ab", b"\0\0\0\x07", b"\0\0\0\x0b", b"\0\0\0\x0aPLAIN\0\0"]
    {
        let mut reply = BytesMut::new();
        assert!(authentication(request, &login(Some("x")), &mut None, &mut reply).is_err(), "{request:?}");
    }
}

#[test]
fn a_missing_password_is_named_as_such() {
    let mut reply = BytesMut::new();
    let error = authentication(b"\0\0\0\x03", &login(None), &mut None, &mut reply).unwrap_err();
    assert!(error.to_string().contains("none was given"), "{error}");
}

/// A login without TLS to a port of this machine.
fn local(port: u16) -> Login {
    Login {
        endpoint: Endpoint::Tcp { host: "localhost".to_owned(), port },
        connect_time_max: Some(Duration::from_secs(60)),
        ..login(None)
    }
}

#[test]
fn clients_of_one_event_loop_connect_at_the_same_time() {
    const CLIENTS: usize = 5;
    let listener = TcpListener::bind("localhost:0").unwrap();
    let login = local(listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || {
        // Answers no client before all are there.
        let mut visitors: Vec<_> = (0..CLIENTS).map(|_| listener.accept().unwrap().0).collect();
        for visitor in &mut visitors {
            visitor.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        }
        visitors
    });
    let (event_loop, addresses) = (EventLoop::new().unwrap(), Addresses::default());
    let connected = Cell::new(0);
    let task = |number| {
        let (event_loop, addresses, login, connected) = (&event_loop, &addresses, &login, &connected);
        Box::pin(async move {
            let registration = event_loop.registration(number, CLIENTS);
            Connection::open_in(registration, login, addresses).await.unwrap();
            connected.set(connected.get() + 1);
        }) as Pin<Box<dyn Future<Output = ()> + '_>>
    };
    event_loop.run((0..CLIENTS).map(task).collect()).unwrap();
    assert_eq!(connected.get(), CLIENTS);
    server.join().unwrap();
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_left_in_time_on_either_side() {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let login = Login { connect_time_max: Some(Duration::from_millis(50)), ..local(port) };
    let expected = "the connection was not ready after 0 s (connect_timeout)";
    assert_eq!(Connection::open(&login).unwrap_err().to_string(), expected);
    let (event_loop, addresses) = (EventLoop::new().unwrap(), Addresses::default());
    let client = async {
        let opened = Connection::open_in(event_loop.registration(0, 1), &login, &addresses).await;
        assert_eq!(opened.unwrap_err().to_string(), expected);
    };
    event_loop.run(vec![Box::pin(client)]).unwrap();
}

#[test]
fn a_port_where_no_server_listens_is_an_error_of_the_system_on_either_side() {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let login = local(listener.local_addr().unwrap().port());
    drop(listener);
    let expected = "Connection refused (os error 111)";
    assert_eq!(Connection::open(&login).unwrap_err().to_string(), expected);
    let (event_loop, addresses) = (EventLoop::new().unwrap(), Addresses::default());
    let client = async {
        let opened = Connection::open_in(event_loop.registration(0, 2), &login, &addresses).await;
        assert_eq!(opened.unwrap_err().to_string(), expected);
    };
    event_loop.run(vec![Box::pin(client)]).unwrap();
}

#[test]
fn a_socket_whose_queue_is_full_is_tried_until_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let address = SocketAddrUnix::new(directory.path().join(".s.PGSQL.1")).unwrap();
    rustix::net::bind(&socket, &address).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = UnixListener::from(socket);
    let endpoint = Endpoint::Unix { directory: directory.path().to_owned(), port: 1 };
    let login = Login { endpoint, ..local(0) };
    // Takes the only place in the queue.
    let first = UnixStream::connect(directory.path().join(".s.PGSQL.1")).unwrap();
    let late = Login { connect_time_max: Some(Duration::from_millis(30)), ..login.clone() };
    assert!(matches!(Connection::open(&late), Err(WireError::TimedOut(_))));
    let server = std::thread::spawn(move || {
        drop(listener.accept().unwrap());
        let (mut visitor, _) = listener.accept().unwrap();
        visitor.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        visitor
    });
    Connection::open(&login).unwrap();
    drop((first, server.join().unwrap()));
}
