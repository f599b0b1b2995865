//! What all workers of one check share, and how a finding is written down.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use formats::sqlite::{Encoding, Field, Geometry};
use results::check::{CheckLevel, Confidence, Finding};

use check::rule::Rule;

use crate::causes::{Loss, Losses, Rowids};
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
    /// Key of the sums.
    pub(crate) key: u64,
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

/// A finding before it is certain: where, which rule, expected, found.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) rule: &'static Rule,
    pub(crate) page: Option<u32>,
    pub(crate) slot: Option<u64>,
    pub(crate) offset_bytes: Option<u64>,
    pub(crate) tree: Option<usize>,
    /// The object concerned, where it is none of the trees.
    pub(crate) object: Option<String>,
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) confidence: Confidence,
    /// What to do in this state, where the rule's own advice does not fit.
    pub(crate) next_step: Option<String>,
    /// The key of the row concerned.
    pub(crate) row: Option<String>,
    /// The rows of the tree that are lost by what was found.
    pub(crate) loses: Option<Rowids>,
}

impl Draft {
    pub(crate) fn new(
        rule: &'static Rule,
        page: u32,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            page: Some(page),
            slot: None,
            offset_bytes: None,
            tree: None,
            object: None,
            expected: expected.into(),
            found: found.into(),
            confidence: Confidence::Certain,
            next_step: None,
            row: None,
            loses: None,
        }
    }

    pub(crate) fn of_file(
        rule: &'static Rule,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { page: None, ..Self::new(rule, 0, expected, found) }
    }

    pub(crate) fn slot(self, slot: usize) -> Self {
        Self { slot: Some(slot as u64), ..self }
    }

    pub(crate) fn tree(self, tree: usize) -> Self {
        Self { tree: Some(tree), ..self }
    }

    pub(crate) fn confidence(self, confidence: Confidence) -> Self {
        Self { confidence, ..self }
    }

    pub(crate) fn loses(self, rowids: Rowids) -> Self {
        Self { loses: Some(rowids), ..self }
    }

    pub(crate) fn next_step(self, next_step: impl Into<String>) -> Self {
        Self { next_step: Some(next_step.into()), ..self }
    }

    pub(crate) fn into_finding(self, file: &str, plans: &Plans) -> Finding {
        Finding {
            file: file.to_owned(),
            page: self.page.map(u64::from),
            slot: self.slot,
            offset_bytes: self.offset_bytes,
            rule: self.rule.id.to_owned(),
            engine: "sqlite".to_owned(),
            object: self.object.or_else(|| Some(plans.trees.get(self.tree?)?.name.clone())),
            promise: self.rule.promise.to_owned(),
            expected: self.expected,
            found: self.found,
            confidence: self.confidence,
            next_step: self.next_step.unwrap_or_else(|| self.rule.next_step.to_owned()),
            row: self.row,
            messages: None,
        }
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
