//! Which relations are measured, and the files that they have.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use check::structure::subject::is_meant;
use disk::input::File;
use formats::postgres::Oid;
use formats::postgres::btree::Meta;
use formats::postgres::file_name::Fork;
use formats::postgres::page::Page;
use results::check::NotChecked;
use rustix::fs::{Advice, fadvise};

use crate::catalog::{Relation, Storage};
use crate::cluster::{Cluster, ForkFiles};
use crate::plan::files::Numbers;
use crate::source::part::Part;
use crate::structure::block::Kind;

/// Schemas of the engine's own tables.
const OWN_SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// A segment file, or the part of a tar file that holds it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Number of its first block in the relation.
    pub(super) first_block: u32,
    pub(super) part: Part,
}

/// A table or an index that is measured.
#[derive(Clone, Debug)]
pub(super) struct RelationFiles {
    pub(super) table: String,
    pub(super) index: Option<String>,
    pub(super) kind: Kind,
    /// Its segment files, ascending.
    pub(super) segments: Vec<Piece>,
    /// Blocks in all segments.
    pub(super) block_count: u32,
    pub(super) notes: Vec<String>,
}

impl RelationFiles {
    /// The subject of a file that belongs to no data directory, with the segments beside it.
    pub(super) fn loose(
        path: &Path,
        block_bytes: usize,
        segment_blocks: u32,
    ) -> io::Result<Option<RelationFiles>> {
        let mut first = vec![0; block_bytes];
        if disk::input::File::open(path)?.read_exact_at(&mut first, 0).is_err() {
            return Ok(None);
        }
        let page = Page::new(&first);
        let has_meta = Meta::read(&page).is_some_and(|meta| meta.check(u32::MAX, &mut Vec::new()));
        let kind = if has_meta && page.check_header(16, &mut Vec::new()) {
            Kind::Tree
        } else if !page.is_new() && page.check_header(0, &mut Vec::new()) {
            Kind::Heap
        } else {
            return Ok(None);
        };
        let mut segments = Vec::new();
        // Bounded by the first number that has no file.
        for number in 0u32.. {
            let mut name = path.as_os_str().to_owned();
            if number > 0 {
                name.push(format!(".{number}"));
            }
            let Ok(facts) = disk::input::metadata(&name) else { break };
            let part = Part { path: PathBuf::from(name).into(), offset_bytes: 0, bytes: facts.len() };
            segments.push(Piece { first_block: number.saturating_mul(segment_blocks), part });
        }
        let table = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (table, index) = match kind {
            Kind::Heap => (format!("file {table}"), None),
            Kind::Tree => (format!("file {table}"), Some("(not in the catalog)".to_owned())),
        };
        Ok(Some(RelationFiles::new(table, index, kind, segments, block_bytes)))
    }

    fn new(
        table: String,
        index: Option<String>,
        kind: Kind,
        segments: Vec<Piece>,
        block_bytes: usize,
    ) -> RelationFiles {
        let block_count = segments.last().map_or(0, |last| {
            let blocks = u32::try_from(last.part.bytes / block_bytes as u64).unwrap_or(u32::MAX);
            last.first_block.saturating_add(blocks)
        });
        RelationFiles { table, index, kind, segments, block_count, notes: Vec::new() }
    }
}

/// What the user wants of a cluster.
pub(super) struct Wish<'a> {
    pub(super) table: Option<&'a str>,
    pub(super) with_system: bool,
    /// Only the relation with this file.
    pub(super) file: Option<&'a Path>,
}

/// The subjects of a cluster, and what is left out.
pub(super) fn subjects(
    cluster: &Cluster,
    relations: &[Relation],
    wish: &Wish<'_>,
) -> (Vec<RelationFiles>, Vec<NotChecked>) {
    let numbers = Numbers::new(cluster, relations);
    let names = Names::new(relations);
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let (mut unnamed, mut own) = (0u64, 0u64);
    let forks = cluster.forks.iter().filter(|fork| fork.fork == Fork::Main && !fork.temporary);
    for fork in forks.filter(|fork| wish.file.is_none_or(|file| has_file(fork, file))) {
        let relation = numbers.of(fork).and_then(|number| relations.get(number as usize));
        let Some(relation) = relation else {
            match without_name(cluster, fork, wish) {
                Some(subject) => found.push(subject),
                None => unnamed += 1,
            }
            continue;
        };
        let table = names.table_of(relation);
        if wish.table.is_some_and(|wanted| !names.is_meant(relation, &table, wanted)) {
            continue;
        }
        let is_asked_for = wish.file.is_some() || wish.table.is_some() || wish.with_system;
        if !is_asked_for && names.is_own(relation) {
            own += 1;
            continue;
        }
        let kind = match relation.storage {
            Storage::Heap => Kind::Heap,
            Storage::Btree => Kind::Tree,
            Storage::Sequence => continue,
            other => {
                left_out.push(NotChecked {
                    object: Some(relation.name.clone()),
                    what: "levels, order and fill".to_owned(),
                    why: format!("access method {} has no known levels of ordered pages", method(other)),
                    kind: results::check::GapKind::Coverage,
                });
                continue;
            }
        };
        let index = relation.index.is_some().then(|| short(&relation.name).to_owned());
        let segments = segments_of(fork, cluster.segment_blocks);
        let mut subject = RelationFiles::new(table, index, kind, segments, cluster.block_bytes);
        subject.notes.extend(names.toast_note(relation));
        found.push(subject);
    }
    let mut gap = |what: String, why: &str| {
        left_out.push(NotChecked {
            object: None,
            what,
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    };
    if unnamed > 0 && wish.table.is_none() {
        gap(
            format!("relation files without a name: {unnamed}"),
            "they are not in pg_class: left by a crash, or created since the last checkpoint",
        );
    }
    if own > 0 {
        gap(format!("system tables and indexes: {own}"), "not selected: --system includes them");
    }
    (found, left_out)
}

/// A relation file that no row names: only one that was asked for is measured.
fn without_name(cluster: &Cluster, fork: &ForkFiles, wish: &Wish<'_>) -> Option<RelationFiles> {
    let path = &fork.segments.first().filter(|_| wish.file.is_some())?.part.path;
    RelationFiles::loose(path, cluster.block_bytes, cluster.segment_blocks).ok().flatten()
}

fn has_file(fork: &ForkFiles, file: &Path) -> bool {
    fork.segments.iter().any(|segment| *segment.part.path == *file)
}

fn segments_of(fork: &ForkFiles, segment_blocks: u32) -> Vec<Piece> {
    let segments = fork.segments.iter();
    segments
        .map(|segment| Piece {
            first_block: segment.number.saturating_mul(segment_blocks),
            part: segment.part.clone(),
        })
        .collect()
}

fn method(storage: Storage) -> &'static str {
    match storage {
        Storage::Hash => "hash",
        Storage::Gist => "GiST",
        Storage::Gin => "GIN",
        Storage::SpGist => "SP-GiST",
        Storage::Brin => "BRIN",
        _ => "of an extension",
    }
}

/// `relation` of `database.schema.relation`.
fn short(name: &str) -> &str {
    name.splitn(3, '.').nth(2).unwrap_or(name)
}

/// Which relation belongs to which.
struct Names<'r> {
    by_id: HashMap<(Oid, Oid), &'r Relation>,
    owner_of_toast: HashMap<(Oid, Oid), &'r Relation>,
}

impl<'r> Names<'r> {
    fn new(relations: &'r [Relation]) -> Names<'r> {
        let by_id = relations.iter().map(|relation| ((relation.database, relation.id), relation));
        let owners = relations.iter().filter(|relation| relation.toast != 0);
        Names {
            by_id: by_id.collect(),
            owner_of_toast: owners.map(|relation| ((relation.database, relation.toast), relation)).collect(),
        }
    }

    fn relation(&self, database: Oid, id: Oid) -> Option<&'r Relation> {
        self.by_id.get(&(database, id)).copied()
    }

    /// The table that a relation is or belongs to.
    fn table_of(&self, relation: &Relation) -> String {
        let table = relation.index.as_ref().and_then(|index| self.relation(relation.database, index.table));
        table.map_or_else(|| relation.name.clone(), |table| table.name.clone())
    }

    /// The table whose long values a relation holds.
    fn owner(&self, relation: &Relation) -> Option<&'r Relation> {
        let table = relation.index.as_ref().map_or(relation.id, |index| index.table);
        self.owner_of_toast.get(&(relation.database, table)).copied()
    }

    fn is_meant(&self, relation: &Relation, table: &str, wanted: &str) -> bool {
        is_meant(table, wanted) || self.owner(relation).is_some_and(|owner| is_meant(&owner.name, wanted))
    }

    /// By the schema: ids tell nothing, since single-user mode gives users' objects small ones.
    fn is_own(&self, relation: &Relation) -> bool {
        let of_whom = self.owner(relation).unwrap_or(relation);
        of_whom.name.split('.').nth(1).is_some_and(|schema| OWN_SCHEMAS.contains(&schema))
    }

    fn toast_note(&self, relation: &Relation) -> Option<String> {
        let owner = self.owner(relation)?;
        Some(format!("long values of {}", owner.name))
    }
}

/// Reads single blocks of a subject, through the page cache.
pub(super) struct BlockReader {
    /// Number of the first block, the file, and where the segment begins in it.
    files: Vec<(u32, File, u64)>,
    block_bytes: usize,
    /// Blocks read so far.
    pub(super) read_count: u64,
}

impl BlockReader {
    pub(super) fn open(subject: &RelationFiles, block_bytes: usize) -> io::Result<BlockReader> {
        let files = subject.segments.iter().map(|piece| {
            Ok((piece.first_block, disk::input::File::open(&piece.part.path)?, piece.part.offset_bytes))
        });
        Ok(BlockReader { files: files.collect::<io::Result<_>>()?, block_bytes, read_count: 0 })
    }

    fn place(&self, block: u32) -> Option<(&File, u64)> {
        let (first, file, start) = self.files.iter().rev().find(|(first, ..)| *first <= block)?;
        Some((file, start + u64::from(block - first) * self.block_bytes as u64))
    }

    /// Reads a block into a buffer, which gets exactly its size; no when it is not there.
    pub(super) fn read(&mut self, block: u32, into: &mut Vec<u8>) -> bool {
        self.read_count += 1;
        into.resize(self.block_bytes, 0);
        self.place(block).is_some_and(|(file, offset)| file.read_exact_at(into, offset).is_ok())
    }

    /// Tells the kernel that these blocks will be read.
    pub(super) fn prefetch(&self, blocks: &[u32]) {
        let length = std::num::NonZeroU64::new(self.block_bytes as u64);
        for (file, offset) in blocks.iter().filter_map(|block| self.place(*block)) {
            // Advice only: without it the reads are slower, not wrong.
            let _ = fadvise(file, offset, length, Advice::WillNeed);
        }
    }
}
