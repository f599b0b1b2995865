//! Rows and index entries that have no counterpart: their values, and where the two of one row differ.

use std::collections::HashMap;

use formats::sqlserver::{Record, RecordId};

use crate::finding::Draft;
use crate::matching::facts::Fact;
use crate::plan::{BaseColumn, IndexPlan, Unit};
use crate::run::context::Context;

/// So many entries without row are read at least, to put those of one row together.
const LOST_ENTRIES_MAX: usize = 4096;

/// What is known of rows and entries without counterpart.
#[derive(Default)]
pub(crate) struct Counterparts {
    /// The row of an entry that has another value, by the place of the entry.
    pub(crate) pairs: HashMap<RecordId, RecordId>,
    /// The clustered key or RID in an entry without row, by its place, with the table.
    pub(crate) locators: HashMap<RecordId, (u32, String)>,
}

/// Says in findings about rows and entries of an index without counterpart what their values are. Looks at the first of each
/// side again. Adds what connects them to `counterparts`; `table` stands for the table of the index there.
///
/// I/O: a page for each of them; as many as findings are listed, and of entries [`LOST_ENTRIES_MAX`].
pub(crate) fn show_values(
    context: &Context<'_>,
    (index, table): (u32, u32),
    (rows, entries): (&[Fact], &[Fact]),
    drafts: &mut [Draft],
    counterparts: &mut Counterparts,
) {
    let Some(plan) = context.plan.indexes.get(index as usize) else { return };
    let (told, pairs, locators) = tell(context, plan, rows, entries);
    counterparts.pairs.extend(pairs);
    counterparts.locators.extend(locators.into_iter().map(|(place, locator)| (place, (table, locator))));
    for draft in drafts {
        let Some((page, slot)) = draft.page.zip(draft.slot.and_then(|slot| u16::try_from(slot).ok())) else {
            continue;
        };
        if let Some(found) = told.get(&RecordId { page, slot }) {
            draft.found.clone_from(found);
        }
    }
}

/// By their places: what is found for rows and entries, the row of each entry, where it was found, and what entries know
/// of their row.
type Told = (HashMap<RecordId, String>, HashMap<RecordId, RecordId>, HashMap<RecordId, String>);

fn tell(context: &Context<'_>, plan: &IndexPlan, rows: &[Fact], entries: &[Fact]) -> Told {
    let (mut told, mut pairs, mut locators) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut by_locator: HashMap<String, (RecordId, Vec<String>)> = HashMap::new();
    for fact in entries.iter().take(context.findings_per_rule_max.max(LOST_ENTRIES_MAX)) {
        let values = |unit: &Unit, record: &Record<'_>| {
            let values = plan.entry.iter().map(|column| unit.column_text(column, record));
            Some((unit.locator_text(record, fact.place), values.collect::<Vec<_>>()))
        };
        let Some((locator, values)) = context.with_record(fact.place, values) else { continue };
        told.insert(fact.place, format!("none for the entry of {}: {}", plan.name, shown(&values, plan)));
        locators.extend(locator.clone().map(|locator| (fact.place, locator)));
        by_locator.extend(locator.map(|locator| (locator, (fact.place, values))));
    }
    for fact in rows.iter().take(context.findings_per_rule_max) {
        let values = |unit: &Unit, record: &Record<'_>| {
            let value = |source: &BaseColumn| match source {
                BaseColumn::Column(column) => unit.column_text(column, record),
                BaseColumn::Locator => String::new(),
            };
            let values = plan.base.iter().map(value);
            Some((unit.locator_text(record, fact.place), values.collect::<Vec<_>>()))
        };
        let Some((locator, values)) = context.with_record(fact.place, values) else { continue };
        let entry = locator.and_then(|locator| by_locator.get(&locator));
        match entry.and_then(|(place, others)| Some((place, differing(&values, others, plan)?))) {
            Some((place, text)) => {
                pairs.insert(*place, fact.place);
                told.insert(*place, text.clone());
                told.insert(fact.place, text);
            }
            None => {
                told.insert(fact.place, format!("none with {}", shown(&values, plan)));
            }
        }
    }
    (told, pairs, locators)
}

/// The columns in which a row and its entry differ.
fn differing(row: &[String], entry: &[String], plan: &IndexPlan) -> Option<String> {
    let pairs = row.iter().zip(entry).zip(&plan.base);
    let is_meant =
        |row: &str, entry: &str, source: &BaseColumn| row != entry && matches!(source, BaseColumn::Column(_));
    let (row, entry): (Vec<&str>, Vec<&str>) = pairs
        .filter(|((row, entry), source)| is_meant(row, entry, source))
        .map(|((row, entry), _)| (row.as_str(), entry.as_str()))
        .unzip();
    let text = format!("row: {}; index entry: {}", row.join(", "), entry.join(", "));
    (!row.is_empty()).then_some(text)
}

/// Columns with their values, without the RID.
fn shown(values: &[String], plan: &IndexPlan) -> String {
    let columns = values.iter().zip(&plan.base).filter(|(_, source)| matches!(source, BaseColumn::Column(_)));
    columns.map(|(value, _)| value.as_str()).collect::<Vec<_>>().join(", ")
}
