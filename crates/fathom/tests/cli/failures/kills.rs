//! kill -9 at random moments: what was said to be stored is stored.

use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::time::Duration;

use results::store::Store;
use stats::random::Random;

use crate::bench::{Bench, signal};

const STUDY: [&str; 7] =
    ["run", "quick.toml", "--set", "rows_total=800", "--repetitions", "12", "--ceilings=never"];

/// The number of a stored run in a line such as `run 17  block 2  ...`.
fn run_of(line: &str) -> Option<i64> {
    line.strip_prefix("run ")?.split_once("  block ")?.0.parse().ok()
}

#[test]
fn no_run_that_was_announced_is_lost_by_kill_9_at_random_moments() {
    let bench = Bench::new();
    let mut random = Random::new(14);
    let mut announced: Vec<i64> = Vec::new();
    for _ in 0..12 {
        let mut child = bench.start(&STUDY);
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| {
                let _ = sender.send(line);
            });
        });
        // The moment itself, not a wait for something: between nothing done and many runs.
        std::thread::sleep(Duration::from_millis(random.below(900)));
        signal(&child, "KILL");
        child.wait().unwrap();
        reader.join().unwrap();
        announced.extend(receiver.try_iter().filter_map(|line| run_of(&line)));
        if !bench.results().join("results.db").exists() {
            assert!(announced.is_empty());
            continue;
        }
        let stored = match Store::open_read_only(&bench.results()).unwrap().latest_study().unwrap() {
            Some(_) => bench.stored(),
            None => continue,
        };
        for run in &announced {
            let found = stored.runs.iter().find(|stored| stored.run_id == *run);
            assert!(found.is_some_and(|found| !found.run.clients.is_empty()), "run {run} was announced");
        }
    }
    bench.finish(&STUDY);
    assert_eq!(bench.counting(), 24);
    let ids: Vec<i64> = bench.stored().runs.iter().map(|stored| stored.run_id).collect();
    assert!(announced.iter().all(|run| ids.contains(run)));
}
