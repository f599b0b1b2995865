//! Growing databases on servers of our own.

use crate::support::{newest, runtime, scratch};
use lab::expand::{Grown, GrowthRequest};
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{NewDatabase, SourceDatabase, expand_database};

const AWKWARD: &str = "
    CREATE SCHEMA \"a b\";
    CREATE TABLE \"a b\".code (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text UNIQUE, raw bytea UNIQUE);
    CREATE TABLE node (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, parent int REFERENCES node,
        code uuid REFERENCES \"a b\".code, twice int GENERATED ALWAYS AS (parent * 2) STORED);
    CREATE TABLE edge (a int REFERENCES node, b int REFERENCES node, PRIMARY KEY (a, b)) PARTITION BY HASH (a);
    CREATE TABLE edge_0 PARTITION OF edge FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE edge_1 PARTITION OF edge FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    CREATE FUNCTION noisy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''a trigger fired''; END';
    INSERT INTO \"a b\".code (name, raw) VALUES ('x', 'p'), ('y', NULL);
    INSERT INTO node (parent, code) SELECT NULL, id FROM \"a b\".code;
    INSERT INTO node (parent) VALUES (1), (3);
    INSERT INTO edge VALUES (1, 2), (2, 3);
    CREATE TRIGGER noisy BEFORE INSERT ON node FOR EACH ROW EXECUTE FUNCTION noisy();
";

/// 8 MB of rows, each of which refers to one before and to one of few groups.
const LARGE: &str = "
    CREATE TABLE item_group (id int PRIMARY KEY, name text);
    CREATE TABLE item (id bigint PRIMARY KEY, g int REFERENCES item_group, twin bigint REFERENCES item, fill text);
    INSERT INTO item_group SELECT i, 'group ' || i FROM generate_series(1, 20) i;
    INSERT INTO item SELECT i, i % 20 + 1, i / 2 + 1, repeat('x', 300 + (i % 7) * 20) FROM generate_series(1, 20000) i;
";

fn values(cluster: &Cluster, database: &str, statements: &str) -> Vec<String> {
    runtime().block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host_path(cluster.socket_directory()).port(cluster.port()).user("fathom").dbname(database);
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let messages = client.simple_query(statements).await.unwrap();
        drop(client);
        driver.await.unwrap().unwrap();
        let rows = messages.into_iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("").to_owned()),
            _ => None,
        });
        rows.collect()
    })
}

fn is_close(grown: &Grown, mib: u64) {
    let range = mib << 20..=(mib << 20) + (mib << 20) / 20;
    assert!(range.contains(&grown.size_bytes), "{mib} MiB were asked for: {grown:?}");
}

fn a_part_of_a_copy_keeps_references_and_size(cluster: &Cluster, url: &str) {
    let grow = |name: &str, mib: u64| {
        let wish = GrowthRequest { size_bytes: mib << 20, files: 1, seed: 1 };
        let source = SourceDatabase::Named("source".to_owned());
        expand_database(url, &source, NewDatabase { name, directories: &[] }, &wish, &mut |_| true)
    };
    // One copy is large against what is missing: a part of it, in which every reference leads to a row.
    let small = grow("small", 1).unwrap_err().to_string();
    assert!(small.contains("database \"source\" to 1.0 MiB") && small.contains("\nhint: --size "), "{small}");
    values(cluster, "source", LARGE);
    let source_bytes: u64 =
        values(cluster, "postgres", "SELECT pg_database_size('source')")[0].parse().unwrap();
    let mib = (source_bytes >> 20) + 5;
    let part = grow("part", mib).unwrap();
    assert_eq!((part.copies, part.partial_copies), (1, 1), "{part:?}");
    is_close(&part, mib);
    let [items, groups] = ["item", "item_group"].map(|table| {
        values(cluster, "part", &format!("SELECT count(*) FROM {table}"))[0].parse::<u64>().unwrap()
    });
    assert!((20_001..40_000).contains(&items) && groups > 20, "{items} items, {groups} groups");
    let validated = "ALTER TABLE item DROP CONSTRAINT item_g_fkey; \
                     ALTER TABLE item ADD FOREIGN KEY (g) REFERENCES item_group; \
                     ALTER TABLE item DROP CONSTRAINT item_twin_fkey; \
                     ALTER TABLE item ADD FOREIGN KEY (twin) REFERENCES item";
    values(cluster, "part", validated);
}

#[test]
fn a_database_grows_beside_its_source_which_stays_as_it_is() {
    let Some(server) = newest().pop() else { return };
    let place = scratch();
    let base = place.path().to_path_buf();
    let options = ClusterOptions { server, base, elsewhere: Vec::new(), port: None };
    let mut cluster = Cluster::create(&options).unwrap();
    cluster.start(&[("fsync".into(), "off".into())]).unwrap();
    let socket = cluster.socket_directory().display().to_string().replace('/', "%2F");
    let url = format!("postgresql://fathom@/postgres?host={socket}&port={}", cluster.port());
    values(&cluster, "postgres", "CREATE DATABASE source");
    values(&cluster, "source", AWKWARD);

    let grow = |source: &SourceDatabase, name: &str, mib: u64| {
        let wish = GrowthRequest { size_bytes: mib << 20, files: 1, seed: 1 };
        expand_database(&url, source, NewDatabase { name, directories: &[] }, &wish, &mut |_| true)
    };
    let named = SourceDatabase::Named("source".to_owned());
    let grown = grow(&named, "grown", 9).unwrap();
    assert!(grown.copies > 1 && grown.size_bytes >= 9 << 20, "{grown:?}");
    is_close(&grown, 9);
    let copies = grown.copies;
    let count = |sql: &str| values(&cluster, "grown", sql)[0].parse::<u64>().unwrap();
    let nodes = count("SELECT count(*) FROM node");
    for (of_copy, sql) in [
        (4, "SELECT count(*) FROM node"),
        (2, "SELECT count(*) FROM edge"),
        (2, "SELECT count(DISTINCT id) FROM \"a b\".code"),
        (2, "SELECT count(*) FROM node WHERE parent IS NULL"),
    ] {
        assert!((of_copy * copies..=of_copy * (copies + 1)).contains(&count(sql)), "{sql}");
    }
    assert_eq!(count("SELECT count(*) FROM pg_namespace WHERE nspname = 'fathom_source'"), 0);
    assert_eq!(values(&cluster, "source", "SELECT count(*) FROM node"), ["4"]);

    let error = grow(&SourceDatabase::Sample, "grown", 1).unwrap_err().to_string();
    assert!(error.contains("already exists"), "{error}");
    assert_eq!(count("SELECT count(*) FROM node"), nodes, "what exists stays as it is");

    let sample = grow(&SourceDatabase::Sample, "shop", 12).unwrap();
    let orders = sample.rows.iter().find(|(table, _)| table == "public.orders").unwrap();
    assert!((1000 * sample.copies..=1000 * (sample.copies + 1)).contains(&orders.1), "{sample:?}");
    is_close(&sample, 12);

    a_part_of_a_copy_keeps_references_and_size(&cluster, &url);

    let stopped = GrowthRequest { size_bytes: 1 << 40, files: 1, seed: 1 };
    // Made by the server, so that they are its user's own.
    values(&cluster, "postgres", "COPY (SELECT 1) TO PROGRAM 'mkdir one two'");
    let directories = ["one", "two"].map(|word| cluster.data().join(word));
    let new = |name: &'static str| NewDatabase { name, directories: &directories };
    assert!(expand_database(&url, &named, new("stopped"), &stopped, &mut |_| false).is_err());
    let left = values(&cluster, "postgres", "SELECT count(*) FROM pg_database WHERE datname = 'stopped'");
    assert_eq!(left, ["0"], "nothing half made is left");
    let spaces = "SELECT count(*) FROM pg_tablespace WHERE spcname LIKE 'fathom%'";
    assert_eq!(values(&cluster, "postgres", spaces), ["0"], "nor are its tablespaces");
    let wish = GrowthRequest { size_bytes: 12 << 20, files: 1, seed: 1 };
    let spread = expand_database(&url, &SourceDatabase::Sample, new("spread"), &wish, &mut |_| true).unwrap();
    assert_eq!(spread.directories.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), directories);
    assert!(spread.directories.iter().all(|(_, bytes)| *bytes > 100_000), "{:?}", spread.directories);
    let elsewhere = "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i') AND reltablespace = 0 \
                     AND relnamespace = 'public'::regnamespace";
    assert_eq!(values(&cluster, "spread", elsewhere), ["0"], "every table and index has a directory");
    cluster.remove().unwrap();
}
