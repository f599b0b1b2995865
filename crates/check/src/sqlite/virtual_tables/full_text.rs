//! FTS3, FTS4 and FTS5: the rows that must have each other, then the whole index by SQLite itself, on a copy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use results::check::Confidence;

use super::super::context::{Context, Draft};
use super::super::plan::OwnedValue;
use super::super::rules;
use super::definition::Definition;
use super::engine::{Copy, Verdict};
use super::shadow::{Allowance, for_each_row};

/// How long and how much.
pub(super) struct Limits<'l> {
    pub(super) allowance: &'l mut Allowance,
    pub(super) stop: Option<Arc<AtomicBool>>,
    pub(super) deadline: Option<Instant>,
}

/// Where each rowid of a shadow table is.
type Places = BTreeMap<i64, (u32, usize)>;

/// The rules of one full-text table. Fails with the reason when it cannot be checked.
pub(super) fn check(
    context: &Context<'_>,
    (name, sql): (&str, &str),
    definition: &Definition,
    tree_of: impl Fn(&str) -> Option<usize>,
    limits: Limits<'_>,
) -> Result<Vec<Draft>, String> {
    let copy = Copy::new(name, sql, context.encoding, limits.stop, limits.deadline)?;
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
            let expected = format!("an index of {name} that agrees with its rows");
            let found = format!("{message}, by {}", super::super::versions::own_version());
            let draft = Draft::of_file(&rules::FULL_TEXT, expected, found);
            // Letters beyond ASCII may be classified differently by the version that wrote the index.
            let is_same_version = context.library_version == rusqlite::version_number() as u32;
            let is_certain = is_ascii || is_same_version;
            let confidence = if is_certain { Confidence::Certain } else { Confidence::Possible };
            drafts.push(Draft { tree: main, ..draft.confidence(confidence) });
        }
    }
    Ok(drafts)
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
        let draft = Draft::new(&rules::FULL_TEXT_ROW, *page, expected, "no such row").slot(*slot);
        Draft { tree, ..draft }
    };
    alone.map(draft).collect()
}
