//! Parameters of workloads that read, and of those that are no statements at all.

use std::time::Duration;

use results::check::CheckLevel;

use super::values::{Conflict, Values, conflict};
use crate::work::{
    Amount, BackupMethod, CacheState, LoopSide, RawReads, Storage, SubjectParameters, Work, Workload,
};

/// Keys from one taken key to the next, as published.
const EVERY: u64 = 1000;
const KIB: u64 = 1024;
const RAW_TIME: Duration = Duration::from_secs(5);
const RAW_FILE_MIB: u64 = 512;

/// Who uses which parameter.
type Users = fn(Workload) -> bool;

/// Parameters that have a meaning for some workloads only; given with another one they are a slip.
const USES: [(&str, Users); 18] = [
    ("storage", |workload| workload == Workload::GuidPopulate || workload.has_fixtures()),
    ("table_rows", Workload::has_fixtures),
    ("objects", |workload| workload.has_fixtures() && !workload.looks_up()),
    ("every", Workload::looks_up),
    ("cache", Workload::has_fixtures),
    ("memory_limit_mib", |workload| !matches!(workload, Workload::RawRead | Workload::Inventory)),
    ("arrays", Workload::adds_rows),
    ("server_cores", |workload| !matches!(workload, Workload::RawRead | Workload::Inventory)),
    ("check_level", |workload| workload == Workload::Check),
    ("workers", |workload| matches!(workload, Workload::Check | Workload::Structure)),
    ("page_batch", |workload| workload == Workload::Check),
    ("object_batch", |workload| workload == Workload::Check),
    ("streams", |workload| workload == Workload::Backup),
    ("backup_method", |workload| workload == Workload::Backup),
    ("transfer_kib", |workload| workload == Workload::RawRead),
    ("random_percent", |workload| workload == Workload::RawRead),
    ("outstanding", |workload| workload == Workload::RawRead),
    ("file_mib", |workload| workload == Workload::RawRead),
];

/// With one load in the order of the keys all rows are one statement, and so one transaction.
pub(super) fn load_in_one(work: &mut Work) {
    if work.is_one_load()
        && let Amount::Rows(rows) = work.amount
    {
        work.batch_size = rows;
    }
}

impl Values<'_> {
    /// What the run reads; all at its default where a parameter has no meaning for the workload.
    pub(super) fn subject(&self, workload: Workload) -> SubjectParameters {
        let mut subject = SubjectParameters {
            memory_limit_mib: self.count("memory_limit_mib"),
            arrays: self.count("arrays").map(|arrays| arrays as u32),
            server_cores: self.count("server_cores").map(|cores| cores as u32),
            storage: match self.word("storage") {
                "heap-index" => Storage::HeapIndex,
                "clustered-ordered" => Storage::ClusteredOrdered,
                "heap-ordered" => Storage::HeapOrdered,
                _ => Storage::ClusteredRandom,
            },
            ..SubjectParameters::default()
        };
        if workload.has_fixtures() {
            subject.table_rows = self.count("table_rows").unwrap_or(0);
            subject.objects = self.count("objects").unwrap_or(1) as u32;
            subject.cache = match self.word("cache") {
                "cold" => CacheState::Cold,
                "cold-machine" => CacheState::ColdMachine,
                "warm" => CacheState::Warm,
                _ => CacheState::AsIs,
            };
        }
        if workload.looks_up() {
            subject.every = self.count("every").unwrap_or(EVERY);
        }
        if matches!(workload, Workload::Check | Workload::Structure) {
            subject.workers = self.count("workers").unwrap_or(1) as u32;
            subject.depth = match self.word("check_level") {
                "read" => CheckLevel::Read,
                "structure" => CheckLevel::Structure,
                "full" => CheckLevel::Full,
                _ => CheckLevel::Page,
            };
            subject.page_batch = self.count("page_batch");
            subject.object_batch = self.count("object_batch");
        }
        if workload == Workload::Backup {
            subject.streams = self.count("streams").unwrap_or(1) as u32;
            let by_tool = self.word("backup_method") == "pg_basebackup";
            subject.backup = if by_tool { BackupMethod::PgBasebackup } else { BackupMethod::Reader };
        }
        if workload == Workload::RawRead {
            subject.raw = self.raw_reads();
        }
        subject
    }

    fn raw_reads(&self) -> RawReads {
        RawReads {
            transfer_bytes: self.count("transfer_kib").unwrap_or(8) * KIB,
            random_percent: self.count("random_percent").unwrap_or(0) as u8,
            outstanding: self.count("outstanding").unwrap_or(1) as u32,
            file_bytes: self.count("file_mib").unwrap_or(RAW_FILE_MIB) * KIB * KIB,
            time: self.time("read_time").unwrap_or(RAW_TIME),
        }
    }

    /// Refuses what has no meaning for the workload, and what its tables do not allow.
    pub(super) fn check_subject(&self, work: &Work) -> Result<(), Conflict> {
        for (name, is_used_by) in USES {
            if self.0.contains_key(name) && !is_used_by(work.workload) {
                let title = format!("`{name}` has no meaning for this workload");
                return Err(conflict(&[name, "workload"], title).help(format!("leave out `{name}`")));
            }
        }
        if work.is_one_load() && work.connections != 1 {
            let title =
                "one load in the order of the keys is one statement, and several connections are given";
            return Err(conflict(&["connections", "storage"], title).help("set connections to 1"));
        }
        if work.is_one_load()
            && (work.loop_side == LoopSide::Server || !matches!(work.amount, Amount::Rows(_)))
        {
            let title = "one load in the order of the keys needs the loop in the client and a number of rows";
            return Err(conflict(&["storage"], title).help("set loop = \"client\" and rows_total"));
        }
        if work.workload.is_task() && work.connections != 1 {
            let title = "this workload is done once at a time, and several connections are given";
            return Err(conflict(&["connections", "workload"], title).help("set connections to 1"));
        }
        let subject = &work.subject;
        if work.workload.has_fixtures() && subject.table_rows < u64::from(subject.objects).max(1) {
            return Err(match subject.table_rows {
                0 => conflict(
                    &["table_rows"],
                    "no `table_rows` is given: nothing says how large the tables are",
                )
                .help("add table_rows = 50000 to [parameters]"),
                rows => conflict(
                    &["table_rows", "objects"],
                    format!("{rows} rows are too few for {} tables", subject.objects),
                ),
            });
        }
        if subject.every > subject.table_rows {
            let title = format!(
                "`every` is {} and the table has {} rows: no key would be taken",
                subject.every, subject.table_rows
            );
            return Err(conflict(&["every", "table_rows"], title));
        }
        Ok(())
    }
}
