//! FTS3, FTS4 and FTS5: the rows that must have each other, then the whole index by SQLite itself, on a copy.

use std::collections::BTreeMap;

use results::check::Confidence;

use crate::finding::Draft;
use crate::plan::OwnedValue;
use crate::rules;
use crate::run::context::Context;
use crate::virtual_tables::definition::Definition;
use crate::virtual_tables::engine::{Copy, Patience, Verdict};
use crate::virtual_tables::shadow::{Allowance, for_each_row};
use crate::virtual_tables::tables::Tables;
use crate::virtual_tables::words;
use crate::virtual_tables::words::ShadowPlace;

/// How long and how much.
pub(super) struct Limits<'l, 'r> {
    pub(super) allowance: &'l mut Allowance<'r>,
    pub(super) patience: Patience,
}

/// Where each rowid of a shadow table is.
type Places = BTreeMap<i64, (u32, usize)>;

/// The rules of one full-text table. Fails with the reason when it cannot be checked.
pub(super) fn check(
    context: &Context<'_>,
    (name, sql): (&str, &str),
    definition: &Definition,
    tables: &Tables<'_>,
    limits: Limits<'_, '_>,
) -> Result<Vec<Draft>, String> {
    let copy = Copy::new((name, sql), context.encoding, limits.patience.clone())?;
    let tree_of = |shadow: &str| tables.tree(shadow);
    let main = tree_of(&format!("{name}_data")).or_else(|| tree_of(&format!("{name}_segdir")));
    let mut places: BTreeMap<String, Places> = BTreeMap::new();
    let mut drafts = Vec::new();
    let mut is_ascii = true;
    for shadow in copy.shadows.clone() {
        let Some(tree) = tree_of(&shadow) else {
            let draft =
                Draft::of_file(&rules::FULL_TEXT, format!("the shadow table {shadow}"), "no such table");
            drafts.push(Draft { tree: main, ..draft });
            continue;
        };
        let columns = copy.columns(&shadow)?;
        let named = columns.iter().map(|(column, _)| column.as_str());
        if let Some(draft) = tables.other_columns(&rules::FULL_TEXT, &shadow, named) {
            drafts.push(draft);
            continue;
        }
        let root = context.plans.trees.get(tree).map_or(0, |plan| plan.root);
        let kind = shadow.get(name.len()..).unwrap_or_default().to_owned();
        let seen = places.entry(kind.clone()).or_default();
        for_each_row(context, root, limits.allowance, |row| {
            seen.insert(row.rowid, (row.page, row.slot));
            is_ascii &= kind != "_content" || row.values.iter().all(is_plain);
            copy.insert(&shadow, &columns, &row)
        })?;
    }
    if !drafts.is_empty() {
        return Ok(drafts);
    }
    let has_own_content = definition.option("content").is_none();
    if let (true, Some(content), Some(docsize)) =
        (has_own_content, places.get("_content"), places.get("_docsize"))
    {
        let tree = |kind: &str| tree_of(&format!("{name}{kind}"));
        drafts.extend(without_partner((content, tree("_content")), docsize, &format!("{name}_docsize")));
        drafts.extend(without_partner((docsize, tree("_docsize")), content, &format!("{name}_content")));
    }
    if !drafts.is_empty() {
        return Ok(drafts);
    }
    match copy.verdict() {
        Verdict::Intact => {}
        Verdict::Unknown(reason) => return Err(reason),
        Verdict::Damaged(message) => {
            let has_content = has_own_content && places.contains_key("_content");
            let intact = || Copy::made((name, sql), context.encoding, limits.patience.clone()).ok();
            let intact = if has_content { intact() } else { None };
            let place = match definition.module.as_str() {
                "fts5" => words::of_fts5(&copy, &message, intact.as_ref()),
                _ => words::of_fts3(&copy, intact.as_ref()),
            };
            let mut draft = placed(name, place.as_ref(), &places, &tree_of, main);
            draft.found = format!("{message}, by {}", crate::versions::own_version());
            drafts.push(draft.confidence(confidence(context, is_ascii)));
        }
    }
    Ok(drafts)
}

/// Letters beyond ASCII may be classified differently by the version that wrote the index.
fn confidence(context: &Context<'_>, is_ascii: bool) -> Confidence {
    let is_same_version = context.library_version == rusqlite::version_number() as u32;
    if is_ascii || is_same_version { Confidence::Certain } else { Confidence::Possible }
}

/// A finding about the row of a shadow table in which an index differs; without one, about the first row of its index.
fn placed(
    name: &str,
    place: Option<&ShadowPlace>,
    places: &BTreeMap<String, Places>,
    tree_of: &impl Fn(&str) -> Option<usize>,
    main: Option<usize>,
) -> Draft {
    let agrees = format!("an index of {name} that agrees with its rows");
    let at = place.and_then(|place| Some((place, *places.get(place.kind)?.get(&place.rowid)?)));
    if let Some((place, (page, slot))) = at {
        let expected = format!("{agrees}: {} with rowid {} in {name}{}", place.what, place.rowid, place.kind);
        let mut draft = Draft::new(&rules::FULL_TEXT, page, expected, "").slot(slot);
        draft.row = Some(format!("rowid = {}", place.rowid));
        return Draft { tree: tree_of(&format!("{name}{}", place.kind)), ..draft };
    }
    let rows = ["_data", "_segdir"].iter().find_map(|kind| places.get(*kind));
    let draft = match rows.and_then(|rows| rows.values().next()) {
        Some((page, slot)) => Draft::new(&rules::FULL_TEXT, *page, agrees, "").slot(*slot),
        None => Draft::of_file(&rules::FULL_TEXT, agrees, ""),
    };
    Draft { tree: main, ..draft }
}

fn is_plain(value: &OwnedValue) -> bool {
    match value {
        OwnedValue::Text(bytes) | OwnedValue::Blob(bytes) => bytes.is_ascii() && !bytes.contains(&0),
        OwnedValue::Real(_) => false,
        _ => true,
    }
}

/// Rows of one shadow table without the row of the same key in the other.
fn without_partner((rows, tree): (&Places, Option<usize>), partners: &Places, partner: &str) -> Vec<Draft> {
    let alone = rows.iter().filter(|(rowid, _)| !partners.contains_key(rowid));
    let draft = |(rowid, (page, slot)): (&i64, &(u32, usize))| {
        let expected = format!("a row with rowid {rowid} in {partner}");
        let mut draft = Draft::new(&rules::FULL_TEXT_ROW, *page, expected, "no such row").slot(*slot);
        draft.row = Some(format!("rowid = {rowid}"));
        Draft { tree, ..draft }
    };
    alone.map(draft).collect()
}
