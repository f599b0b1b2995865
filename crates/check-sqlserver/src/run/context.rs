//! What all workers of a pass look at.

use check::matching::hash::Key;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use formats::sqlserver::{Lsn, PageId};
use results::check::{CheckLevel, Finding};

use crate::finding::Draft;
use crate::maps::Maps;
use crate::plan::Plan;
use crate::source::Source;

/// What all workers of a pass look at; shared, and changed by none but two counters.
pub(crate) struct Context<'a> {
    pub(crate) source: &'a Source,
    pub(crate) maps: &'a Maps,
    pub(crate) plan: &'a Plan,
    pub(crate) level: CheckLevel,
    /// Whether the layout of the database's version is known.
    pub(crate) is_version_known: bool,
    /// Key of the sums.
    pub(crate) key: Key,
    pub(crate) findings_per_rule_max: usize,
    /// Objects whose facts are summed up now.
    pub(crate) objects: std::ops::Range<u32>,
    /// Whether each page is judged alone.
    pub(crate) is_raw: bool,
    /// Log position of the last checkpoint.
    pub(crate) checkpoint: Option<Lsn>,
    /// Bytes that keys may still take.
    pub(crate) key_bytes_left: AtomicU64,
    /// Whether keys were left out for want of memory.
    pub(crate) keys_are_cut: AtomicBool,
}

impl Context<'_> {
    /// Whether the facts of an object are summed up now.
    pub(crate) fn is_active(&self, object: u32) -> bool {
        self.objects.contains(&object)
    }

    /// Whether pages are judged now; later batches only sum up.
    pub(crate) fn is_first_batch(&self) -> bool {
        self.objects.start == 0
    }

    /// Makes a finding with names.
    pub(crate) fn finding(&self, draft: Draft) -> Finding {
        let first_file = self.source.files.first().map_or("", |file| &file.shown);
        let file = draft.page.map_or(first_file, |page| self.source.shown(page)).to_owned();
        draft.into_finding(&file, |unit| self.plan.name(unit))
    }

    /// Takes memory for keys; false when there is none left.
    pub(crate) fn take_key_bytes(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        // Nothing else is published through this number: relaxed suffices.
        let is_taken = self.key_bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if !is_taken {
            self.keys_are_cut.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// The position of a page in texts.
    pub(crate) fn is_root(&self, unit: u32, page: PageId) -> bool {
        self.plan.units.get(unit as usize).is_some_and(|unit| unit.root == page)
    }
}
