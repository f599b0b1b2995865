//! URLs, services and password files, read into logins.
#![allow(clippy::unwrap_used)]

use super::*;

fn parse(text: &str) -> Result<Login, TargetError> {
    login(text, "fathom", &|_| None)
}

fn trusted(mode: &str, authorities: &str, home: &Path) -> Result<(SslMode, Authorities), TargetError> {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    trust(
        given(mode).map(|mode| mode.parse().unwrap()),
        given(authorities),
        given(&home.display().to_string()),
    )
}

#[test]
fn a_url_and_the_key_value_form_say_the_same() {
    for text in [
        "postgresql://karl:geheim@db.example:6000/orders",
        "host=db.example port=6000 user=karl password=geheim dbname=orders",
    ] {
        let login = parse(text).unwrap();
        assert_eq!(login.endpoint, Endpoint::Tcp { host: "db.example".to_owned(), port: 6000 });
        assert_eq!((login.user.as_str(), login.database.as_str()), ("karl", "orders"));
        assert!(login.password.is_some());
    }
}

#[test]
fn a_socket_directory_is_a_host_too_and_knows_no_tls() {
    let login =
        parse("postgresql:///?host=/run/postgresql&user=karl&sslmode=verify-full&sslrootcert=/none").unwrap();
    assert_eq!(login.endpoint, Endpoint::Unix { directory: "/run/postgresql".into(), port: 5432 });
    assert_eq!(login.database, "postgres");
}

#[test]
fn an_address_is_where_to_go_and_the_host_who_is_met_there() {
    let login = parse("host=db.example hostaddr=10.0.0.7 connect_timeout=3").unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "10.0.0.7".to_owned(), port: 5432 });
    let login = parse("postgresql://[::1]:6000/").unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "::1".to_owned(), port: 6000 });
}

#[test]
fn what_the_url_leaves_out_comes_from_the_environment() {
    let environment = |name: &str| match name {
        "PGPASSWORD" => Some("geheim".to_owned()),
        "PGSSLMODE" => Some("require".to_owned()),
        "PGSSLROOTCERT" => Some("/no/such/file".to_owned()),
        _ => None,
    };
    let error = login("host=db", "fathom", &environment).unwrap_err().to_string();
    if cfg!(feature = "tls") {
        assert!(error.contains("\"/no/such/file\""), "{error}");
    } else {
        assert!(error.contains("has no TLS"), "{error}");
    }
    assert!(login("host=db sslmode=disable", "fathom", &environment).unwrap().password.is_some());
}

#[test]
fn the_modes_trust_whom_libpq_lets_them_trust() {
    let home = tempfile::tempdir().unwrap();
    let trusted = |mode: &str, authorities: &str| trusted(mode, authorities, home.path()).unwrap();
    assert_eq!(trusted("", ""), (SslMode::Prefer, Authorities::Nobody));
    assert_eq!(trusted("require", ""), (SslMode::Require, Authorities::Nobody));
    assert_eq!(trusted("verify-ca", ""), (SslMode::VerifyCa, Authorities::System));
    assert_eq!(trusted("verify-full", "/x"), (SslMode::VerifyFull, Authorities::File("/x".into())));
    assert_eq!(trusted("", "system"), (SslMode::VerifyFull, Authorities::System));
    let file = home.path().join(HOME_AUTHORITIES);
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    assert_eq!(trusted("require", ""), (SslMode::Require, Authorities::File(file)));
}

#[test]
fn parameters_that_cannot_be_heeded_are_refused_by_name() {
    for (option, word) in [
        ("sslmode=sometimes", "sslmode"),
        ("sslmode=require&sslrootcert=system", "verify-full"),
        ("sslcert=x", "sslcert"),
        ("channel_binding=require", "channel_binding"),
        ("gssencmode=require", "gssencmode"),
        ("sslnegotiation=direct", "sslnegotiation"),
        ("port=99999", "port"),
    ] {
        let error = parse(&format!("postgresql://db/x?{option}")).unwrap_err().to_string();
        assert!(error.contains(word), "{option}: {error}");
    }
    parse("postgresql://db/x?channel_binding=prefer&application_name=x&sslmode=disable").unwrap();
}

#[test]
fn no_error_about_a_url_shows_its_password() {
    for text in [
        "postgresql://karl:geheim@db:port/orders",
        "postgresql://karl:geheim@db/orders?sslmode=geheim",
        "postgresql://karl:geheim@db/orders?sslmode=verify-full&sslrootcert=/no/such/file",
        "postgresql://karl:geheim@a,b/orders",
        "postgresql://karl:geheim@",
        "postgresql://karl:pass%geheim@db",
        "postgresql://karl:pa@ss?geheim=x@db",
        "host=db password='geheim",
        "host=db password=x geheim=y",
        "karl:geheim@db",
        "mysql://karl:geheim@db/x",
    ] {
        let error = parse(text).unwrap_err();
        assert!(!error.to_string().contains("geheim"), "{error}");
        assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
    }
}

/// A home directory with a password file and a service file, and the variables given.
fn at_home(url: &str, variables: &[(&str, &str)]) -> Result<Login, TargetError> {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write(".pgpass", "db:5432:orders:karl:of the file\n");
    write("open", "*:*:*:*:of the open file\n");
    std::fs::set_permissions(home.path().join("open"), std::fs::Permissions::from_mode(0o640)).unwrap();
    write("other", "*:*:*:*:of the other file\n");
    write(
        ".pg_service.conf",
        "[sales]\nhost=db\nport=5432\nuser=karl\ndbname=orders\n[full]\nhost=db\npassword=of the service\n[bad]\nhost=db\ngeheim=x\n",
    );
    let directory = home.path().display().to_string();
    login(&url.replace("HOME", &directory), "fathom", &|name| match name {
        "HOME" => Some(directory.clone()),
        _ => variables
            .iter()
            .find(|(variable, _)| *variable == name)
            .map(|(_, value)| value.replace("HOME", &directory)),
    })
}

fn password(url: &str, variables: &[(&str, &str)]) -> Option<String> {
    let password = at_home(url, variables).unwrap().password?;
    Some(String::from_utf8(password.bytes().to_vec()).unwrap())
}

#[test]
fn a_password_comes_from_the_url_then_the_service_then_pgpassword_then_the_file() {
    let url = "postgresql://karl@db/orders?sslmode=disable";
    assert_eq!(password(url, &[]).as_deref(), Some("of the file"));
    let variables = [("PGPASSWORD", "of the variable"), ("PGSERVICE", "full")];
    assert_eq!(password(url, &variables[..1]).as_deref(), Some("of the variable"));
    assert_eq!(password(url, &variables).as_deref(), Some("of the service"));
    let with = url.replace("karl@", "karl:of-the-url@");
    assert_eq!(password(&with, &variables).as_deref(), Some("of-the-url"));
    assert_eq!(password(url, &[("PGPASSFILE", "HOME/other")]).as_deref(), Some("of the other file"));
    assert_eq!(password(&format!("{url}&passfile=HOME/other"), &[]).as_deref(), Some("of the other file"));
    assert_eq!(password("postgresql://eva@db/orders?sslmode=disable", &[]), None);
}

#[test]
fn a_password_file_that_others_may_read_is_ignored() {
    let url = "postgresql://karl@db/orders?sslmode=disable";
    assert_eq!(password(url, &[("PGPASSFILE", "HOME/open")]), None);
    assert_eq!(password(url, &[("PGPASSFILE", "HOME/none")]), None);
}

#[test]
fn a_service_gives_what_the_url_leaves_out() {
    for (url, variables) in [
        ("postgresql:///?service=sales&sslmode=disable", &[][..]),
        ("postgresql://?sslmode=disable", &[("PGSERVICE", "sales")][..]),
        ("service=sales sslmode=disable", &[("PGSERVICE", "none")][..]),
    ] {
        let login = at_home(url, variables).unwrap();
        assert_eq!(login.endpoint, Endpoint::Tcp { host: "db".to_owned(), port: 5432 });
        assert_eq!((login.user.as_str(), login.database.as_str()), ("karl", "orders"));
        assert_eq!(login.password.unwrap().bytes(), b"of the file");
    }
    let login = at_home("postgresql://eva@other:6000/?service=sales&sslmode=disable", &[]).unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "other".to_owned(), port: 6000 });
    assert_eq!((login.user.as_str(), login.database.as_str()), ("eva", "orders"));
}

#[test]
fn a_service_that_cannot_be_used_is_refused_in_words() {
    let error = at_home("postgresql:///?service=none", &[]).unwrap_err().to_string();
    assert!(error.contains("service \"none\" is not defined") && error.contains("PGSERVICEFILE"), "{error}");
    let error = at_home("postgresql:///?service=bad", &[]).unwrap_err().to_string();
    assert!(!error.contains("geheim"), "{error}");
}

#[test]
fn a_wrong_sslmode_is_refused_with_the_modes_there_are() {
    let of = |url: &str, variable: &str| {
        let environment = |name: &str| (name == "PGSSLMODE").then(|| variable.to_owned());
        login(url, "fathom", &environment).unwrap_err().to_string()
    };
    let text = of("postgresql://db/x?sslmode=verify_full", "");
    assert!(
        text.contains("its sslmode is not one of disable")
            && text.contains("hint: write sslmode=verify-full"),
        "{text}"
    );
    let text = of("postgresql://db/x", "on");
    assert!(
        text.contains("PGSSLMODE=\"on\" is not one of disable") && text.contains("sslmode=require encrypts"),
        "{text}"
    );
    // As libpq: also where no TLS can be.
    assert!(of("host=/tmp sslmode=yes", "").contains("sslmode"));
}

#[test]
fn variables_give_what_neither_url_nor_service_says() {
    let variables = [
        ("PGHOST", "other"),
        ("PGPORT", "6000"),
        ("PGUSER", "eva"),
        ("PGDATABASE", "sales"),
        ("PGOPTIONS", "-c x=y"),
        ("PGSSLMODE", "disable"),
    ];
    let login = at_home("postgres://", &variables).unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "other".to_owned(), port: 6000 });
    assert_eq!((login.user.as_str(), login.database.as_str()), ("eva", "sales"));
    assert_eq!(login.options.as_deref(), Some("-c x=y"));
    let login = at_home("postgres://karl@db/orders?sslmode=disable", &variables).unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "db".to_owned(), port: 6000 });
    assert_eq!((login.user.as_str(), login.database.as_str()), ("karl", "orders"));
    // The service has a host and a port, and stands before the variables.
    let login = at_home("postgres:///?service=sales&user=eva", &variables).unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "db".to_owned(), port: 5432 });
    let login = at_home("postgres://", &[("PGHOST", "/run/sockets")]).unwrap();
    assert_eq!(login.endpoint, Endpoint::Unix { directory: "/run/sockets".into(), port: 5432 });
    let login = at_home("postgres://db/x", &[("PGHOSTADDR", "10.0.0.1"), ("PGSSLMODE", "disable")]).unwrap();
    assert_eq!(login.endpoint, Endpoint::Tcp { host: "10.0.0.1".to_owned(), port: 5432 });
}

#[test]
fn variables_that_cannot_be_met_are_refused_by_name() {
    for (variable, value) in [
        ("PGPORT", "x"),
        ("PGPORT", "70000"),
        ("PGCHANNELBINDING", "require"),
        ("PGGSSENCMODE", "require"),
        ("PGSSLNEGOTIATION", "direct"),
        ("PGREQUIREAUTH", "scram-sha-256"),
    ] {
        let error = at_home("postgres://db/x?sslmode=disable", &[(variable, value)]).unwrap_err().to_string();
        assert!(error.contains(&format!("{variable}=\"{value}\"")) && error.contains("\nhint: "), "{error}");
    }
    at_home("postgres://db:1/x?sslmode=disable", &[("PGPORT", "x")]).unwrap();
    at_home("postgres://db/x?sslmode=disable", &[("PGCHANNELBINDING", "prefer")]).unwrap();
    // A port that no socket on this machine has.
    let error = at_home("postgres://", &[("PGPORT", "1")]).unwrap_err().to_string();
    assert!(error.contains("no host") && error.contains("PGHOST"), "{error}");
    assert!(at_home("postgres://", &[("PGHOST", "a,b")]).unwrap_err().to_string().contains("several hosts"));
}
