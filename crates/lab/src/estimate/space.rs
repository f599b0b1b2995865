//! The disk space of a study at its peak, object by object: what the engine is made of, tables and indexes, the WAL,
//! copies that a backup makes, and the file of a ceiling.
//!
//! Where pages are filled by random keys the usual 69 % are taken (Yao 1978), or what was measured.

use results::model::Cell;

use super::own_workload;
use crate::engine::SpaceCosts;
use crate::spec::Resolved;
use crate::work::{Amount, Placement, WarmUp, Work, Workload};

/// A page of the engines under test.
pub const PAGE_BYTES: u64 = 8192;
/// A row of 160 bytes in pages 69 % full: 37 GB for the published 160 million rows. A heap and its index of the key come
/// to the same.
pub const RANDOM_ROW_BYTES: u64 = 232;
/// Bytes of an index entry: a number and what leads to the row, in pages 69 % full.
pub const SECONDARY_BYTES: u64 = 45;

/// A row of 1048 bytes in a heap: seven to a page.
// OBSERVED: 50,000 rows on SQLite 3.51 and PostgreSQL 18.6, sizes of the files
pub fn heap_row_bytes() -> u64 {
    PAGE_BYTES.div_ceil(7)
}

/// Bytes that a study needs, at the peak of each directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Of each data directory, in the order of the layout; one for the target's own place without any.
    pub data: Vec<u64>,
    /// Of the log directory; 0 where the log is with the data.
    pub log: u64,
    /// Of all directories together, at their common peak.
    pub total: u64,
    /// Rows of a run by time are not known: the bytes are the most that could be, not those expected.
    pub is_bound: bool,
    /// What the scripts of an own workload add is not known: the bytes are those of its loads alone.
    pub is_floor: bool,
}

impl Space {
    /// The larger of two in every place.
    fn or(mut self, other: &Self) -> Self {
        self.data.iter_mut().zip(&other.data).for_each(|(one, other)| *one = (*one).max(*other));
        Self {
            log: self.log.max(other.log),
            total: self.total.max(other.total),
            is_bound: self.is_bound || other.is_bound,
            is_floor: self.is_floor || other.is_floor,
            data: self.data,
        }
    }

    /// How the bytes compare with what will be used: `about`, `at most` or `at least`.
    pub fn most(&self) -> &'static str {
        match (self.is_bound, self.is_floor) {
            (true, _) => "at most",
            (false, true) => "at least",
            (false, false) => "about",
        }
    }

    /// Adds bytes in one data directory.
    fn add(&mut self, place: usize, bytes: u64) {
        if let Some(data) = self.data.get_mut(place) {
            *data = data.saturating_add(bytes);
        }
    }

    /// Divides bytes among the first `places` data directories.
    fn share(&mut self, places: usize, bytes: u64) {
        let places = places.clamp(1, self.data.len().max(1));
        (0..places).for_each(|place| self.add(place, bytes.div_ceil(places as u64)));
    }
}

/// Rows that a run bounded by time may do, and whether that is the most or what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimedRows {
    pub(super) rows: u64,
    pub(super) is_bound: bool,
}

/// Bytes that a study needs. `rows_in_time` tells how many rows a run of a cell that is bounded by time may do.
pub(super) fn space(resolved: &Resolved, rows_in_time: &dyn Fn(&Cell, &Work) -> TimedRows) -> Space {
    let engine = resolved.engine;
    let works: Vec<(Cell, Work)> =
        resolved.cells().into_iter().map(|cell| (cell.clone(), resolved.work(&cell, 0))).collect();
    let mut kept = Kept::of(&works, &engine.space);
    let loads = own_workload::loads(resolved);
    kept.bytes = loads.iter().fold(kept.bytes, |sum, own| sum.saturating_add(own_workload::bytes(own)));
    // An engine without a layout has one directory, whatever the layout says.
    let count = if engine.has_layout { resolved.layout.data.len().max(1) } else { 1 };
    let empty = Space { data: vec![0; count], ..Space::default() };
    let has_log = engine.has_layout && resolved.layout.log.is_some();
    works
        .iter()
        .map(|(cell, work)| {
            Peak { work, costs: &engine.space, kept: &kept, has_log }
                .space(&empty, &|work| rows_in_time(cell, work))
        })
        .fold(empty.clone(), |one, other| one.or(&other))
}

/// Tables that stay from run to run.
struct Kept {
    bytes: u64,
}

impl Kept {
    /// One shape of the tables after the other where a task has the others removed, else all shapes.
    fn of(works: &[(Cell, Work)], costs: &SpaceCosts) -> Self {
        let works = || works.iter().map(|(_, work)| work);
        let mut shapes: Vec<&Work> = Vec::new();
        for work in works().filter(|work| work.workload.has_fixtures()) {
            let is_same = |other: &&&Work| {
                let (one, other) = (&work.subject, &other.subject);
                (one.storage, one.table_rows, one.objects.max(1))
                    == (other.storage, other.table_rows, other.objects.max(1))
            };
            if !shapes.iter().any(|other| is_same(&other)) {
                shapes.push(work);
            }
        }
        let all = shapes.iter().map(|work| fixture_bytes(work, costs));
        let is_one_at_a_time = costs.keeps_one_shape && works().any(|work| work.workload.is_task());
        let bytes = if is_one_at_a_time { all.max().unwrap_or(0) } else { all.fold(0, u64::saturating_add) };
        Self { bytes }
    }
}

/// One run, with all that is there meanwhile.
struct Peak<'a> {
    work: &'a Work,
    costs: &'a SpaceCosts,
    kept: &'a Kept,
    /// Is there a directory for the log alone?
    has_log: bool,
}

impl Peak<'_> {
    fn space(&self, empty: &Space, rows_in_time: &dyn Fn(&Work) -> TimedRows) -> Space {
        let mut space = empty.clone();
        let Self { work, costs, .. } = *self;
        space.add(0, costs.base_bytes);
        if !costs.keeps_rows || work.workload == Workload::RawRead {
            let raw = if work.workload == Workload::RawRead { work.subject.raw.file_bytes } else { 0 };
            space.add(0, raw);
            self.add_wal(&mut space, costs.idle_log_bytes);
        } else if let Some(own) = &work.own {
            let loaded = own_workload::bytes(own);
            // The kept states, and the copy of one in which the run works.
            self.add_data(&mut space, self.kept.bytes.saturating_add(loaded));
            self.add_wal(&mut space, (costs.log_bytes)(0, loaded, work).max(costs.idle_log_bytes));
            space.is_floor = true;
        } else if work.workload.has_fixtures() {
            self.add_fixtures(&mut space);
        } else if work.workload.adds_rows() {
            self.add_rows(&mut space, rows_in_time);
        } else {
            self.add_wal(&mut space, costs.idle_log_bytes);
        }
        space.total = space.data.iter().fold(space.log, |sum, bytes| sum.saturating_add(*bytes));
        space
    }

    /// Tables that runs read, and the copies that a backup makes of them.
    fn add_fixtures(&self, space: &mut Space) {
        let wal = (self.costs.fixture_log_bytes)(self.work);
        self.add_data(space, self.kept.bytes);
        self.add_wal(space, wal);
        if self.work.workload == Workload::Backup {
            // The copy, and what is restored from it.
            let all = self.costs.base_bytes.saturating_add(self.kept.bytes).saturating_add(wal);
            let copied = if self.costs.copies_all { all } else { fixture_bytes(self.work, self.costs) };
            space.add(0, copied.saturating_mul(2));
        }
    }

    /// What a run inserts; before it, the file of a ceiling takes the place of its rows.
    fn add_rows(&self, space: &mut Space, rows_in_time: &dyn Fn(&Work) -> TimedRows) {
        let Self { work, costs, .. } = *self;
        let TimedRows { rows, is_bound } = rows_of(work, rows_in_time);
        let data = rows.saturating_mul(row_bytes(work, costs));
        let wal = (costs.log_bytes)(rows, data, work);
        let ceiling = file_bytes(data_bytes(work, costs));
        space.is_bound |= is_bound;
        let mut before = space.clone();
        self.add_data(&mut before, ceiling);
        self.add_data(space, data);
        self.add_wal(space, wal);
        *space = space.clone().or(&before);
    }

    fn add_data(&self, space: &mut Space, bytes: u64) {
        if self.has_log && self.work.placement == Placement::DataApart {
            space.log = space.log.saturating_add(bytes);
        } else {
            space.share(self.work.data_places(space.data.len()), bytes);
        }
    }

    fn add_wal(&self, space: &mut Space, bytes: u64) {
        if self.has_log && self.work.placement == Placement::LogApart {
            space.log = space.log.saturating_add(bytes);
        } else {
            space.add(0, bytes);
        }
    }
}

/// Bytes of the table that a run fills, with its indexes; `None` where time bounds it.
pub(crate) fn data_bytes(work: &Work, costs: &SpaceCosts) -> Option<u64> {
    match work.amount {
        // How large the rows of the user are nobody knows before.
        Amount::Rows(_) if work.own.is_some() => None,
        Amount::Rows(rows) => Some(rows.saturating_mul(row_bytes(work, costs))),
        Amount::Time(_) => None,
    }
}

/// Rows of the measured part and of its warm-up.
fn rows_of(work: &Work, rows_in_time: &dyn Fn(&Work) -> TimedRows) -> TimedRows {
    let in_time = |time: std::time::Duration| {
        let timed = Work { amount: Amount::Time(time), ..work.clone() };
        rows_in_time(&timed)
    };
    let known = |rows| TimedRows { rows, is_bound: false };
    let measured = match work.amount {
        Amount::Rows(rows) => known(rows),
        Amount::Time(time) => in_time(time),
    };
    let warm_up = match work.warm_up {
        WarmUp::None => known(0),
        WarmUp::Rows(rows) => known(rows),
        WarmUp::Time(time) => in_time(time),
    };
    let is_bound = measured.is_bound || warm_up.is_bound;
    TimedRows { rows: measured.rows.saturating_add(warm_up.rows), is_bound }
}

/// Bytes of a row with its entries in all indexes.
fn row_bytes(work: &Work, costs: &SpaceCosts) -> u64 {
    let row = match work.workload {
        // A page, and an entry of the key's own index or of the inner pages.
        Workload::Populate => PAGE_BYTES + 32,
        Workload::RandomInsert => RANDOM_ROW_BYTES,
        Workload::GuidPopulate => {
            let source = if work.is_one_load() { 45 } else { 0 };
            (costs.guid_row_bytes)(work.subject.storage) + source
        }
        _ => 0,
    };
    row + u64::from(work.secondary_indexes) * SECONDARY_BYTES
}

fn fixture_bytes(work: &Work, costs: &SpaceCosts) -> u64 {
    let objects = u64::from(work.subject.objects.max(1));
    let of_objects = objects.saturating_mul(costs.object_bytes);
    let rows = work.subject.table_rows.saturating_mul((costs.guid_row_bytes)(work.subject.storage));
    rows.saturating_add(of_objects)
}

/// File for the data patterns at most: larger than a device's own cache where that is possible in a second.
const CEILING_FILE_BYTES_MAX: u64 = 64 << 20;

/// At least so much, as the log of a ceiling has.
pub(crate) const CEILING_FILE_BYTES_MIN: u64 = 16 << 20;

/// Bytes of the file with which ceilings for data of this size are measured, and so the most that they need. The size of
/// data is not known where time bounds a run.
pub(crate) fn file_bytes(data_bytes: Option<u64>) -> u64 {
    data_bytes.unwrap_or(CEILING_FILE_BYTES_MAX).clamp(CEILING_FILE_BYTES_MIN, CEILING_FILE_BYTES_MAX)
}
