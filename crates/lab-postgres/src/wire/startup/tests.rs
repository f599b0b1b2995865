//! Authentication, one message at a time.
#![allow(clippy::unwrap_used)]

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
