//! Where two blocks of a B-tree level meet: the high key of the left one, which is the separator above the right one, lies
//! below the first key of the right one.
//!
//! Two blocks state it, at times that nobody knows: each side waits for the other. What a worker has seen of both sides
//! is compared and forgotten at once; the rest when all is read. Beyond a limit what waits goes to files without a name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use check::matching::side::Side;
use check::matching::spill::Spill;

/// Parts of a file of waiting sides: each is read by itself in the end.
const PARTS: usize = 64;
/// Bytes of all parts that are written together.
const BUFFER_BYTES: u64 = 256 << 10;
/// Bytes that a waiting side takes beside its key.
const HALF_BYTES: u64 = 64;
/// So many broken ones are kept: more than anybody mends by hand.
const BROKEN_MAX: usize = 1 << 16;

/// Two blocks that name each other as neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seam {
    /// Number of the index in the plan.
    pub(crate) index: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

impl Seam {
    fn part(&self) -> usize {
        (self.left ^ self.right.rotate_left(7)) as usize % PARTS
    }
}

/// What one side states: the high key of the left block (expected), or the first key of the right one (found).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) side: Side,
    /// As `IndexTuple::key_bytes` gives it.
    pub(crate) key: Box<[u8]>,
}

/// Both sides.
#[derive(Debug)]
struct Met {
    seam: Seam,
    bound: Box<[u8]>,
    first: Box<[u8]>,
}

/// The sides of one worker that wait for their other one. Merges by addition.
#[derive(Debug, Default)]
pub(crate) struct Seams {
    waiting: HashMap<Seam, Half>,
    waiting_bytes: u64,
    /// Bytes that may wait in memory.
    bytes_max: u64,
    /// What two workers had a side of.
    met: Vec<Met>,
    broken: Vec<Seam>,
    /// Those of this worker, then those of others.
    spills: Vec<Spill>,
    /// Bytes of sides that found no room.
    left_out_bytes: u64,
}

impl Seams {
    /// With a limit for what waits in memory, bytes.
    pub(crate) fn new(bytes_max: u64) -> Seams {
        Seams { bytes_max, ..Seams::default() }
    }

    /// Takes in one side; gives the key of the other if that was there, and forgets it.
    pub(crate) fn state(&mut self, seam: Seam, side: Side, key: &[u8]) -> Option<Box<[u8]>> {
        match self.waiting.entry(seam) {
            Entry::Occupied(other) if other.get().side != side => {
                let other = other.remove();
                self.waiting_bytes -= HALF_BYTES + other.key.len() as u64;
                return Some(other.key);
            }
            // The same side again says the same.
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(Half { side, key: key.into() }),
        };
        self.waiting_bytes += HALF_BYTES + key.len() as u64;
        if self.waiting_bytes > self.bytes_max {
            self.spill();
        }
        None
    }

    /// Moves what waits to a file; what cannot be written is left out.
    fn spill(&mut self) {
        if self.spills.is_empty() {
            self.spills.push(Spill::new(PARTS, BUFFER_BYTES, 0));
        }
        let Some(spill) = self.spills.first_mut() else { return };
        for (seam, half) in self.waiting.drain() {
            spill.push(seam.part(), |bytes| write(bytes, seam, &half));
        }
        spill.seal();
        self.waiting_bytes = 0;
        self.left_out_bytes += spill.drop_kept();
    }

    /// The sides of a part that were written.
    fn written(&self, part: usize) -> io::Result<Vec<(Seam, Half)>> {
        let mut halves = Vec::new();
        for spill in &self.spills {
            halves.extend(read(&spill.read(part)?));
        }
        Ok(halves)
    }

    /// Keeps a seam whose first key is not above the bound.
    pub(crate) fn keep_broken(&mut self, seam: Seam) {
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(seam);
        }
    }

    /// Adds what another worker collected.
    pub(crate) fn merge(&mut self, mut other: Seams) {
        self.left_out_bytes += other.left_out_bytes;
        self.spills.append(&mut other.spills);
        self.met.append(&mut other.met);
        other.broken.into_iter().for_each(|seam| self.keep_broken(seam));
        if self.waiting.len() < other.waiting.len() {
            std::mem::swap(&mut self.waiting, &mut other.waiting);
        }
        for (seam, half) in other.waiting {
            self.met.extend(meet(&mut self.waiting, seam, half));
        }
        self.waiting_bytes = 0;
    }

    /// Compares what waited; gives all seams that `is_below` denies, ascending, and whether all sides were there to be
    /// compared.
    pub(crate) fn broken(&self, mut is_below: impl FnMut(&Seam, &[u8], &[u8]) -> bool) -> (Vec<Seam>, bool) {
        let mut is_whole = self.left_out_bytes == 0;
        let mut broken = self.broken.clone();
        let mut look = |seam: &Seam, bound: &[u8], first: &[u8]| {
            if broken.len() < BROKEN_MAX && !is_below(seam, bound, first) {
                broken.push(*seam);
            }
        };
        self.met.iter().for_each(|met| look(&met.seam, &met.bound, &met.first));
        let parts = if self.spills.is_empty() { 0 } else { PARTS };
        for part in 0..parts {
            let of_part = self.waiting.iter().filter(|(seam, _)| seam.part() == part);
            let mut waiting: HashMap<Seam, Half> =
                of_part.map(|(seam, half)| (*seam, half.clone())).collect();
            let written = self.written(part);
            is_whole &= written.is_ok();
            for (seam, half) in written.unwrap_or_default() {
                if let Some(met) = meet(&mut waiting, seam, half) {
                    look(&met.seam, &met.bound, &met.first);
                }
            }
        }
        broken.sort_unstable();
        broken.dedup();
        (broken, is_whole)
    }

    /// All sides that wait, and both of those that met, to be kept; in no order.
    pub(crate) fn all(&self) -> Vec<(Seam, Half)> {
        let of = |side, key: &[u8]| Half { side, key: key.into() };
        let waiting = self.waiting.iter().map(|(seam, half)| (*seam, half.clone()));
        let met = self.met.iter().flat_map(|met| {
            [(met.seam, of(Side::Expected, &met.bound)), (met.seam, of(Side::Found, &met.first))]
        });
        let written = (0..PARTS).flat_map(|part| self.written(part).unwrap_or_default());
        waiting.chain(met).chain(written).collect()
    }

    /// Takes in a side that was kept.
    pub(crate) fn restore(&mut self, seam: Seam, half: Half) {
        self.met.extend(meet(&mut self.waiting, seam, half));
    }

    /// Seams found broken so far, without those that wait.
    pub(crate) fn broken_so_far(&self) -> &[Seam] {
        &self.broken
    }

    /// Bytes in files.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.spills.iter().map(Spill::written_bytes).sum()
    }
}

/// Puts a side to those that wait, or takes its other one from there.
fn meet(waiting: &mut HashMap<Seam, Half>, seam: Seam, half: Half) -> Option<Met> {
    match waiting.entry(seam) {
        Entry::Occupied(other) if other.get().side != half.side => {
            let other = other.remove();
            Some(match half.side {
                Side::Expected => Met { seam, bound: half.key, first: other.key },
                Side::Found => Met { seam, bound: other.key, first: half.key },
            })
        }
        Entry::Occupied(_) => None,
        Entry::Vacant(place) => {
            place.insert(half);
            None
        }
    }
}

/// Bytes before the key of a side: index, left and right block, length, side.
const HEADER_BYTES: usize = 15;

fn write(bytes: &mut Vec<u8>, seam: Seam, half: &Half) {
    // Tuples are shorter than a block: at most 32 KiB.
    let length = (half.key.len() as u16).to_le_bytes();
    [seam.index, seam.left, seam.right].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes.extend([length[0], length[1], half.side as u8]);
    bytes.extend(&half.key);
}

/// The sides that were written.
fn read(bytes: &[u8]) -> Vec<(Seam, Half)> {
    let (mut halves, mut rest) = (Vec::new(), bytes);
    // Each turn takes a header and a key.
    while let Some((header, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let [a, b, c, d, e, f, g, h, i, j, k, l, length @ .., side] = *header;
        let Some((key, after)) = after.split_at_checked(u16::from_le_bytes(length).into()) else { break };
        let [index, left, right] = [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes);
        let side = if side == Side::Expected as u8 { Side::Expected } else { Side::Found };
        halves.push((Seam { index, left, right }, Half { side, key: key.into() }));
        rest = after;
    }
    halves
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sides_meet_in_one_worker_in_two_and_in_files() {
        let seam = |number: u32| Seam { index: number % 3, left: number, right: number * 7 % 1009 };
        let key = |number: u32, side| [number.to_le_bytes(), [side as u8; 4]].concat();
        for bytes_max in [0, 5_000, u64::MAX] {
            let mut workers: Vec<Seams> = (0..3).map(|_| Seams::new(bytes_max)).collect();
            let mut met_at_once = 0;
            for number in 0..1000u32 {
                for (side, worker) in [
                    (Side::Expected, number % 3),
                    (Side::Found, if number % 5 == 0 { number % 3 } else { number % 2 }),
                ] {
                    // The last ones wait in vain.
                    if number < 990 || side == Side::Expected {
                        let other = workers[worker as usize].state(seam(number), side, &key(number, side));
                        met_at_once += usize::from(other.is_some());
                        assert!(other.is_none_or(|other| *other == key(number, Side::Expected)));
                    }
                }
            }
            assert_eq!(met_at_once > 0, bytes_max > 0);
            let mut all = Seams::new(u64::MAX);
            workers.into_iter().for_each(|worker| all.merge(worker));
            assert_eq!(all.temporary_bytes() > 0, bytes_max < u64::MAX);
            let mut restored = Seams::new(u64::MAX);
            all.all().into_iter().for_each(|(seam, half)| restored.restore(seam, half));
            for seams in [all, restored] {
                let mut looked_at = 0;
                let (broken, is_whole) = seams.broken(|_, bound, first| {
                    assert_eq!(
                        (&bound[..4], bound[4], first[4]),
                        (&first[..4], Side::Expected as u8, Side::Found as u8)
                    );
                    looked_at += 1;
                    bound[0] % 2 == 0
                });
                assert!(is_whole && broken.iter().all(|seam| seam.left % 2 == 1), "{broken:?}");
                assert!(looked_at > 300 && broken.is_sorted());
            }
        }
    }

    #[test]
    fn sides_that_cannot_be_read_back_are_said() {
        let mut seams = Seams::new(0);
        seams.state(Seam { index: 1, left: 2, right: 3 }, Side::Expected, b"key");
        seams.spills[0].file().unwrap().set_len(0).unwrap();
        assert!(!seams.broken(|_, _, _| true).1);
    }
}
