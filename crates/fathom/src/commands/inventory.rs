//! `fathom inventory`: which machines and servers there are.

use crate::Verdict;
use crate::arguments::{InventoryArguments, InventoryFormat};
use crate::terminal::print;

pub(crate) fn run(arguments: &InventoryArguments) -> anyhow::Result<Verdict> {
    let rows = lab::inventory::inventory(&arguments.urls);
    match (arguments.json, arguments.format) {
        (true, _) | (_, InventoryFormat::Json) => {
            print(&format!("{}\n", serde_json::to_string_pretty(&rows)?))?;
        }
        (_, InventoryFormat::Csv) => print(&lab::inventory::csv(&rows))?,
        (_, InventoryFormat::Text) => print(&lab::inventory::text(&rows))?,
    }
    // One server that cannot be asked does not hide the others, and is not passed over in silence either.
    Ok(if rows.iter().any(|row| row.problem.is_some()) { Verdict::Findings } else { Verdict::Clean })
}
