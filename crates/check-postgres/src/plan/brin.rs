//! Which BRIN indexes there are, and which tables have their rows held against them.

use formats::postgres::attribute::Length;
use formats::postgres::file_name::Fork;

use crate::brin::plan::BrinPlan;
use crate::catalog::{IndexColumn, Storage};
use crate::plan::Plan;

impl Plan {
    /// Reads the first block of each BRIN index, and tells which tables have their rows held against them.
    ///
    /// I/O: a block of each.
    pub(crate) fn add_brins(&mut self) {
        for file in self.first_files.iter().filter(|file| file.fork == Fork::Main && !file.temporary) {
            let relation =
                file.relation.and_then(|number| Some((number, self.relations.get(number as usize)?)));
            let Some((number, relation)) = relation.filter(|(_, relation)| relation.storage == Storage::Brin)
            else {
                continue;
            };
            let brin = self.brins.entry(number).or_insert_with(|| BrinPlan {
                number,
                meta: None,
                blocks: self.blocks[number as usize],
                name: relation.name.clone(),
                columns: relation.index.as_ref().map_or_else(Vec::new, |index| index.columns.clone()),
                files: Vec::new(),
                block_bytes: self.block_bytes,
            });
            brin.files.push((file.first_block, file.part.clone()));
        }
        for brin in self.brins.values_mut() {
            brin.files.sort_unstable_by_key(|(first, _)| *first);
            brin.read_meta();
        }
        let mut numbers: Vec<u32> = self.brins.keys().copied().collect();
        numbers.sort_unstable();
        numbers.into_iter().for_each(|number| self.hold_rows_against(number));
    }

    /// Has the rows of a table held against what a BRIN index knows of them, and says what is left out.
    fn hold_rows_against(&mut self, number: u32) {
        let relation = self.relation(number);
        let Some((name, index)) =
            relation.and_then(|relation| Some((relation.name.clone(), relation.index.clone()?)))
        else {
            return;
        };
        let database = self.relations[number as usize].database;
        let heap = self.number_of(database, index.table);
        let table = heap.and_then(|heap| self.tables.get(&heap));
        let why = match table {
            _ if !index.usable => "it is not valid: left by CREATE INDEX CONCURRENTLY, or being built",
            _ if index.partial => "the condition of a partial index is not evaluated",
            None => "its table has no file, or another access method",
            Some(table) if table.attributes.is_empty() => "the columns of its table are unreadable",
            Some(_) => "",
        };
        if !why.is_empty() {
            return self.left_out(&name, "rows against BRIN summaries", why);
        }
        for (position, column) in index.columns.iter().enumerate() {
            if let Some(why) = column.reason_not_compared() {
                self.left_out(&name, &format!("values against summaries in column {}", position + 1), why);
            }
        }
        let is_long = |column: &IndexColumn| {
            column.attribute.length == Length::Variable && column.reason_not_compared().is_none()
        };
        let Some(table) = heap.and_then(|heap| self.tables.get_mut(&heap)) else { return };
        table.summarised_by.push(number);
        if table.toast_number.is_some() && index.columns.iter().any(is_long) {
            self.left_out(&name, "values in TOAST against BRIN summaries", "they are not compared");
        }
    }
}
