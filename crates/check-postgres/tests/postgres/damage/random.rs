//! Whatever stands in the files, a check ends, does not panic, and accounts for every block.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use results::check::CheckLevel;

use crate::scene::clean::check;
use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::{Cluster, servers};

/// Rounds, each with new damage all over the cluster.
const ROUNDS: u64 = 12;
/// Blocks that are damaged in a round.
const BLOCKS_PER_ROUND: u64 = 60;

/// xorshift64: a seed gives the same damage each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

fn relation_files(cluster: &Cluster) -> Vec<PathBuf> {
    let data = cluster.data();
    let mut found = Vec::new();
    for directory in std::fs::read_dir(data.join("base")).unwrap().flatten() {
        for entry in std::fs::read_dir(directory.path()).unwrap().flatten() {
            if entry.metadata().unwrap().len() >= BLOCK as u64 {
                found.push(entry.path().strip_prefix(&data).unwrap().to_path_buf());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn random_damage_never_panics_and_every_block_is_accounted_for() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run(include_str!("../everything.sql"));
        let files = relation_files(&cluster);
        for round in 0..ROUNDS {
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (round + 1));
            let mut editor = Editor::new(&cluster.data());
            for _ in 0..BLOCKS_PER_ROUND {
                // Damaged catalogs hide everything else, so they are spared in half of the rounds.
                let is_spared =
                    |file: &&PathBuf| round % 2 == 0 && file.file_name().unwrap().to_string_lossy().len() < 5;
                let candidates: Vec<&PathBuf> = files.iter().filter(|file| !is_spared(file)).collect();
                let file = candidates[random.below(candidates.len() as u64) as usize];
                let blocks = editor.read(file).len() / BLOCK;
                let block = random.below(blocks as u64) as usize;
                editor.sealed(file, block, |page| {
                    for _ in 0..=random.below(8) {
                        // Half of the hits go to header and line pointers.
                        let reach = if random.below(2) == 0 { 400 } else { BLOCK as u64 };
                        page[random.below(reach) as usize] = random.below(256) as u8;
                    }
                });
            }
            let report = check(&cluster, CheckLevel::Full, 2);
            assert!(report.accounting.is_balanced(), "round {round}: {:?}", report.accounting);
            assert_eq!(report.accounting.bytes_read, report.accounting.bytes_expected, "round {round}");
            assert_eq!(report.exit_code(), 1, "round {round}");
            editor.undo();
        }
    }
}
