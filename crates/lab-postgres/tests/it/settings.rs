//! Settings of servers: what is recorded of them, on every major that is installed.

use lab_postgres::cluster::{Cluster, ClusterOptions};
use results::settings::is_classified;

use crate::support::{runtime, scratch, servers};

#[test]
fn every_setting_of_every_server_is_on_one_of_the_two_lists() {
    for server in servers() {
        let scratch = scratch();
        let version = server.version.clone();
        let options =
            ClusterOptions { server, base: scratch.path().to_owned(), elsewhere: Vec::new(), port: None };
        let mut cluster = Cluster::create(&options).unwrap();
        cluster.start(&[("fsync".into(), "off".into())]).unwrap();
        let names = runtime().block_on(async {
            let mut config = tokio_postgres::Config::new();
            config
                .host_path(cluster.socket_directory())
                .port(cluster.port())
                .user("fathom")
                .dbname("postgres");
            let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            let rows = client.query("SELECT name FROM pg_settings ORDER BY name", &[]).await.unwrap();
            let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            drop(client);
            let _ = driver.await;
            names
        });
        assert!(names.len() > 300, "{version}: {}", names.len());
        let missing: Vec<&String> = names.iter().filter(|name| !is_classified(name)).collect();
        assert!(
            missing.is_empty(),
            "{version}: add these to crates/results/src/settings/postgres.rs: {missing:?}"
        );
        cluster.remove().unwrap();
    }
}
