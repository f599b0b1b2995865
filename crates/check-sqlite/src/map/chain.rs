//! Overflow chains: followed inside the extent that a worker holds, joined together after the pass.
//!
//! A chain that leaves the extent is kept as its open end. Overflow pages that no chain of the extent reached are kept
//! as runs: neighbours that refer to each other, with the page that follows. So a long value in neighbouring pages
//! costs one run per extent, and nothing is read twice. Where memory is short, both wait in temporary files ([`Ends`]).

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use formats::sqlite::{BtreePage, PointerMapKind, u32_at};

use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::Difference;

use crate::causes::cycle;
use crate::finding::Draft;
use crate::map::Use;
use crate::map::ends::Ends;
pub(crate) use crate::map::open_chain::{OpenChain, Run};
use crate::rules;
use crate::run::context::Context;
use crate::source::reader::Brake;

/// The pages that a worker holds at the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'p> {
    pub(crate) first_page: u32,
    pub(crate) bytes: &'p [u8],
    pub(crate) page_size_bytes: usize,
}

impl<'p> Window<'p> {
    pub(crate) fn page(&self, page: u32) -> Option<&'p [u8]> {
        let index = page.checked_sub(self.first_page)? as usize;
        let start = index.checked_mul(self.page_size_bytes)?;
        self.bytes.get(start..start.checked_add(self.page_size_bytes)?)
    }

    pub(crate) fn page_count(&self) -> u32 {
        (self.bytes.len() / self.page_size_bytes) as u32
    }
}

/// How far a chain could be followed.
enum Step {
    Done,
    Broken(Box<Draft>),
    /// The next page is not among those given.
    Elsewhere,
}

/// Follows chains and claims their pages.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    pub(crate) open: Vec<OpenChain>,
    pub(crate) runs: Vec<Run>,
    /// What the pointer map should say about overflow pages, on the left.
    pub(crate) expected_entries: Difference,
    /// Pages of chains that are on the freelist as well.
    pub(crate) shared: Vec<Draft>,
}

/// Hash of what a pointer map says about a page.
pub(crate) fn entry_hash(page: u32, kind: PointerMapKind, parent: u32, key: &Key) -> u128 {
    let mut bytes = [0; 9];
    let (head, tail) = bytes.split_at_mut(4);
    head.copy_from_slice(&page.to_le_bytes());
    if let Some((code, place)) = tail.split_first_mut() {
        *code = if kind == PointerMapKind::FirstOverflow { 3 } else { 4 };
        place.copy_from_slice(&parent.to_le_bytes());
    }
    key.hash(&bytes)
}

impl Chains {
    /// Follows a chain as far as the window goes; keeps its open end, or gives what is broken.
    pub(crate) fn start(
        &mut self,
        context: &Context<'_>,
        window: &Window<'_>,
        mut chain: OpenChain,
    ) -> Option<Draft> {
        let next_in = |page| window.page(page).and_then(|bytes| u32_at(bytes, 0));
        loop {
            match self.step(context, &mut chain, next_in) {
                Step::Done if chain.left == 0 => return None,
                Step::Done => {}
                Step::Broken(draft) => return Some(*draft),
                Step::Elsewhere => {
                    self.open.push(chain);
                    self.give_way(context);
                    return None;
                }
            }
        }
    }

    /// Puts what waits among the ends of all workers, when it takes too much memory.
    fn give_way(&mut self, context: &Context<'_>) {
        let bytes = self.open.len() * size_of::<OpenChain>() + self.runs.len() * size_of::<Run>();
        if bytes > context.run_bytes_max {
            let mut ends = context.ends.lock().unwrap_or_else(PoisonError::into_inner);
            let ends = ends.get_or_insert_with(|| Ends::new(context.page_count, context.end_bytes_max));
            self.move_to(ends);
        }
    }

    fn move_to(&mut self, ends: &mut Ends) {
        self.open.drain(..).for_each(|chain| ends.push_chain(chain));
        self.runs.drain(..).for_each(|run| ends.push_run(run));
    }

    /// Claims the next page of a chain, or ends it.
    fn step(
        &mut self,
        context: &Context<'_>,
        chain: &mut OpenChain,
        next_in: impl Fn(u32) -> Option<u32>,
    ) -> Step {
        let done = chain.page_count - chain.left;
        let broken = |found: String| {
            let expected = format!("a chain of {} overflow pages", chain.page_count);
            let draft = Draft::new(&rules::OVERFLOW, chain.page, expected, found);
            // The rest of the chain is lost, and no page without a use by itself.
            context.is_cut.store(true, Ordering::Relaxed);
            Step::Broken(Box::new(draft.slot(chain.slot as usize).tree(chain.tree as usize)))
        };
        if !context.map.is_allowed(chain.next) {
            let after = if done == 0 { "the cell".to_owned() } else { format!("page {}", chain.from) };
            return broken(format!("page {} after {done} pages, named by {after}", chain.next));
        }
        let Some(next) = next_in(chain.next) else { return Step::Elsewhere };
        if let Err(first) = context.map.claim(chain.next, Use::Overflow) {
            // A free page keeps its bytes until it is used again, so that the chain can be followed.
            if !context.map.take_from_free_list(chain.next) {
                context.is_cut.store(true, Ordering::Relaxed);
                let draft = cycle::leads_back(context, chain);
                return Step::Broken(Box::new(draft.unwrap_or_else(|| used_twice(context, chain, first))));
            }
            self.shared.push(used_twice(context, chain, first));
        }
        if context.geometry.auto_vacuum {
            let kind = if done == 0 { PointerMapKind::FirstOverflow } else { PointerMapKind::LaterOverflow };
            let hash = entry_hash(chain.next, kind, chain.from, &context.key);
            self.expected_entries.add(Side::Expected, hash);
        }
        chain.left -= 1;
        chain.from = chain.next;
        chain.next = next;
        if chain.left == 0 && next != 0 {
            let draft = Draft::new(
                &rules::OVERFLOW,
                chain.page,
                format!("a chain of {} overflow pages that ends with 0", chain.page_count),
                format!("the last page {} points to page {next}", chain.from),
            );
            return Step::Broken(Box::new(draft.slot(chain.slot as usize).tree(chain.tree as usize)));
        }
        Step::Done
    }

    /// Keeps the runs of the window: pages that still have no use.
    pub(crate) fn keep_runs(&mut self, context: &Context<'_>, window: &Window<'_>) {
        let mut current: Option<Run> = None;
        for index in 0..window.page_count() {
            let page = window.first_page + index;
            if context.map.use_of(page) != Use::None || page > context.page_count {
                self.runs.extend(current.take());
                continue;
            }
            let next = window.page(page).and_then(|bytes| u32_at(bytes, 0)).unwrap_or(0);
            match &mut current {
                Some(run) if run.next == page => {
                    run.length += 1;
                    run.next = next;
                }
                _ => {
                    self.runs.extend(current.take());
                    current = Some(Run { first: page, length: 1, next });
                }
            }
        }
        self.runs.extend(current);
        self.give_way(context);
    }

    /// Joins open ends and runs after the pass; gives what is broken.
    pub(crate) fn finish(
        &mut self,
        context: &Context<'_>,
        brake: &Brake,
        mut report: impl FnMut(Draft),
    ) -> Joined {
        let ends = context.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut ends) = ends else {
            let (open, runs) = (std::mem::take(&mut self.open), std::mem::take(&mut self.runs));
            let bytes = open.len() * size_of::<OpenChain>() + runs.len() * size_of::<Run>();
            let left = self.join(context, brake, (open, runs), |_| true, &mut report);
            debug_assert!(left.is_empty() || brake.is_hit(), "every page is available");
            self.shared.drain(..).for_each(report);
            return Joined { memory_bytes: bytes as u64, ..Joined::default() };
        };
        self.move_to(&mut ends);
        let mut joined = Joined { memory_bytes: ends.memory_bytes(), ..Joined::default() };
        if let Err(error) = self.join_ranges(context, brake, &mut ends, &mut report) {
            context.is_cut.store(true, Ordering::Relaxed);
            let reason = format!("could not read back ends of long values from a temporary file: {error}");
            joined.trouble = Some(reason);
        }
        joined.temporary_bytes = ends.temporary_bytes();
        self.shared.drain(..).for_each(report);
        joined
    }

    /// Joins what is in each range, until no chain waits in any.
    fn join_ranges(
        &mut self,
        context: &Context<'_>,
        brake: &Brake,
        ends: &mut Ends,
        report: &mut impl FnMut(Draft),
    ) -> io::Result<()> {
        loop {
            let mut is_over = true;
            // Ends: a chain that comes to a range claims a page there or stops.
            for range in 0..ends.range_count() {
                let open = ends.take_chains(range)?;
                if open.is_empty() {
                    continue;
                }
                is_over = false;
                let runs = ends.runs(range)?;
                let is_here = |page| ends.range_of(page) == range;
                let left = self.join(context, brake, (open, runs), is_here, report);
                left.into_iter().for_each(|chain| ends.push_chain(chain));
            }
            if is_over || brake.is_hit() {
                return Ok(());
            }
        }
    }

    /// Follows chains as long as they stay among pages whose runs are given; returns those that leave.
    fn join(
        &mut self,
        context: &Context<'_>,
        brake: &Brake,
        (mut open, mut runs): (Vec<OpenChain>, Vec<Run>),
        is_here: impl Fn(u32) -> bool,
        report: &mut impl FnMut(Draft),
    ) -> Vec<OpenChain> {
        open.sort_unstable();
        runs.sort_unstable_by_key(|run| run.first);
        let run_with = |page: u32| {
            let after = runs.partition_point(|run| run.first <= page);
            runs.get(after.checked_sub(1)?).copied().filter(|run| run.has(page))
        };
        let (mut left, mut bytes) = (Vec::new(), Vec::new());
        for mut chain in open {
            let mut inside: Option<Run> = None;
            // Ends: each round claims a page that nothing had claimed, or stops.
            while chain.left > 0 {
                if brake.is_over() {
                    return left;
                }
                let page = chain.next;
                inside = inside.filter(|run| run.has(page));
                if inside.is_none() && !is_here(page) {
                    left.push(chain);
                    break;
                }
                inside = inside.or_else(|| run_with(page));
                let next = match inside {
                    Some(run) if page + 1 < run.first + run.length => Some(page + 1),
                    Some(run) => Some(run.next),
                    None => context.reader.read(page, &mut bytes).ok().and_then(|()| u32_at(&bytes, 0)),
                };
                match self.step(context, &mut chain, |_| next) {
                    Step::Done => {}
                    Step::Broken(draft) => {
                        report(*draft);
                        break;
                    }
                    // Cannot be read: the pass has reported the page.
                    Step::Elsewhere => break,
                }
            }
        }
        left
    }
}

/// What it took to join ends.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pub(crate) memory_bytes: u64,
    pub(crate) temporary_bytes: u64,
    /// Why ends are missing, when they are.
    pub(crate) trouble: Option<String>,
}

/// Whether the chain of a cell is whole when everything is read anew: its cell's page and all its pages.
fn is_whole(context: &Context<'_>, brake: &Brake, page: u32, slot: u32) -> bool {
    let mut bytes = Vec::new();
    let Ok(()) = context.reader.read(page, &mut bytes) else { return false };
    let header_offset = if page == 1 { 100 } else { 0 };
    let Some(view) = BtreePage::new(&bytes, header_offset, context.geometry).0 else { return false };
    let (cell, damage) = view.cell(slot as usize);
    let count = context.geometry.overflow_page_count(cell.payload_bytes, cell.local.len() as u64);
    let mut next = cell.overflow;
    for _ in 0..count.min(u64::from(context.page_count)) {
        if brake.is_over() || !context.map.is_allowed(next) || context.reader.read(next, &mut bytes).is_err()
        {
            return false;
        }
        next = u32_at(&bytes, 0).unwrap_or(0);
    }
    damage.is_none() && next == 0 && count <= u64::from(context.page_count)
}

/// Whether an accusation of a chain holds no more when the chain is read again: then a page was read otherwise before.
pub(crate) fn is_refuted(context: &Context<'_>, brake: &Brake, draft: &Draft) -> bool {
    match (draft.page, draft.slot) {
        (Some(page), Some(slot)) if draft.rule.id == rules::OVERFLOW.id => {
            is_whole(context, brake, page, u32::try_from(slot).unwrap_or(u32::MAX))
        }
        _ => false,
    }
}

fn used_twice(context: &Context<'_>, chain: &OpenChain, first: Use) -> Draft {
    let expected = format!("page {} used once", chain.next);
    let owner = use_text(context, chain.next, first);
    let found = format!("it is {owner} and also an overflow page of page {} slot {}", chain.page, chain.slot);
    Draft::new(&rules::PAGE_USED_TWICE, chain.page, expected, found)
        .slot(chain.slot as usize)
        .tree(chain.tree as usize)
}

/// What a page is used for, in words.
pub(crate) fn use_text(context: &Context<'_>, page: u32, what: Use) -> String {
    let owner = context.map.owner(page);
    let tree = owner.map_or("", |owner| context.tree_name(owner.tree as usize));
    match what {
        Use::None => format!("page {page}, past the end of the file"),
        Use::Lock => "the lock-byte page".to_owned(),
        Use::PointerMap => "a pointer map".to_owned(),
        Use::FreeTrunk | Use::FreeLeaf => "on the freelist".to_owned(),
        Use::Overflow => "an overflow page of another payload".to_owned(),
        Use::Leaf => format!("a page of {tree} below page {}", owner.map_or(0, |owner| owner.parent)),
        Use::Node => format!("a page of {tree}"),
    }
}
