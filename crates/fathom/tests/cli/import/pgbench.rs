//! pgbench against every server that is installed: what is imported is what it reports.

use std::path::{Path, PathBuf};
use std::process::Command;

use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::find_servers;
use results::model::Run;
use results::store::{Store, StudyId};
use skips::{Capability, skip};

use crate::bench::{Bench, text};

/// pgbench of any package.
fn pgbench() -> Option<PathBuf> {
    let places = find_servers(&[]).into_iter().map(|server| server.bin_dir.join("pgbench"));
    let found = places.chain([PathBuf::from("/usr/bin/pgbench")]).find(|path| path.is_file());
    if found.is_none() {
        skip(Capability::PostgresTools, "no pgbench");
    }
    found
}

struct Scene {
    bench: Bench,
    cluster: Cluster,
    pgbench: PathBuf,
}

impl Scene {
    fn new(server: lab_postgres::ServerBinaries, pgbench: &Path) -> Self {
        let bench = Bench::new();
        let base = bench.path().to_owned();
        let mut cluster =
            Cluster::create(&ClusterOptions { server, base, elsewhere: Vec::new(), port: None }).unwrap();
        cluster.start(&[("fsync".to_owned(), "off".to_owned())]).unwrap();
        let scene = Self { bench, cluster, pgbench: pgbench.to_owned() };
        scene.run("init", &["-i", "-q"]);
        scene
    }

    /// Runs pgbench in a directory of its own and keeps what it prints there.
    fn run(&self, name: &str, words: &[&str]) -> Vec<String> {
        let directory = self.bench.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        let mut command = Command::new(&self.pgbench);
        command.args([
            "-h",
            self.cluster.socket_directory().to_str().unwrap(),
            "-p",
            &self.cluster.port().to_string(),
        ]);
        let output = command
            .args(["-U", "fathom", "-n"])
            .args(words)
            .arg("postgres")
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        std::fs::write(directory.join("printed"), [output.stderr, output.stdout].concat()).unwrap();
        let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    fn printed(&self, name: &str, begin: &str) -> f64 {
        let printed = std::fs::read_to_string(self.bench.path().join(name).join("printed")).unwrap();
        let line = printed
            .lines()
            .find_map(|line| line.strip_prefix(begin))
            .unwrap_or_else(|| panic!("{begin}: {printed}"));
        line.split([' ', '/']).next().unwrap().parse().unwrap()
    }

    /// Imports files as a study with one run.
    fn import(&self, name: &str, files: &[String]) -> Run {
        let words: Vec<&str> =
            ["import", "--name", name].into_iter().chain(files.iter().map(String::as_str)).collect();
        let (out, _) = self.bench.expect(0, &words);
        let id = out
            .lines()
            .find_map(|line| line.strip_prefix("stored as study "))
            .unwrap_or_else(|| panic!("{out}"));
        let id: i64 = id.split(':').next().unwrap().parse().unwrap();
        let store = Store::open_read_only(&self.bench.results()).unwrap();
        let runs = store.runs(StudyId(id)).unwrap();
        assert_eq!(runs.len(), 1, "{out}");
        store.run(runs[0].run_id).unwrap().run
    }
}

/// Times of all lines of the logs in microseconds, ascending.
fn times(files: &[String]) -> Vec<u64> {
    let logs = files.iter().filter(|file| file.contains("pgbench_log"));
    let mut times: Vec<u64> = logs
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let time = |line: &str| line.split(' ').nth(2).unwrap().parse().ok();
            text.lines().filter_map(time).collect::<Vec<u64>>()
        })
        .collect();
    times.sort_unstable();
    times
}

fn is_close(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() < share
}

#[test]
fn counts_rates_and_percentiles_are_those_of_pgbench_on_every_server() {
    let Some(pgbench) = pgbench() else { return };
    for server in find_servers(&[]) {
        let major = server.major;
        let scene = Scene::new(server, &pgbench);
        let files = scene.run("log", &["-c", "4", "-j", "2", "-T", "2", "-l"]);
        let processed = scene.printed("log", "number of transactions actually processed: ");
        let tps = scene.printed("log", "tps = ");
        let run = scene.import("log", &files);
        assert_eq!(run.transactions() as f64, processed, "PostgreSQL {major}");
        assert_eq!(run.clients.len(), 4);
        assert!(is_close(processed / (run.elapsed_ns as f64 / 1e9), tps, 1e-6), "PostgreSQL {major}");
        let times = times(&files);
        assert_eq!(run.service_time().count() as usize, times.len());
        for share in [0.5, 0.9, 0.99, 0.999] {
            let exact = times[((times.len() as f64 * share).ceil() as usize).max(1) - 1] as f64 * 1e3;
            let found = run.service_time().quantile_ns(share) as f64;
            assert!(is_close(found, exact, 2e-3), "PostgreSQL {major}, {share}: {found}, {exact}");
        }
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e3;
        assert!(is_close(run.metric("latency_mean_ms").unwrap(), mean, 1e-9));

        // The log alone: the same transactions, over the time from the first start to the last end.
        let logs: Vec<String> = files.iter().filter(|file| file.contains("pgbench_log")).cloned().collect();
        let alone = scene.import("alone", &logs);
        assert_eq!(alone.transactions() as f64, processed);
        assert!(is_close(processed / (alone.elapsed_ns as f64 / 1e9), tps, 0.1), "PostgreSQL {major}");
    }
}

#[test]
fn intervals_rates_and_printed_values_are_those_of_pgbench() {
    let Some(pgbench) = pgbench() else { return };
    let Some(server) = find_servers(&[]).into_iter().next() else {
        return skip(Capability::Postgres, "no PostgreSQL server binaries");
    };
    let scene = Scene::new(server, &pgbench);
    let files = scene.run("aggregate", &["-c", "2", "-T", "3", "-l", "--aggregate-interval=1"]);
    let processed = scene.printed("aggregate", "number of transactions actually processed: ");
    let run = scene.import("aggregate", &files);
    assert_eq!(run.transactions() as f64, processed);
    assert!(is_close(
        run.transactions() as f64 / (run.elapsed_ns as f64 / 1e9),
        scene.printed("aggregate", "tps = "),
        1e-6
    ));
    assert!(run.metric("latency_mean_ms").is_some_and(|mean| mean > 0.0));

    let files = scene.run("rate", &["-c", "2", "-T", "3", "-P", "1", "-l", "--rate=50"]);
    let run = scene.import("rate", &files);
    assert_eq!(
        run.transactions() as f64,
        scene.printed("rate", "number of transactions actually processed: ")
    );
    // `time` begins at the scheduled start: pgbench's own average is that of response times.
    let average = scene.printed("rate", "latency average = ");
    let response = run.response_time().mean_ns() / 1e6;
    assert!(is_close(response, average, 5e-3), "{response} {average}");
    let lag = scene.printed("rate", "rate limit schedule lag: avg ");
    let service = run.service_time().mean_ns() / 1e6;
    assert!((response - service - lag).abs() < 5e-3 * average + 1e-3, "{response} - {service} = {lag}");

    let printed = vec![scene.bench.path().join("rate/printed").to_str().unwrap().to_owned()];
    let run = scene.import("printed", &printed);
    assert_eq!(
        run.transactions() as f64,
        scene.printed("rate", "number of transactions actually processed: ")
    );
    assert!(is_close(run.metric("tps").unwrap(), scene.printed("rate", "tps = "), 1e-12));
    assert_eq!(run.metric("latency_mean_ms"), Some(average));
}
