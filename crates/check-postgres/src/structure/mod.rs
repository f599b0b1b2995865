//! How tables and B-trees of PostgreSQL lie on their blocks.
//!
//! In detail, every block is looked at once, in physical order; the order of a tree comes from the links between
//! siblings. In the modes limited and sampled inner blocks are read from the root down, and then as many leaves as the
//! mode asks for. A server may be running: a block that looks damaged is read again, and what was not written since the
//! last checkpoint is not seen.

mod block;
mod gather;
mod sparse;
mod subject;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use check::evidence::Watch;
use check::pass::{Pass, count_structure, unclaimed_bytes};
use check::progress::{Phase, Progress};
use check::structure::{Options, SAMPLE_FROM_PAGES, SAMPLE_STEP, subject as order};
use disk::scan::{Governor, ScanFile};
use formats::postgres::BLOCK_SIZE_DEFAULT;
use results::check::{Accounting, NotChecked};
use results::structure::{
    ObjectStructure, StorageKind, StripMap, StructureCounters, StructureMode, StructureReport,
};

use crate::catalog::{Catalogs, reader as catalog_reader};
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::{Cluster, SEGMENT_BLOCKS_DEFAULT};
use crate::run::data_directory_of;
use crate::run::evidence::{CheckError, reason};
use crate::source::Tree;
use crate::source::error::OpenError;
use crate::structure::block::{Kind, Layout};
use crate::structure::gather::{Gather, GatherFile, Gathered, TreeMap};
use crate::structure::subject::{BlockReader, RelationFiles, Wish, subjects};

/// Measures the tables and B-trees of a data directory, stopped or running, or of a base backup in tar files. Opens
/// files for reading only.
///
/// Cost in the mode detailed: the catalogs, then one read of the files; 5 bytes of memory per block of an index. Packed
/// tar files are unpacked first, to a temporary file.
///
/// # Errors
/// When it is no data directory of a supported major, or reading cannot be set up. Damage is no error.
pub fn structure_cluster(
    directory: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, CheckError> {
    let watch = Watch::begin();
    let cluster = Cluster::open(directory).map_err(|error| reason(error, &watch))?;
    let mut report = Work::new(directory, options).cluster(&cluster, None, progress)?;
    check::structure::settle(&watch, cluster.standing == Standing::Running, &mut report);
    Ok(report)
}

/// Measures the relation that a file belongs to, with its other segments; in a data directory or apart from any.
///
/// # Errors
/// When the file is neither a table nor a B-tree as far as its first block tells, or reading cannot be set up.
pub fn structure_file(
    path: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, CheckError> {
    let watch = Watch::begin();
    let refuse = || CheckError::NotARelation(path.to_path_buf());
    let canonical = path.canonicalize().map_err(|_| refuse())?;
    if let Some(directory) = data_directory_of(&canonical) {
        let cluster = Cluster::open(directory).map_err(|error| reason(error, &watch))?;
        let segments = cluster.forks.iter().flat_map(|fork| &fork.segments);
        if segments.clone().any(|segment| *segment.part.path == *canonical) {
            let mut report = Work::new(path, options).cluster(&cluster, Some(&canonical), progress)?;
            check::structure::settle(&watch, cluster.standing == Standing::Running, &mut report);
            if report.unfinished.is_some() {
                return Ok(report);
            }
            return if report.objects.is_empty() && report.left_out.is_empty() {
                Err(refuse())
            } else {
                Ok(report)
            };
        }
    }
    let subject = RelationFiles::loose(&canonical, BLOCK_SIZE_DEFAULT, SEGMENT_BLOCKS_DEFAULT).ok().flatten();
    let Some(subject) = subject else {
        // What could not be read is not known to be no relation.
        let Some((path, source)) = watch.failure() else { return Err(refuse()) };
        return Err(OpenError::Read { path, source }.into());
    };
    let mut work = Work::new(path, options);
    let layout = Layout { block_bytes: BLOCK_SIZE_DEFAULT, checksums: false };
    work.report.facts.push(("block size".to_owned(), format!("{BLOCK_SIZE_DEFAULT} (assumed)")));
    work.measure(layout, vec![subject], progress)?;
    let mut report = work.finish();
    check::structure::settle(&watch, false, &mut report);
    Ok(report)
}

struct Work<'a> {
    options: &'a Options,
    started: Instant,
    report: StructureReport,
}

impl<'a> Work<'a> {
    fn new(target: &Path, options: &'a Options) -> Work<'a> {
        let report = StructureReport {
            engine: "postgres".to_owned(),
            target: target.display().to_string(),
            mode: options.mode,
            page_size_bytes: BLOCK_SIZE_DEFAULT as u64,
            facts: Vec::new(),
            objects: Vec::new(),
            free_page_count: None,
            left_out: Vec::new(),
            accounting: Accounting::default(),
            counters: StructureCounters::default(),
            unfinished: None,
        };
        Work { options, started: Instant::now(), report }
    }

    fn cluster(
        mut self,
        cluster: &Cluster,
        file: Option<&Path>,
        progress: &mut dyn Progress,
    ) -> Result<StructureReport, CheckError> {
        progress.advance(Phase::Map, 0, 0);
        self.describe(cluster);
        let catalogs = match &cluster.control {
            Some(control) => catalog_reader::read(cluster, &Transactions::load(&cluster.tree, control, None)),
            None => Catalogs::default(),
        };
        if cluster.control.is_none() {
            self.left_out("names of tables and indexes", "global/pg_control cannot be read");
        }
        for (database, reason) in &catalogs.unreadable {
            self.left_out(&format!("everything in database {database}"), reason);
        }
        for (path, damage) in &catalogs.map_damage {
            self.left_out(&format!("what \"{}\" names", path.display()), &damage.found);
        }
        self.gaps_of_a_backup(cluster);
        let wish = Wish { table: self.options.table.as_deref(), with_system: self.options.with_system, file };
        let (subjects, mut left_out) = subjects(cluster, &catalogs.relations, &wish);
        self.report.left_out.append(&mut left_out);
        if let (Some(table), true) = (&self.options.table, subjects.is_empty()) {
            let hint = match cluster.standing {
                Standing::Running => "; a table created since the last checkpoint is not in the files yet",
                _ => "",
            };
            self.report.unfinished =
                Some(format!("there is no table \"{table}\" in \"{}\"{hint}", self.report.target));
        }
        let layout = Layout { block_bytes: cluster.block_bytes, checksums: cluster.checksums };
        self.measure(layout, subjects, progress)?;
        Ok(self.finish())
    }

    fn describe(&mut self, cluster: &Cluster) {
        self.report.page_size_bytes = cluster.block_bytes as u64;
        let standing = match cluster.standing {
            Standing::Stopped => "shut down cleanly",
            Standing::Running => "a server is running: changes that are not written yet are missing",
            Standing::Crashed => "not shut down cleanly (crash or standby): the WAL was not replayed",
            Standing::Backup { .. } => "a base backup: the WAL was not replayed",
        };
        let mut fact = |name: &str, value: String| self.report.facts.push((name.to_owned(), value));
        fact("version", cluster.major.to_string());
        fact("block size", cluster.block_bytes.to_string());
        fact("state", standing.to_owned());
    }

    /// What a backup names and does not have.
    fn gaps_of_a_backup(&mut self, cluster: &Cluster) {
        if let Tree::Archive(archive) = &cluster.tree {
            let kept = "read from its tar files".to_owned();
            let packed =
                format!("decompressed to a temporary file of {} bytes first", archive.unpacked_bytes);
            let how = if archive.unpacked_bytes == 0 { kept } else { packed };
            self.report.facts.push(("backup".to_owned(), how));
            if let Some(cut) = &archive.cut {
                self.left_out("bytes after the end of a tar file", cut);
                self.report.unfinished = Some(format!("the backup is incomplete: {cut}"));
            }
        }
        for space in &cluster.absent_tablespaces {
            let why = "the backup lists it, but none of its files exists";
            self.left_out(&format!("everything in tablespace {space}"), why);
        }
        if cluster.incremental_count > 0 {
            let why = format!(
                "{} files of an incremental backup have some blocks only: run pg_combinebackup first",
                cluster.incremental_count
            );
            self.left_out("files named INCREMENTAL.*", &why);
        }
    }

    fn left_out(&mut self, what: &str, why: &str) {
        self.report.left_out.push(NotChecked {
            object: None,
            what: what.to_owned(),
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }

    fn measure(
        &mut self,
        layout: Layout,
        subjects: Vec<RelationFiles>,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        if self.options.mode == StructureMode::Detailed {
            self.in_detail(layout, &subjects, progress)
        } else {
            for subject in &subjects {
                self.sparsely(layout, subject);
            }
            Ok(())
        }
    }

    fn finish(mut self) -> StructureReport {
        order::in_order(&mut self.report.objects);
        self.report.left_out.sort();
        self.report.counters.elapsed_ns =
            u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.report
    }

    /// Looks at every block once.
    fn in_detail(
        &mut self,
        layout: Layout,
        subjects: &[RelationFiles],
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let mut files = Vec::new();
        let mut scan_files = Vec::new();
        for (number, subject) in subjects.iter().enumerate() {
            for piece in &subject.segments {
                let part = &piece.part;
                files.push(GatherFile { subject: number, piece: piece.clone() });
                scan_files
                    .push(ScanFile::part(&*part.path, part.offset_bytes..part.offset_bytes + part.bytes));
                self.report.accounting.page_count += part.bytes.div_ceil(layout.block_bytes as u64);
            }
        }
        let trees: Vec<TreeMap> = subjects
            .iter()
            .map(|subject| TreeMap::new(if subject.kind == Kind::Tree { subject.block_count } else { 0 }))
            .collect();
        let gather = Gather { layout, subjects, trees: &trees, files: &files };
        let parts = self.pass(&gather, &scan_files, progress)?;
        for ((subject, map), gathered) in subjects.iter().zip(&trees).zip(parts) {
            self.account(&gathered);
            let object = match subject.kind {
                Kind::Heap => heap(subject, gathered),
                Kind::Tree => self.tree(subject, map, gathered),
            };
            self.report.objects.push(object);
        }
        let accounting = &mut self.report.accounting;
        let other = accounting.damaged_count + accounting.unreadable_count + accounting.unreached_count;
        accounting.clean_count = accounting.page_count.saturating_sub(other);
        Ok(())
    }

    fn account(&mut self, gathered: &Gathered) {
        self.report.accounting.damaged_count += gathered.damaged_count;
        self.report.accounting.unreadable_count += gathered.unreadable_count;
    }

    fn pass(
        &mut self,
        gather: &Gather<'_>,
        files: &[ScanFile],
        progress: &mut dyn Progress,
    ) -> Result<Vec<Gathered>, CheckError> {
        let mut parts = gather.state();
        if files.is_empty() {
            return Ok(parts);
        }
        let block_bytes = gather.layout.block_bytes;
        let options = self.options.of_pass();
        let governor = Arc::new(Governor::new(options.rate_bytes_per_s_max));
        let total = self.report.accounting.page_count * block_bytes as u64;
        let pass = Pass { bytes_total: Some(total), ..Pass::new(&options, &governor, block_bytes) };
        let outcome =
            pass.run(files, progress, |_| gather.state(), |state, extent| gather.visit(state, &extent))?;
        count_structure(&outcome, &mut self.report.counters);
        let accounting = &mut self.report.accounting;
        accounting.bytes_expected = outcome.expected_bytes();
        accounting.bytes_read = outcome.read_bytes();
        let unclaimed = unclaimed_bytes(&outcome);
        accounting.unreached_count = unclaimed / block_bytes as u64;
        if unclaimed > 0 {
            self.report.unfinished = Some("stopped before the end".to_owned());
        }
        for file in outcome.files.iter().filter_map(|file| file.error.as_deref()) {
            self.report.left_out.push(NotChecked {
                object: None,
                what: "a file".to_owned(),
                why: file.to_owned(),
                kind: results::check::GapKind::Coverage,
            });
        }
        for state in outcome.states {
            parts.iter_mut().zip(state).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        Ok(parts)
    }

    fn tree(&self, subject: &RelationFiles, map: &TreeMap, mut gathered: Gathered) -> ObjectStructure {
        let page_counts = map.add_links(&mut gathered.tallies);
        let mut object = empty_object(subject, &gathered);
        let levels = gathered.tallies.iter().zip(&page_counts).enumerate();
        object.levels =
            levels.map(|(number, (tally, pages))| tally.level(number as u32, *pages, false)).collect();
        object.index_depth = object.levels.len() as u32;
        let (leaves, piece_count) = map.leaves_in_order();
        let pages = leaves.iter().map(|page| u64::from(*page));
        object.strip = Some(StripMap::thinned(leaves.len(), pages, self.options.strip_points_max));
        if piece_count > 1 {
            object.notes.push(format!(
                "the chain of leaves has {piece_count} pieces: blocks between them are damaged, or a server changed it during the check"
            ));
        }
        object
    }

    /// Reads inner blocks, and as many leaves or blocks of a heap as the mode asks for.
    fn sparsely(&mut self, layout: Layout, subject: &RelationFiles) {
        let mut reader = match BlockReader::open(subject, layout.block_bytes) {
            Ok(reader) => reader,
            Err(error) => {
                self.report.left_out.push(NotChecked {
                    object: Some(subject.index.clone().unwrap_or_else(|| subject.table.clone())),
                    what: "levels, order and fill".to_owned(),
                    why: format!("a file could not be opened: {error}"),
                    kind: results::check::GapKind::Coverage,
                });
                return;
            }
        };
        let object = match subject.kind {
            Kind::Heap => self.heap_sparsely(layout, subject, &mut reader),
            Kind::Tree => self.tree_sparsely(layout, subject, &mut reader),
        };
        let accounting = &mut self.report.accounting;
        accounting.page_count += reader.read_count;
        accounting.damaged_count += object.unclear_page_count;
        accounting.clean_count += reader.read_count.saturating_sub(object.unclear_page_count);
        self.report.counters.extra_read_count += reader.read_count;
        self.report.objects.push(object);
    }

    /// The pages of a level that the mode looks at.
    fn sample(&self, pages: &[u32]) -> Vec<u32> {
        match self.options.mode {
            StructureMode::Limited => Vec::new(),
            StructureMode::Sampled if pages.len() >= SAMPLE_FROM_PAGES => {
                pages.iter().copied().step_by(SAMPLE_STEP).collect()
            }
            _ => pages.to_vec(),
        }
    }
}

/// A heap is read in the order of its blocks; those that were never used are no part of it.
fn heap(subject: &RelationFiles, mut gathered: Gathered) -> ObjectStructure {
    let mut object = empty_object(subject, &gathered);
    let page_count = u64::from(subject.block_count).saturating_sub(gathered.unused_count);
    gathered.unused_blocks.sort_unstable();
    let run_count = runs_between(subject.block_count, &gathered.unused_blocks);
    let mut tally = gathered.tallies.first().copied().unwrap_or_default();
    tally.add_runs(page_count, run_count);
    object.levels = vec![tally.level(0, page_count, false)];
    object
}

/// Runs of blocks that are left when some, ascending, are taken out.
fn runs_between(block_count: u32, taken_out: &[u32]) -> u64 {
    let (mut runs, mut next) = (0, 0u32);
    for &block in taken_out {
        runs += u64::from(block > next);
        next = block.saturating_add(1);
    }
    runs + u64::from(next < block_count)
}

fn empty_object(subject: &RelationFiles, gathered: &Gathered) -> ObjectStructure {
    let unclear_page_count = gathered.damaged_count + gathered.unreadable_count;
    let mut notes = subject.notes.clone();
    if unclear_page_count > 0 {
        notes.push(format!("{unclear_page_count} damaged or unreadable blocks are left out"));
    }
    ObjectStructure {
        table: subject.table.clone(),
        index: subject.index.clone(),
        index_id: 0,
        kind: match subject.kind {
            Kind::Heap => StorageKind::Heap,
            Kind::Tree => StorageKind::IndexTree,
        },
        index_depth: 1,
        levels: Vec::new(),
        page_count: u64::from(subject.block_count),
        overflow_page_count: None,
        free_page_count: Some(gathered.free_count),
        unused_page_count: Some(gathered.unused_count),
        unclear_page_count,
        strip: None,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_were_never_used_cut_a_heap_into_runs() {
        assert_eq!(runs_between(10, &[]), 1);
        assert_eq!(runs_between(10, &[8, 9]), 1);
        assert_eq!(runs_between(10, &[0, 4, 5]), 2);
        assert_eq!(runs_between(2, &[0, 1]), 0);
        assert_eq!(runs_between(0, &[]), 0);
    }
}
