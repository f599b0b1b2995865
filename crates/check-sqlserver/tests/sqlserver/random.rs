//! Random damage from fixed seeds: no panic, a complete accounting, and the same findings whatever the workers.

use check::options::Options;
use formats::sqlserver::{PAGE_BYTES, protect};
use results::check::CheckLevel;

use crate::copy::{Copy, NORTHWIND, NORTHWIND_TORN, checked, options};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Changes bytes of pages that lead elsewhere more often than the rest; every other time the protection is made to fit.
fn damage(copy: &mut Copy, numbers: &mut Numbers) {
    let page_count = copy.bytes.len() / PAGE_BYTES;
    for _ in 0..1 + numbers.below(12) {
        let page = match numbers.below(4) {
            0 => numbers.below(24),
            _ => numbers.below(page_count),
        };
        let mut bytes = copy.page(page as u32);
        for _ in 0..1 + numbers.below(6) {
            let offset = match numbers.below(4) {
                0 => numbers.below(96),
                1 => PAGE_BYTES - 1 - numbers.below(32),
                2 => 96 + numbers.below(300),
                _ => numbers.below(PAGE_BYTES),
            };
            bytes[offset] = numbers.below(256) as u8;
        }
        if numbers.below(4) > 0 {
            protect(&mut bytes);
        }
        copy.bytes[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].copy_from_slice(&bytes);
    }
    if numbers.below(8) == 0 {
        let length = 10 * PAGE_BYTES + numbers.below(copy.bytes.len() - 10 * PAGE_BYTES);
        copy.bytes.truncate(length);
    }
}

#[test]
fn random_damage_makes_no_panic_and_the_number_of_workers_no_difference() {
    for seed in 0..24 {
        let file = if seed % 3 == 0 { NORTHWIND_TORN } else { NORTHWIND };
        let Some(mut copy) = Copy::of(file) else { return };
        damage(&mut copy, &mut Numbers(seed));
        let path = copy.store();
        let one = checked(&path, &options(CheckLevel::Full));
        let three =
            checked(&path, &Options { worker_count: 3, page_batch: Some(5), ..options(CheckLevel::Full) });
        assert_eq!(one.findings, three.findings, "seed {seed}");
        assert_eq!(one.accounting, three.accounting, "seed {seed}");
        checked(&path, &Options { is_raw: true, ..options(CheckLevel::Structure) });
    }
}

#[test]
fn a_damaged_backup_makes_no_panic() {
    for seed in 0..12 {
        let Some(mut copy) = Copy::of("pubs-2012-checksum.bak") else { return };
        let mut numbers = Numbers(seed);
        for _ in 0..20 {
            let end = if numbers.below(2) == 0 { 20_000 } else { copy.bytes.len() };
            let offset = 4096 + numbers.below(end - 4096);
            copy.bytes[offset] = numbers.below(256) as u8;
        }
        if seed % 4 == 0 {
            copy.bytes.truncate(numbers.below(copy.bytes.len() - 4096) + 4096);
        }
        checked(&copy.store(), &options(CheckLevel::Full));
    }
}
