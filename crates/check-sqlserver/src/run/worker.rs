//! One page after the other: judged, and its facts stated. All state is the worker's own and merges by addition.

use std::collections::{HashMap, HashSet};

use formats::sqlserver::{
    Boot, Damage, ExtentMap, FileHeader, Header, Iam, PAGE_BYTES, PageId, PageKind, audit_protection,
    is_whole, needs_restore, restore,
};
use results::check::{CheckLevel, Confidence};

use crate::finding::Draft;
use crate::maps::Use;
use crate::matching::facts::{Facts, Quick};
use crate::page::keys::{Bound, Ends};
use crate::rules;
use crate::run::context::Context;
use check::findings::Findings;

/// Why pages are not judged.
const FREE: &str = "not in use";
const NO_PLACE: &str = "not in use: no page of their extent has an owner";
const NO_MAP: &str = "blank, and their allocation map is missing or damaged";
const ONLY_READ: &str = "level read verifies no contents";
const CHANGED: &str = "changed while they were read";
/// Reasons for which a page has nothing to verify.
pub(crate) const NOT_IN_USE: [&str; 2] = [FREE, NO_PLACE];

/// What one worker has found.
pub(crate) struct Worker<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) findings: Findings,
    pub(crate) facts: Facts,
    /// Pages judged.
    pub(crate) judged_count: u64,
    pub(crate) skipped: HashMap<&'static str, u64>,
    pub(crate) unreadable_count: u64,
    pub(crate) extra_reads: u64,
    /// Judged pages whose own bytes break a rule.
    pub(crate) damaged: HashSet<PageId>,
    /// Pages that findings name whose cause is elsewhere.
    pub(crate) affected: HashSet<PageId>,
    /// Pages whose contents were judged.
    pub(crate) inside_count: u64,
    /// Rows and index entries by allocation unit; of level full only.
    pub(crate) records: HashMap<u32, u64, Quick>,
    /// Allocation units with findings.
    pub(crate) damaged_units: HashSet<u32>,
    /// Pages that were changed after the last checkpoint.
    pub(crate) newer_count: u64,
    pub(crate) bounds: Vec<Bound>,
    pub(crate) ends: Vec<Ends>,
    pub(crate) order_not_known: HashSet<u32>,
    pub(crate) row_count: u64,
    pub(crate) entry_count: u64,
    /// Findings that concern a page and the map.
    pub(crate) between: Vec<Draft>,
    /// Pages by protection: none, torn, checksum.
    pub(crate) protections: [u64; 3],
}

impl<'a> Worker<'a> {
    pub(crate) fn new(context: &'a Context<'a>, facts: Facts) -> Self {
        Self {
            context,
            findings: Findings::new(&crate::RULES, context.findings_per_rule_max),
            facts,
            judged_count: 0,
            skipped: HashMap::new(),
            unreadable_count: 0,
            extra_reads: 0,
            damaged: HashSet::new(),
            affected: HashSet::new(),
            inside_count: 0,
            records: HashMap::default(),
            damaged_units: HashSet::new(),
            newer_count: 0,
            bounds: Vec::new(),
            ends: Vec::new(),
            order_not_known: HashSet::new(),
            row_count: 0,
            entry_count: 0,
            between: Vec::new(),
            protections: [0; 3],
        }
    }

    /// Adds what another worker found.
    pub(crate) fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.facts.merge(other.facts);
        self.judged_count += other.judged_count;
        for (why, count) in other.skipped {
            *self.skipped.entry(why).or_default() += count;
        }
        self.unreadable_count += other.unreadable_count;
        self.extra_reads += other.extra_reads;
        self.damaged.extend(other.damaged);
        self.affected.extend(other.affected);
        self.inside_count += other.inside_count;
        self.add_records(other.records);
        self.damaged_units.extend(other.damaged_units);
        self.newer_count += other.newer_count;
        add_all(&mut self.bounds, other.bounds);
        add_all(&mut self.ends, other.ends);
        self.order_not_known.extend(other.order_not_known);
        add_all(&mut self.between, other.between);
        self.row_count += other.row_count;
        self.entry_count += other.entry_count;
        for (mine, theirs) in self.protections.iter_mut().zip(other.protections) {
            *mine += theirs;
        }
    }

    /// Adds numbers of rows and index entries.
    pub(crate) fn add_records(&mut self, records: HashMap<u32, u64, Quick>) {
        for (unit, count) in records {
            *self.records.entry(unit).or_default() += count;
        }
    }

    /// Looks at a page as it was read.
    pub(crate) fn look(&mut self, page: Option<PageId>, raw: &[u8]) {
        let skip = |worker: &mut Self, why| *worker.skipped.entry(why).or_default() += 1;
        if self.context.level == CheckLevel::Read {
            return skip(self, ONLY_READ);
        }
        let Some(page) = page else { return skip(self, NO_PLACE) };
        let usage = if self.context.is_raw { Use::Unknown } else { self.context.maps.use_of(page) };
        if usage == Use::Free {
            return skip(self, FREE);
        }
        let is_blank = raw.iter().all(|byte| *byte == 0);
        if is_blank && usage == Use::Unknown {
            return skip(self, NO_MAP);
        }
        if !self.context.is_first_batch() {
            self.state_facts(page, usage, raw);
            return;
        }
        let drafts = self.judge(page, usage, raw, is_blank);
        if drafts.is_empty() {
            self.judged_count += 1;
            return;
        }
        // Accused only when a second reading brings the same bytes.
        let mut again = [0; PAGE_BYTES];
        self.extra_reads += 1;
        if self.context.source.read_raw(page, &mut again).is_ok() && again != raw {
            return skip(self, CHANGED);
        }
        self.judged_count += 1;
        self.damaged.insert(page);
        if let Use::Unit(unit) | Use::Iam(unit) = usage {
            self.damaged_units.insert(unit);
        }
        for draft in drafts {
            self.findings.push(self.context.finding(draft));
        }
    }

    /// Pages that follow each other and cannot be read: what lacks their rows or entries is a consequence.
    pub(crate) fn unreadable(
        &mut self,
        pages: impl Iterator<Item = Option<PageId>>,
        length_bytes: u64,
        error: &str,
    ) {
        let expected = format!("{length_bytes} readable bytes");
        let mut draft = Draft::of_database(&rules::UNREADABLE, expected, error.to_owned());
        for (index, page) in pages.enumerate() {
            self.unreadable_count += 1;
            draft.page = if index == 0 { page } else { draft.page };
            if let Some(Use::Unit(unit) | Use::Iam(unit)) = page.map(|page| self.context.maps.use_of(page)) {
                self.damaged_units.insert(unit);
                draft.unit = draft.unit.or(Some(unit));
            }
        }
        // Later batches read the page again for its facts only.
        if self.context.is_first_batch() {
            self.findings.push(self.context.finding(draft));
        }
    }

    fn judge(&mut self, page: PageId, usage: Use, raw: &[u8], is_blank: bool) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let unit = match usage {
            Use::Unit(unit) | Use::Iam(unit) => Some(unit),
            _ => None,
        };
        let header = Header::new(raw);
        if is_blank {
            let expected = "a page with a valid header, since it is in use".to_owned();
            drafts.push(Draft::new(&rules::PAGE_BLANK, page, expected, "all zeros".to_owned()));
            self.inside_count += 1;
        } else {
            self.judge_header(page, usage, raw, &header, &mut drafts);
        }
        let is_sound = drafts.is_empty();
        if self.context.level >= CheckLevel::Structure && !is_blank {
            self.look_inside(page, usage, &header, raw, &mut drafts);
        }
        if !is_sound {
            // Whatever else is odd in a page whose bytes changed may follow from that.
            drafts.iter_mut().skip(1).for_each(|draft| draft.confidence = Confidence::Consequence);
        }
        let is_version_known = self.context.is_version_known;
        for draft in &mut drafts {
            let is_protection = [&rules::PAGE_CHECKSUM, &rules::PAGE_TORN].contains(&draft.rule);
            if !is_version_known && !is_protection {
                draft.confidence = Confidence::Possible;
            }
            draft.unit = draft.unit.or(unit);
            if usage == Use::Unknown {
                draft.confidence = Confidence::Possible;
            }
        }
        drafts
    }

    /// Looks into a page; one with torn page signatures in a copy, with the bits that they displaced put back.
    fn look_inside(
        &mut self,
        page: PageId,
        usage: Use,
        header: &Header,
        raw: &[u8],
        drafts: &mut Vec<Draft>,
    ) {
        if !needs_restore(header) || !is_whole(raw) {
            return self.judge_inside(page, usage, header, raw, drafts);
        }
        let mut restored = [0; PAGE_BYTES];
        restored.copy_from_slice(raw);
        restore(&mut restored);
        self.judge_inside(page, usage, header, &restored, drafts);
    }

    fn judge_header(
        &mut self,
        page: PageId,
        usage: Use,
        raw: &[u8],
        header: &Header,
        drafts: &mut Vec<Draft>,
    ) {
        let protection = formats::sqlserver::Protection::of(header) as usize;
        if let Some(count) = self.protections.get_mut(protection) {
            *count += 1;
        }
        let mut report = |damage: Damage| drafts.push(of_damage(page, damage));
        let mut torn_count = 0;
        audit_protection(raw, header, |damage| {
            torn_count += 1;
            // One finding for all sectors.
            if torn_count == 1 {
                report(damage);
            }
        });
        header.audit(&mut report);
        if header.page != page {
            let expected = format!("page {page}");
            let mut draft = Draft::new(&rules::PAGE_ID, page, expected, format!("page {}", header.page));
            draft.offset = Some(32);
            drafts.push(draft);
        }
        if let Use::Fixed(kind) = usage {
            judge_fixed(page, kind, raw, header, drafts);
        }
        self.look_at_age(header);
    }

    /// Counts a page that was changed after the last checkpoint.
    fn look_at_age(&mut self, header: &Header) {
        let is_newer = self.context.checkpoint.is_some_and(|checkpoint| header.lsn > checkpoint);
        self.newer_count += u64::from(is_newer);
    }

    /// The facts of a page again, for a later batch or to name them.
    pub(crate) fn state_facts(&mut self, page: PageId, usage: Use, raw: &[u8]) {
        let Use::Unit(unit) = usage else { return };
        let is_active = self
            .context
            .plan
            .units
            .get(unit as usize)
            .is_some_and(|unit| self.context.is_active(unit.object));
        if self.context.level < CheckLevel::Structure || !is_active {
            return;
        }
        let header = Header::new(raw);
        self.look_at_age(&header);
        self.look_inside(page, usage, &header, raw, &mut Vec::new());
    }
}

/// Moves the shorter of two lists; their order does not matter.
fn add_all<T>(mine: &mut Vec<T>, mut theirs: Vec<T>) {
    if mine.len() < theirs.len() {
        std::mem::swap(mine, &mut theirs);
    }
    mine.append(&mut theirs);
}

/// What is due at a fixed place.
fn judge_fixed(page: PageId, kind: PageKind, raw: &[u8], header: &Header, drafts: &mut Vec<Draft>) {
    let rule = match kind {
        PageKind::FileHeader => &rules::FILE_HEADER,
        PageKind::Boot => &rules::BOOT_PAGE,
        _ => &rules::MAP_PAGE,
    };
    if header.kind != kind {
        let expected = format!("a page of kind {}", kind.name());
        drafts.push(Draft::new(rule, page, expected, format!("kind {}", header.kind.name())));
        return;
    }
    let mut restored = raw.to_vec();
    restore(&mut restored);
    let outcome = match kind {
        PageKind::FileHeader => FileHeader::new(&restored).map(drop),
        PageKind::Boot => Boot::new(&restored).map(drop),
        PageKind::Pfs => Ok(()),
        kind => ExtentMap::new(&restored, kind).map(drop),
    };
    if let Err(damage) = outcome {
        drafts.push(Draft { rule, ..of_damage(page, damage) });
    }
}

/// A finding of what a view of a page saw.
pub(crate) fn of_damage(page: PageId, damage: Damage) -> Draft {
    let rule = rules::of(damage.fault);
    let mut draft = Draft::new(rule, page, damage.expected_text(), damage.found_text());
    draft.slot = damage.slot.map(u64::from);
    draft.offset = Some(damage.offset_bytes.into());
    draft
}

/// Whether an IAM page can be one; who owns it was looked at with its chain.
pub(crate) fn judge_iam(page: PageId, bytes: &[u8], drafts: &mut Vec<Draft>) {
    if let Err(damage) = Iam::new(bytes) {
        drafts.push(Draft { rule: &rules::MAP_PAGE, ..of_damage(page, damage) });
    }
}

/// Whether pages of a kind have records and slots.
pub(crate) fn has_records(kind: PageKind) -> bool {
    matches!(kind, PageKind::Data | PageKind::Index | PageKind::TextMix | PageKind::TextTree)
}
