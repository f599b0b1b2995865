//! Runs a target on seeds with some bytes changed, without coverage: for machines without a sanitizer toolchain.
//!
//! `mutate TARGET SECONDS SEED FOLDER...`: exit status 1 when an input panics or takes longer than the limit; it is kept in
//! `artifacts/`. `mutate TARGET FILE` runs one input again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fathom_fuzz::{TARGETS, Target};

/// The longest time for one input.
const TIME_MAX: Duration = Duration::from_secs(5);
/// The longest input, bytes.
const INPUT_BYTES_MAX: usize = 1 << 18;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, file] = &arguments[..] {
        return again(name, file);
    }
    let [name, seconds, seed, folders @ ..] = &arguments[..] else { usage() };
    let (Ok(seconds), Ok(seed)) = (seconds.parse::<u64>(), seed.parse::<u64>()) else { usage() };
    let target = target(name);
    let mut inputs: Vec<Vec<u8>> = folders.iter().flat_map(files).collect();
    inputs.sort();
    inputs.push(Vec::new());
    let mut random = Random(seed | 1);
    let started = Instant::now();
    let mut count = 0u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        let chosen = random.below(inputs.len());
        let mut input = inputs[chosen].clone();
        if count >= inputs.len() as u64 {
            let other = random.below(inputs.len());
            mutate(&mut input, &inputs[other], &mut random);
        } else {
            input.clone_from(&inputs[count as usize]);
        }
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = began.elapsed();
        count += 1;
        if outcome.is_err() || took > TIME_MAX {
            let what = if outcome.is_err() { "crash" } else { "slow" };
            let path = PathBuf::from("artifacts").join(format!("{what}-{name}-{seed}-{count}"));
            let _ = std::fs::create_dir_all("artifacts");
            let _ = std::fs::write(&path, &input);
            eprintln!("{name}: {what} after {count} runs, {took:?}: {}", path.display());
            std::process::exit(1);
        }
    }
    println!("{name}: {count} runs in {} s, peak memory {}", started.elapsed().as_secs(), peak());
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| usage())
}

/// Runs one input, whose panic ends the program.
fn again(name: &str, file: &str) {
    let target = target(name);
    let input = std::fs::read(file).unwrap_or_else(|error| {
        eprintln!("could not read file \"{file}\": {error}");
        std::process::exit(2);
    });
    let began = Instant::now();
    (target.run)(&input);
    println!("{name}: {} bytes took {:?}", input.len(), began.elapsed());
}

fn usage() -> ! {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!("usage: mutate TARGET SECONDS SEED FOLDER... | mutate TARGET FILE\ntargets: {}", names.join(" "));
    std::process::exit(2);
}

fn files(folder: &String) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "not known".to_owned(), |line| line.trim().to_owned())
}

/// A few changes of the kinds that damage and hostility make.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(input.len().max(1));
        let word = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX]
            [random.below(10)];
        match random.below(8) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 | 3 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let bytes = if random.below(2) == 0 {
                    word.to_le_bytes()
                } else {
                    word.rotate_left(32).to_be_bytes()
                };
                input.iter_mut().skip(at).zip(&bytes[..width]).for_each(|(byte, new)| *byte = *new);
            }
            4 => input.truncate(at),
            5 if !other.is_empty() => {
                let from = random.below(other.len());
                let piece: Vec<u8> = other[from..].iter().take(random.below(8192)).copied().collect();
                input.iter_mut().skip(at).zip(piece).for_each(|(byte, new)| *byte = new);
            }
            6 => {
                let length = random.below(512);
                input.iter_mut().skip(at).take(length).for_each(|byte| *byte = word as u8);
            }
            _ => {
                let piece: Vec<u8> = input.iter().skip(at).take(random.below(4096)).copied().collect();
                if input.len() + piece.len() < INPUT_BYTES_MAX {
                    input.splice(at.min(input.len())..at.min(input.len()), piece);
                }
            }
        }
    }
}

/// xorshift64* (Vigna 2016): the same seed gives the same inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 32) as usize % count.max(1)
    }
}
