//! What all workers of one check share, and how a finding is written down.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use formats::sqlite::{Encoding, Field, Geometry};
use results::check::{CheckLevel, Finding};

use check::matching::hash::Key;

use crate::causes::{Loss, Losses};
use crate::finding::Draft;
use crate::map::PageMap;
use crate::map::ends::Ends;
use crate::plan::Plans;
use crate::rules;
use crate::source::reader::PageReader;

/// Read by all workers; the sets in it are written only where something is wrong.
pub(crate) struct Context<'a> {
    pub(crate) file: String,
    pub(crate) level: CheckLevel,
    pub(crate) geometry: Geometry,
    pub(crate) encoding: Encoding,
    /// The version that wrote the file last, by the header.
    pub(crate) library_version: u32,
    pub(crate) page_count: u32,
    pub(crate) reader: &'a PageReader,
    pub(crate) map: &'a PageMap,
    pub(crate) plans: &'a Plans,
    /// Key of the sums, and what it was made from.
    pub(crate) key: Key,
    pub(crate) seed: u64,
    pub(crate) findings_per_rule_max: usize,
    /// Memory of each worker for ends of long values, in bytes.
    pub(crate) run_bytes_max: usize,
    /// Memory for those of all workers that did not fit.
    pub(crate) end_bytes_max: u64,
    /// Ends of long values that workers had no memory for.
    pub(crate) ends: Mutex<Option<Ends>>,
    /// Whether trees or lists lost a branch, so that pages may seem to have no use.
    pub(crate) is_cut: AtomicBool,
    pub(crate) damaged_pages: PageSet,
    /// Pages that findings name whose cause is elsewhere.
    pub(crate) affected_pages: PageSet,
    /// Trees with findings about their structure.
    pub(crate) damaged_trees: PageSet,
    /// Rows that findings lose.
    pub(crate) losses: Mutex<Losses>,
    /// Whether pages end with a checksum.
    pub(crate) has_checksums: bool,
    /// Pages that the pass could not read.
    pub(crate) unreadable_count: AtomicU64,
    /// Whether the schema format is one without the record types 8 and 9.
    pub(crate) is_older_format: bool,
    /// Values of these types in a file of such a format.
    pub(crate) boolean_count: AtomicU64,
}

/// Numbers in a block of a [`PageSet`].
const BLOCK_BITS: usize = 1 << 15;

/// A set of pages or trees: one bit each, in blocks that are made when something is put into them.
#[derive(Debug)]
pub(crate) struct PageSet {
    blocks: Vec<OnceLock<Box<[AtomicU64]>>>,
}

impl PageSet {
    /// Makes an empty set of numbers up to `last`.
    pub(crate) fn new(last: usize) -> Self {
        Self { blocks: (0..=last / BLOCK_BITS).map(|_| OnceLock::new()).collect() }
    }

    pub(crate) fn insert(&self, number: usize) {
        let Some(block) = self.blocks.get(number / BLOCK_BITS) else { return };
        let words = block.get_or_init(|| (0..BLOCK_BITS / 64).map(|_| AtomicU64::new(0)).collect());
        if let Some(word) = words.get(number % BLOCK_BITS / 64) {
            word.fetch_or(1 << (number % 64), Ordering::Relaxed);
        }
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        let words = self.blocks.get(number / BLOCK_BITS).and_then(OnceLock::get);
        let word = words.and_then(|words| words.get(number % BLOCK_BITS / 64));
        word.is_some_and(|word| word.load(Ordering::Relaxed) & 1 << (number % 64) != 0)
    }

    pub(crate) fn count(&self) -> u64 {
        let words = self.blocks.iter().filter_map(OnceLock::get).flatten();
        words.map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }
}

impl Context<'_> {
    /// Makes a finding of a draft and marks its page and tree.
    pub(crate) fn commit(&self, draft: Draft) -> Finding {
        if let Some(page) = draft.page.filter(|page| (1..=self.page_count).contains(page)) {
            let in_page = [&rules::HEADER, &rules::SCHEMA, &rules::FREE_LIST, &rules::POINTER_MAP];
            let is_own =
                draft.rule.role.breaks_own_bytes() || in_page.iter().any(|rule| rule.id == draft.rule.id);
            let pages = if is_own { &self.damaged_pages } else { &self.affected_pages };
            pages.insert(page as usize);
            if let (Some(tree), Some(rowids)) = (draft.tree, draft.loses) {
                self.add_loss(Loss { tree, page, rule: draft.rule.id, rowids });
            }
        }
        if let Some(tree) = draft.tree.filter(|_| draft.rule.level < CheckLevel::Full) {
            self.damaged_trees.insert(tree);
        }
        draft.into_finding(&self.file, self.plans)
    }

    pub(crate) fn add_loss(&self, loss: Loss) {
        self.losses().add(loss);
    }

    /// The rows that findings lose.
    pub(crate) fn losses(&self) -> MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a page could not be read.
    pub(crate) fn has_unreadable(&self) -> bool {
        self.unreadable_count.load(Ordering::Relaxed) > 0
    }

    /// Counts values of the record types that an older schema format does not have.
    #[inline]
    pub(crate) fn count_booleans(&self, fields: &[Field], is_first_pass: bool) {
        if !self.is_older_format || !is_first_pass {
            return;
        }
        let count = fields.iter().filter(|field| matches!(field.serial_type, 8 | 9)).count();
        self.boolean_count.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn tree_name(&self, tree: usize) -> &str {
        self.plans.trees.get(tree).map_or("", |plan| plan.name.as_str())
    }
}
