//! What is to be read, and what is known about each file before it is.

pub(crate) mod batch;
pub(crate) mod brin;
pub(crate) mod files;
pub(crate) mod objects;

use std::collections::{HashMap, HashSet};

use formats::postgres::attribute::Attribute;
use formats::postgres::btree::VERSION_TID_KEYS;
use formats::postgres::file_name::Fork;
use formats::postgres::gin::VERSION_NULL_ENTRIES;
use formats::postgres::maps::{Visibility, first_all_visible, heap_pages_per_visibility_page, visibility};
use formats::postgres::page::Page;
use formats::postgres::{Oid, Xid};
use results::check::{Finding, NotChecked};

use crate::brin::plan::BrinPlan;
use crate::catalog::key_forms::{has_known_keys, what_is_left_out};
use crate::catalog::{Catalogs, Index, Relation, Storage};
use crate::cluster::state::Standing;
use crate::cluster::truncations::Truncations;
use crate::cluster::{Cluster, ForkFiles};
use crate::finding::{LOST_ROWS, file_finding};
use crate::plan::files::{
    MAP_PAGES_BEYOND, Numbers, keep_older_pages, not_null_columns, read_hash_meta, read_map, read_version,
};
use crate::plan::objects::{Matching, PlanFile, RowIndex, Table, TreePlan};
use crate::rules;
use crate::source::part::Part;

/// The plan of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) relations: Vec<Relation>,
    /// Blocks of each relation's main fork.
    pub(crate) blocks: Vec<u32>,
    /// By number of the relation; heaps only.
    pub(crate) tables: HashMap<u32, Table>,
    /// By number of the relation; indexes whose entries are matched.
    pub(crate) trees: HashMap<u32, TreePlan>,
    /// By number of the relation; BRIN indexes.
    pub(crate) brins: HashMap<u32, BrinPlan>,
    /// Visibility maps, by number of the heap: pages one after the other.
    pub(crate) visibility: HashMap<u32, Vec<u8>>,
    /// Everything but these indexes: read first.
    pub(crate) first_files: Vec<PlanFile>,
    /// Indexes whose entries are matched: read when all row pointers are known.
    pub(crate) second_files: Vec<PlanFile>,
    pub(crate) findings: Vec<Finding>,
    /// Database and file number of each finding about files, in the same order.
    pub(super) files_of_findings: Vec<(Oid, Oid)>,
    /// Database and file number of relations in tablespaces that are not there, by tablespace.
    pub(crate) out_of_reach: HashMap<Oid, Vec<(Oid, Oid)>>,
    pub(crate) not_checked: Vec<NotChecked>,
    pub(crate) block_bytes: usize,
    /// The oldest transaction and the oldest multixact that some table may name.
    pub(crate) oldest: Option<(Xid, u32)>,
    by_id: HashMap<(Oid, Oid), u32>,
    first_file_of_tree: HashMap<u32, Part>,
}

impl Plan {
    /// Makes the plan from the files and the catalogs.
    pub(crate) fn new(cluster: &Cluster, catalogs: Catalogs) -> Plan {
        let mut plan = Plan {
            relations: catalogs.relations,
            block_bytes: cluster.block_bytes,
            oldest: catalogs.oldest,
            ..Plan::default()
        };
        plan.blocks = vec![0; plan.relations.len()];
        let ids = plan.relations.iter().zip(0u32..);
        plan.by_id = ids.map(|(relation, number)| ((relation.database, relation.id), number)).collect();
        let numbers = Numbers::new(cluster, &plan.relations);
        let mut present = vec![false; plan.relations.len()];
        let mut init_bytes = vec![None; plan.relations.len()];
        for fork in &cluster.forks {
            let relation = if fork.temporary { None } else { numbers.of(fork) };
            if let Some(number) = relation.filter(|_| fork.fork == Fork::Init) {
                let bytes = fork.segments.iter().map(|segment| segment.part.bytes).sum::<u64>();
                init_bytes[number as usize] = Some(bytes);
            }
            if let Some(number) = relation.filter(|_| fork.fork == Fork::Main) {
                present[number as usize] = true;
                plan.blocks[number as usize] = fork.blocks(cluster);
            }
            plan.add_fork(cluster, fork, relation);
        }
        plan.report_missing_files(&present, cluster, &catalogs.databases);
        plan.report_init_forks(&init_bytes, cluster, &catalogs.databases);
        plan.report_empty_files(cluster, &catalogs.databases);
        for number in 0..plan.relations.len() {
            plan.add_table(number as u32, cluster);
        }
        for number in 0..plan.relations.len() {
            plan.add_tree(number as u32, cluster);
        }
        plan.attach_indexes();
        plan.add_brins();
        plan
    }

    pub(crate) fn relation(&self, number: u32) -> Option<&Relation> {
        self.relations.get(number as usize)
    }

    /// What the map says of a heap block.
    pub(crate) fn visibility_of(&self, relation: u32, block: u32) -> Visibility {
        let per_page = heap_pages_per_visibility_page(self.block_bytes).max(1);
        let start = (block / per_page) as usize * self.block_bytes;
        let map = self.visibility.get(&relation).and_then(|map| map.get(start..start + self.block_bytes));
        map.map_or(Visibility::default(), |page| visibility(&Page::new(page), block % per_page))
    }

    fn add_fork(&mut self, cluster: &Cluster, fork: &ForkFiles, relation: Option<u32>) {
        self.check_segments(cluster, fork, relation);
        let storage = relation.and_then(|number| self.relation(number)).map(|relation| relation.storage);
        if fork.fork == Fork::Visibility
            && let Some(number) = relation
        {
            let per_page = heap_pages_per_visibility_page(self.block_bytes).max(1);
            let wanted_pages = (self.blocks[number as usize] / per_page) as usize + MAP_PAGES_BEYOND;
            let read = || read_map(fork, wanted_pages * self.block_bytes);
            let mut map = read();
            if cluster.standing != Standing::Stopped {
                let (snapshot, checksums) = (cluster.snapshot(), cluster.checksums);
                keep_older_pages(&mut map, &read(), self.block_bytes, snapshot, checksums);
            }
            self.visibility.insert(number, map);
        }
        for segment in &fork.segments {
            let mut part = segment.part.clone();
            if cluster.control.is_some() {
                let full = u64::from(cluster.segment_blocks) * cluster.block_bytes as u64;
                part.bytes = part.bytes.min(full);
            }
            let file = PlanFile {
                part,
                shown: segment.shown.to_string_lossy().into_owned(),
                first_block: segment.number.saturating_mul(cluster.segment_blocks),
                fork: fork.fork,
                relation,
                temporary: fork.temporary,
            };
            if fork.fork == Fork::Main && storage.is_some_and(Storage::is_matched) {
                if let Some(number) = relation.filter(|_| segment.number == 0) {
                    self.first_file_of_tree.insert(number, file.part.clone());
                }
                self.second_files.push(file);
            } else {
                self.first_files.push(file);
            }
        }
    }

    fn check_segments(&mut self, cluster: &Cluster, fork: &ForkFiles, relation: Option<u32>) {
        let full = u64::from(cluster.segment_blocks) * cluster.block_bytes as u64;
        let object = relation.and_then(|number| self.relation(number)).map(|relation| relation.name.clone());
        let mut report = |rule, shown: &std::path::Path, expected: String, found: String| {
            let shown = shown.to_string_lossy();
            self.findings.push(file_finding(rule, &shown, object.as_deref(), expected, found));
            self.files_of_findings.push((fork.database, fork.number));
        };
        let last_used = fork.segments.iter().rposition(|segment| segment.part.bytes > 0);
        for (position, segment) in fork.segments.iter().enumerate() {
            if segment.number as usize != position {
                let expected = format!("segment {position} before segment {}", segment.number);
                report(&rules::SEGMENT_MISSING, &segment.shown, expected, "none".into());
                return;
            }
            // EVIDENCE: src/backend/storage/smgr/md.c mdnblocks: "segment too big", which ends the session
            if cluster.control.is_some() && segment.part.bytes > full {
                let expected = format!("at most {full} bytes, the length of a full segment");
                let found =
                    format!("{} bytes; what follows the first {full} was not read", segment.part.bytes);
                report(&rules::SEGMENT_MISSING, &segment.shown, expected, found);
                continue;
            }
            if last_used.is_some_and(|last| position < last) && segment.part.bytes != full {
                let expected = format!("{full} bytes, since a later segment follows");
                report(
                    &rules::SEGMENT_MISSING,
                    &segment.shown,
                    expected,
                    format!("{} bytes", segment.part.bytes),
                );
            }
            if segment.part.bytes % cluster.block_bytes as u64 != 0 {
                let expected = format!("a multiple of {} bytes", cluster.block_bytes);
                report(
                    &rules::PARTIAL_BLOCK,
                    &segment.shown,
                    expected,
                    format!("{} bytes", segment.part.bytes),
                );
            }
        }
    }

    /// Notes relations of tablespaces that are not there: one finding about the tablespace stands for all of them.
    fn note_out_of_reach(&mut self, present: &[bool], cluster: &Cluster) {
        let absent = self.relations.iter().zip(present).filter(|(relation, present)| {
            let is_own = !matches!(relation.tablespace, 0 | 1663 | 1664);
            !**present && is_own && relation.persistence != b't' && relation.storage != Storage::Other
        });
        let mut is_there: HashMap<Oid, bool> = HashMap::new();
        for (relation, _) in absent {
            let space = relation.tablespace;
            let directory = || cluster.tree.has_directory(&cluster.tablespace_directory(space));
            if !*is_there.entry(space).or_insert_with(directory) {
                let files = self.out_of_reach.entry(space).or_default();
                files.push((relation.database, relation.file_number));
            }
        }
    }

    fn report_missing_files(&mut self, present: &[bool], cluster: &Cluster, databases: &HashSet<Oid>) {
        self.note_out_of_reach(present, cluster);
        let is_replayed = matches!(cluster.standing, Standing::Crashed | Standing::Backup { .. });
        if is_replayed && cluster.snapshot().is_none() {
            return;
        }
        for (relation, present) in self.relations.iter().zip(present) {
            // A database that is being dropped loses its files in any order.
            let is_going = relation.database != 0 && !databases.contains(&relation.database);
            // Replay makes the files of unlogged tables anew; a backup has none.
            let is_made_anew = is_replayed && relation.persistence == b'u';
            let is_elsewhere = cluster.absent_tablespaces.contains(&relation.tablespace)
                || self.out_of_reach.contains_key(&relation.tablespace);
            if is_going && cluster.standing != Standing::Stopped || is_made_anew || is_elsewhere {
                continue;
            }
            // Temporary relations of sessions that ended have no files any more.
            if !present && relation.persistence != b't' && relation.storage != Storage::Other {
                let place = format!("database {} file {}", relation.database, relation.file_number);
                let expected = format!("a file with number {}", relation.file_number);
                let finding =
                    file_finding(&rules::FILE_MISSING, &place, Some(&relation.name), expected, "none".into());
                self.findings.push(finding);
                self.files_of_findings.push((relation.database, relation.file_number));
            }
        }
    }

    fn add_table(&mut self, number: u32, cluster: &Cluster) {
        let Some(relation) = self.relation(number).filter(|relation| relation.storage == Storage::Heap)
        else {
            return;
        };
        let attributes: Option<Vec<Attribute>> =
            relation.columns.iter().map(|column| column.attribute).collect();
        let toast = relation.toast;
        let toast_number = if toast == 0 { None } else { self.number_of(relation.database, toast) };
        let table = Table {
            number,
            toast_number,
            attributes: attributes.unwrap_or_default(),
            indexes: Vec::new(),
            summarised_by: Vec::new(),
            has_matched_indexes: false,
            blocks: self.blocks[number as usize],
            toast_chunk_bytes: cluster.control.map_or(1996, |control| control.toast_chunk_bytes),
            not_null: not_null_columns(relation),
            relation: relation.clone(),
        };
        self.tables.insert(number, table);
    }

    fn add_tree(&mut self, number: u32, cluster: &Cluster) {
        let Some(relation) = self.relation(number).filter(|relation| relation.storage.is_matched()) else {
            return;
        };
        let mut tree = TreePlan {
            blocks: self.blocks[number as usize],
            version: VERSION_TID_KEYS,
            heap: None,
            heap_blocks: None,
            matching: Matching::None,
            hash: None,
        };
        let is_hash = relation.storage == Storage::Hash;
        let is_gin = relation.storage == Storage::Gin;
        let first = self.first_file_of_tree.get(&number);
        if let Some(version) = first.and_then(|first| read_version(first, self.block_bytes, is_gin)) {
            tree.version = version;
        }
        let valid = first.zip(relation.index.as_ref().filter(|index| is_hash && index.usable));
        tree.hash = valid.and_then(|(first, index)| read_hash_meta(first, tree.blocks, cluster, index));
        let name = relation.name.clone();
        let reason = match &relation.index {
            None => Some("it has no entry in the catalog"),
            Some(index) => {
                tree.heap = self.number_of(relation.database, index.table);
                let table = tree.heap.and_then(|heap| self.tables.get(&heap));
                tree.heap_blocks = table.map(|table| table.blocks);
                match table {
                    _ if !index.usable => {
                        Some("it is not valid: left by CREATE INDEX CONCURRENTLY, or being built")
                    }
                    None => Some("its table has no file, or another access method"),
                    Some(table) if table.attributes.is_empty() => {
                        Some("the columns of its table are unreadable")
                    }
                    Some(_) if is_hash && tree.hash.is_none() => {
                        Some("its metapage is damaged, or changed since the last checkpoint")
                    }
                    Some(_) => {
                        let is_open = may_lack_entries(relation, index, tree.version);
                        tree.matching = if is_open { Matching::EntriesOnly } else { Matching::Both };
                        None
                    }
                }
            }
        };
        let what_is_left_out = relation.index.as_ref().map(|index| (index.partial, index.has_expressions));
        if let Some(why) = reason {
            self.left_out(&name, "rows against entries", why);
        } else if let Some((partial, expressions)) = what_is_left_out {
            if partial {
                self.left_out(
                    &name,
                    "rows without entry",
                    "the condition of a partial index is not evaluated",
                );
            }
            if expressions {
                self.left_out(
                    &name,
                    "values of expressions",
                    "expressions are not evaluated; entries are matched with rows by TID",
                );
            }
        }
        self.trees.insert(number, tree);
    }

    pub(crate) fn left_out(&mut self, object: &str, what: &str, why: &str) {
        self.not_checked.push(NotChecked {
            object: Some(object.to_owned()),
            what: what.to_owned(),
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }

    fn attach_indexes(&mut self) {
        let mut trees: Vec<(u32, TreePlan)> =
            self.trees.iter().map(|(number, tree)| (*number, *tree)).collect();
        trees.sort_unstable_by_key(|(number, _)| *number);
        for (number, tree) in trees {
            let index = self.relation(number).and_then(|relation| relation.index.clone());
            let storage = self.relation(number).map(|relation| relation.storage);
            let table = tree.heap.and_then(|heap| self.tables.get_mut(&heap));
            let (Some(index), Some(table)) = (index, table) else { continue };
            if tree.matching != Matching::None {
                table.has_matched_indexes = true;
                table.indexes.push(RowIndex {
                    number,
                    is_complete: tree.matching == Matching::Both,
                    by_tid: storage
                        .is_some_and(|storage| storage == Storage::Gin || storage.entry_method().is_some()),
                    has_known_keys: matches!(storage, Some(Storage::Gist | Storage::SpGist))
                        && has_known_keys(&index),
                    index,
                    skips_nulls: storage == Some(Storage::Hash),
                    hash: tree.hash.and_then(|hash| hash.function),
                });
            }
        }
        for (relation, number) in self.relations.iter().zip(0u32..) {
            let hash = self.trees.get(&number).and_then(|tree| tree.hash);
            let has_values = hash.is_some_and(|hash| hash.function.is_some());
            let Some((method, what, why)) = what_is_left_out(relation).filter(|_| !has_values) else {
                continue;
            };
            self.not_checked.push(NotChecked {
                object: Some(relation.name.clone()),
                what: what.to_owned(),
                why: format!("access method {method} {why}"),
                kind: results::check::GapKind::Coverage,
            });
        }
    }

    /// Whether a relation has no block: in a cluster that does not stand still it is perhaps being dropped, or was
    /// written anew, and its file was cut without a record in the log.
    pub(crate) fn is_empty(&self, number: u32) -> bool {
        self.blocks.get(number as usize).is_none_or(|blocks| *blocks == 0)
    }

    /// A map that describes blocks beyond the end of its heap tells that the heap was cut.
    ///
    /// `has_its_length` tells whether a table was not cut in order.
    pub(super) fn check_map_lengths(&mut self, has_its_length: impl Fn(&Plan, u32) -> bool) {
        let mut found = Vec::new();
        let per_page = heap_pages_per_visibility_page(self.block_bytes).max(1);
        for (number, map) in &self.visibility {
            let (Some(relation), blocks) = (self.relation(*number), self.blocks[*number as usize]) else {
                continue;
            };
            let first_page = (blocks / per_page) as usize;
            let pages = map.chunks_exact(self.block_bytes).zip(0u32..).skip(first_page);
            let beyond = pages.into_iter().find_map(|(page, number)| {
                let before = number.saturating_mul(per_page);
                let within = first_all_visible(&Page::new(page), blocks.saturating_sub(before))?;
                before.checked_add(within)
            });
            if let Some(block) = beyond.filter(|_| has_its_length(self, *number)) {
                let expected = format!("no bits for blocks from {blocks}, the end of the table");
                let place = format!("database {} file {}_vm", relation.database, relation.file_number);
                let text = format!(
                    "block {block} is marked all-visible: the table was truncated outside PostgreSQL, and its last rows are lost"
                );
                let name = Some(relation.name.as_str());
                let mut finding = file_finding(&rules::VISIBILITY_MAP, &place, name, expected, text);
                finding.next_step = LOST_ROWS.to_owned();
                found.push(finding);
            }
        }
        self.findings.append(&mut found);
    }

    /// Whether a table was not cut, dropped or rewritten since the moment that is looked at and until it was listed.
    pub(crate) fn has_its_length(&self, table: u32, truncations: &Truncations) -> bool {
        let is_first = |file: &&PlanFile| {
            file.relation == Some(table) && file.fork == Fork::Main && file.first_block == 0
        };
        let first = self.first_files.iter().find(is_first);
        self.relation(table).zip(first).is_some_and(|(relation, first)| {
            truncations.has_its_length(relation.database, relation.file_number, &first.part)
        })
    }

    pub(super) fn number_of(&self, database: Oid, id: Oid) -> Option<u32> {
        self.by_id.get(&(database, id)).copied()
    }
}

/// Whether rows may have no entry in an index: a partial one, one of a version that left rows out, or one that leaves out
/// nulls, where it is not known here whether the value of an expression is null.
fn may_lack_entries(relation: &Relation, index: &Index, version: u32) -> bool {
    index.partial
        || match relation.storage {
            Storage::Hash => index.has_expressions,
            Storage::Gin => version < VERSION_NULL_ENTRIES,
            _ => false,
        }
}
