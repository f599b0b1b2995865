//! Where a running server keeps the wait of each of its processes.
//!
//! `my_wait_event_info` is a `uint32 *` that the server exports for extensions, in stripped builds too. In a live
//! backend it points to that backend's slot in the main shared memory, which every child of the postmaster has at the
//! same address (they are forked). So a slot is found once per backend, through the backend's own copy of the
//! pointer, and all slots are then read through the postmaster.
// OBSERVED: PostgreSQL 14.24, 15.20, 16.15, 17.11, 18.6

use std::fs::File;
use std::ops::Range;

use object::read::ReadCache;
use object::{Object, ObjectKind, ObjectSymbol};

use crate::server::memory::ProcessMemory;

const SYMBOL: &str = "my_wait_event_info";

/// Longest gap between two slots that is read along instead of with a call of its own: about a page.
const GAP_BYTES_MAX: u64 = 4096;

/// Symbols looked at in a program; a server exports some 15,000.
const SYMBOLS_MAX: usize = 1 << 20;

/// The shared memory of one server, readable.
#[derive(Debug)]
pub(super) struct ServerMemory {
    postmaster: ProcessMemory,
    pointer_address: u64,
    shared: Range<u64>,
}

impl ServerMemory {
    /// Finds the shared memory of a server by the process id of its postmaster.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence without full stop: rights, another kind of program, no shared memory.
    pub(super) fn attach(postmaster: u32) -> Result<Self, String> {
        let memory = ProcessMemory::open(postmaster)
            .map_err(|error| format!("cannot read the memory of process {postmaster}: {error}"))?;
        let maps = std::fs::read_to_string(format!("/proc/{postmaster}/maps"))
            .map_err(|error| format!("cannot read the mappings of process {postmaster}: {error}"))?;
        let program = std::fs::read_link(format!("/proc/{postmaster}/exe"))
            .map_err(|error| format!("cannot find the program of process {postmaster}: {error}"))?;
        let program = program.to_string_lossy();
        let base = base_of(&maps, &program)
            .ok_or_else(|| format!("process {postmaster} has no mapping of \"{program}\""))?;
        // By the link itself: it leads to the program that runs, also when the file was replaced since.
        let symbol = symbol(&format!("/proc/{postmaster}/exe"))?;
        let shared =
            largest_shared(&maps).ok_or_else(|| format!("process {postmaster} has no shared memory"))?;
        let pointer_address = if symbol.is_relative { base + symbol.address } else { symbol.address };
        Ok(Self { postmaster: memory, pointer_address, shared })
    }

    /// Address of a backend's slot; `None` while it has none yet, or has ended.
    pub(super) fn slot_of(&self, backend: u32) -> Option<u64> {
        let address = ProcessMemory::open(backend).ok()?.read_pointer(self.pointer_address).ok()?;
        // Before a backend has its slot the pointer leads to a variable of its own.
        (self.shared.contains(&address) && address.is_multiple_of(4)).then_some(address)
    }

    /// Reads all slots of a plan into `values`, in the order in which the plan was given them.
    ///
    /// # Errors
    /// The server has ended.
    pub(super) fn read(&self, plan: &mut ReadPlan, values: &mut Vec<u32>) -> std::io::Result<()> {
        values.clear();
        values.resize(plan.slots, 0);
        for span in &plan.spans {
            let length = (span.bytes.end - span.bytes.start) as usize;
            plan.buffer.resize(length, 0);
            self.postmaster.read(span.bytes.start, &mut plan.buffer)?;
            for (offset, index) in &span.slots {
                let bytes = plan.buffer.get(*offset..offset + 4).and_then(|bytes| bytes.try_into().ok());
                values[*index] = u32::from_ne_bytes(bytes.expect("a span holds its slots"));
            }
        }
        Ok(())
    }
}

/// In which pieces a set of slots is read.
#[derive(Debug, Default)]
pub(super) struct ReadPlan {
    spans: Vec<Span>,
    slots: usize,
    buffer: Vec<u8>,
}

#[derive(Debug, PartialEq)]
struct Span {
    bytes: Range<u64>,
    /// Offset within the span, index within the values.
    slots: Vec<(usize, usize)>,
}

impl ReadPlan {
    /// Joins slots that lie close together.
    pub(super) fn new(slots: &[u64]) -> Self {
        let mut sorted: Vec<(u64, usize)> =
            slots.iter().enumerate().map(|(index, address)| (*address, index)).collect();
        sorted.sort_unstable();
        let mut spans: Vec<Span> = Vec::new();
        for (address, index) in sorted {
            match spans.last_mut() {
                Some(span) if address < span.bytes.end + GAP_BYTES_MAX => {
                    span.slots.push(((address - span.bytes.start) as usize, index));
                    span.bytes.end = address + 4;
                }
                _ => spans.push(Span { bytes: address..address + 4, slots: vec![(0, index)] }),
            }
        }
        Self { spans, slots: slots.len(), buffer: Vec::new() }
    }
}

struct Symbol {
    address: u64,
    /// Is the address counted from where the program was loaded?
    is_relative: bool,
}

fn symbol(path: &str) -> Result<Symbol, String> {
    let file = File::open(path).map_err(|error| format!("cannot read the server's program: {error}"))?;
    let cache = ReadCache::new(file);
    let program = object::File::parse(&cache)
        .map_err(|error| format!("the server's program is not one that can be read: {error}"))?;
    program
        .dynamic_symbols()
        .take(SYMBOLS_MAX)
        .find(|symbol| symbol.name() == Ok(SYMBOL) && symbol.is_definition())
        .map(|symbol| Symbol {
            address: symbol.address(),
            is_relative: program.kind() == ObjectKind::Dynamic,
        })
        .ok_or_else(|| format!("the server's program does not export {SYMBOL}"))
}

/// Where the first byte of the program is mapped.
fn base_of(maps: &str, program: &str) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mapping = Mapping::parse(line)?;
        (mapping.path == program && mapping.offset == 0).then_some(mapping.range.start)
    })
}

fn largest_shared(maps: &str) -> Option<Range<u64>> {
    maps.lines()
        .filter_map(Mapping::parse)
        .filter(|mapping| mapping.is_shared)
        .map(|mapping| mapping.range)
        .max_by_key(|range| range.end - range.start)
}

/// One line of `/proc/PID/maps`.
struct Mapping<'a> {
    range: Range<u64>,
    is_shared: bool,
    offset: u64,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    // EVIDENCE: proc_pid_maps(5): address perms offset dev inode pathname
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
        let path = fields.nth(2)?.trim_start();
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let range = number(start)?..number(end)?;
        (range.start < range.end).then_some(Self {
            range,
            is_shared: permissions.ends_with('s'),
            offset,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MAPS: &str = "\
55d0c8600000-55d0c86c0000 r--p 00000000 fe:00 131 /usr/lib/postgresql/15/bin/postgres
55d0c86c0000-55d0c8c00000 r-xp 000c0000 fe:00 131 /usr/lib/postgresql/15/bin/postgres
7f1e40000000-7f1e48a00000 rw-s 00000000 00:01 1030 /dev/zero (deleted)
7f1e50000000-7f1e50001000 rw-s 00000000 00:01 3 /SYSV0004e4b5 (deleted)
7f1e51000000-7f1e51001000 rw-p 00000000 00:00 0 
7ffd5a5c6000-7ffd5a5e7000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn the_program_and_the_largest_shared_mapping_are_found() {
        assert_eq!(base_of(MAPS, "/usr/lib/postgresql/15/bin/postgres"), Some(0x55d0_c860_0000));
        assert_eq!(base_of(MAPS, "/usr/bin/other"), None);
        assert_eq!(largest_shared(MAPS), Some(0x7f1e_4000_0000..0x7f1e_48a0_0000));
        for end in 0..MAPS.len() {
            let _any = (base_of(&MAPS[..end], "x"), largest_shared(&MAPS[..end]));
        }
    }

    #[test]
    fn slots_are_read_in_few_pieces_and_come_back_in_their_order() {
        let plan = ReadPlan::new(&[100_000, 1_000, 1_900, 200_000]);
        assert_eq!(plan.spans.len(), 3);
        assert_eq!(plan.spans[0], Span { bytes: 1_000..1_904, slots: vec![(0, 1), (900, 2)] });
        let held: Vec<u32> = (0..2000).collect();
        let start = held.as_ptr().addr() as u64;
        let memory = ServerMemory {
            postmaster: ProcessMemory::open(std::process::id()).unwrap(),
            pointer_address: 0,
            shared: 0..1,
        };
        let mut values = vec![7; 3];
        let mut plan = ReadPlan::new(&[start + 4 * 1999, start, start + 4 * 17]);
        memory.read(&mut plan, &mut values).unwrap();
        assert_eq!(values, [1999, 0, 17]);
    }

    #[test]
    fn a_program_that_is_no_server_is_named_by_what_it_lacks() {
        let reason = ServerMemory::attach(std::process::id()).unwrap_err();
        assert!(
            reason.contains("does not export my_wait_event_info") || reason.contains("no shared memory"),
            "{reason}"
        );
        assert!(ServerMemory::attach(u32::MAX / 2).unwrap_err().contains("cannot read the memory"));
    }
}
