//! A database file opened to look at single pages.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use formats::sqlite::{Geometry, Trunk};

use crate::catalog::schema::read_schema;
use crate::source::anchor::{Anchor, AnchorError};

/// A database file with its log laid over it.
pub(crate) struct Opened {
    anchor: Anchor,
    geometry: Geometry,
    free: OnceCell<HashMap<u32, bool>>,
}

/// Why a page of a database file cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum OpenedError {
    /// The file cannot be opened, or somebody writes it.
    #[error("{0}")]
    Anchor(String),
    /// The header does not tell the page size.
    #[error("cannot decode \"{}\": its header has no valid page size", .0.display())]
    Geometry(PathBuf),
    /// The page is not there.
    #[error("could not read page {page} of \"{}\": it has pages 1 to {page_count}", path.display())]
    Beyond {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u32,
        /// Pages that it has.
        page_count: u32,
    },
}

impl From<AnchorError> for OpenedError {
    fn from(error: AnchorError) -> Self {
        Self::Anchor(error.to_string().replace("cannot check", "cannot decode"))
    }
}

/// The root of a table or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) page: u32,
    is_table: bool,
    name: String,
    table_name: String,
}

impl Root {
    /// Kind and name, and the table of an index.
    pub(crate) fn words(&self) -> String {
        if self.is_table {
            format!("table {} (root page {})", self.name, self.page)
        } else {
            format!("index {} of table {} (root page {})", self.name, self.table_name, self.page)
        }
    }
}

impl Opened {
    /// The tables and indexes that the file has pages of, its schema first; reads the pages of the schema.
    pub(crate) fn roots(&self) -> Vec<Root> {
        let anchor = &self.anchor;
        let schema = read_schema(&anchor.reader, self.geometry, anchor.header.encoding, anchor.page_count);
        let own = Root {
            page: 1,
            is_table: true,
            name: "sqlite_schema".to_owned(),
            table_name: "sqlite_schema".to_owned(),
        };
        let rows = schema.rows.into_iter().map(|row| Root {
            page: row.root,
            is_table: row.is_table,
            name: row.name,
            table_name: row.table_name,
        });
        std::iter::once(own).chain(rows).collect()
    }

    pub(crate) fn new(path: &Path) -> Result<Self, OpenedError> {
        let anchor = Anchor::new(path)?;
        let geometry = anchor.geometry.ok_or_else(|| OpenedError::Geometry(path.to_path_buf()))?;
        Ok(Self { anchor, geometry, free: OnceCell::new() })
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn page_count(&self) -> u32 {
        self.anchor.page_count
    }

    pub(crate) fn is_in_log(&self, page: u32) -> bool {
        self.anchor.reader.pages_in_log(page, page.saturating_add(1)).next().is_some()
    }

    pub(crate) fn page(&self, page: u32) -> Result<Vec<u8>, OpenedError> {
        let mut bytes = Vec::new();
        let is_there = (1..=self.anchor.page_count).contains(&page);
        if is_there && self.anchor.reader.read(page, &mut bytes).is_ok() {
            return Ok(bytes);
        }
        let page_count = self.anchor.page_count;
        Err(OpenedError::Beyond { path: self.anchor.path.clone(), page, page_count })
    }

    /// Whether a page is a trunk (true) or a leaf (false) of the free list; `None` when it is not on it.
    pub(crate) fn free_list_place(&self, page: u32) -> Option<bool> {
        self.free.get_or_init(|| self.free_list()).get(&page).copied()
    }

    fn free_list(&self) -> HashMap<u32, bool> {
        let mut places = HashMap::new();
        let mut trunk = self.anchor.header.freelist_trunk;
        // Each trunk is taken once, so that the walk ends with the file.
        while trunk != 0 && !places.contains_key(&trunk) {
            let Ok(bytes) = self.page(trunk) else { break };
            places.insert(trunk, true);
            let usable = bytes.get(..self.geometry.usable_bytes as usize).unwrap_or(&bytes);
            let view = Trunk::new(usable).0;
            view.leaves().for_each(|leaf| {
                places.entry(leaf).or_insert(false);
            });
            trunk = view.next;
        }
        places
    }
}
