//! What a check knows before its pass: schema, plans and the map of pages.

use formats::sqlite::Geometry;
use results::check::CheckLevel;

use check::options::Options;

use crate::catalog::schema::{SchemaRow, SchemaRows, read_schema};
use crate::catalog::verdict::{Refused, verdict as ask};
use crate::map::PageMap;
use crate::plan::{Plans, plan};
use crate::source::anchor::Anchor;
use crate::source::fields::{DESCENDING_FORMAT, descending_tree};

/// Most memory for links between pages: they are wanted range by range, so that more would not make a check faster.
const LINK_BYTES_MAX: u64 = 16 << 20;

/// What every level needs before the pass.
pub(crate) struct Prepared {
    pub(crate) schema: SchemaRows,
    /// What SQLite says to the rows of the schema; why it could not be asked, when it could not.
    pub(crate) verdict: Result<Vec<Refused>, String>,
    pub(crate) plans: Plans,
    /// A tree whose descending order shows that the schema format of the header is wrong.
    pub(crate) descending: Option<String>,
    pub(crate) map: PageMap,
}

pub(crate) fn prepare(anchor: &Anchor, geometry: Geometry, options: &Options) -> Prepared {
    let mut schema = SchemaRows::default();
    let (mut plans, mut descending) = (Plans::default(), None);
    let mut verdict = Ok(Vec::new());
    let brake = &anchor.reader.brake;
    let is_deep = options.level >= CheckLevel::Structure && anchor.page_count > 0;
    let page_count = if is_deep { anchor.page_count } else { 0 };
    let mut map = PageMap::new(geometry, page_count, (options.memory_bytes_max / 8).min(LINK_BYTES_MAX));
    if is_deep {
        schema = read_schema(&anchor.reader, geometry, anchor.header.encoding, anchor.page_count);
        let mut rows = std::mem::take(&mut schema.resolved);
        verdict = ask(&mut rows, anchor.header.encoding, anchor.page_count, brake);
        schema.set_resolved(rows);
        plans = plan(&schema, anchor.header.encoding, anchor.header.schema_format, brake);
        let is_older = (1..DESCENDING_FORMAT).contains(&anchor.header.schema_format);
        let has_word = |row: &SchemaRow| {
            row.definition.as_deref().is_some_and(|sql| sql.to_ascii_uppercase().contains("DESC"))
        };
        if is_older && schema.rows.iter().any(has_word) {
            let falling = plan(&schema, anchor.header.encoding, DESCENDING_FORMAT, brake);
            descending = descending_tree(&anchor.reader, geometry, anchor.header.encoding, &falling);
            plans = if descending.is_some() { falling } else { plans };
        }
        // Trees first: a page that is also on the freelist keeps its rows.
        map.add_trees(&anchor.reader, &plans);
        map.add_free_list(&anchor.reader, anchor.header.freelist_trunk, anchor.header.freelist_count);
        // The pages of an object without a root page are not lost, only not found.
        map.is_cut |= anchor.is_header_lost();
        map.is_cut |= schema.resolved.iter().any(|row| row.row.kind.has_tree() && row.row.root == 0);
    }
    Prepared { schema, verdict, plans, descending, map }
}
