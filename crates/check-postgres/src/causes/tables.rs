//! Tables and indexes whose file is missing, out of reach or too short: one finding, with the entries and rows that follow.

use std::collections::{BTreeMap, HashMap};

use check::rule::Rank;
use formats::postgres::file_name::Fork;
use results::check::Finding;
use results::object::{Affected, ObjectCount};
use results::wording::{counted, thousands};

use crate::causes::logs::listed;
use crate::finding::file_finding;
use crate::plan::Plan;
use crate::plan::objects::Matching;
use crate::rules;
use crate::run::report::ReportBuilder;

/// What a finding of a cause is listed under: its rule and object.
type Cause = (String, String);

impl ReportBuilder<'_> {
    /// Makes one finding of entries that name rows past the end of a table, or adds them to the finding about the table's
    /// file. Where the table's other indexes end with it, the index is at fault.
    pub(crate) fn fold_short_tables(&mut self, consequences: Vec<(String, ObjectCount)>, plan: &Plan) {
        let mut tables: BTreeMap<String, Vec<ObjectCount>> = BTreeMap::new();
        for (table, count) in consequences {
            tables.entry(table).or_default().push(count);
        }
        let spaces = self.lost_spaces(plan);
        for (table, mut indexes) in tables {
            indexes.sort_by_key(|count| count.first.object.clone());
            let mut affected = Affected::default();
            indexes.iter().for_each(|count| affected += count.affected);
            // Each index has an entry for a row, partial ones for some.
            let rows = indexes.iter().map(|count| count.affected.entry_count).max();
            affected.row_count = rows.unwrap_or(0);
            let of_index = |count: &ObjectCount| {
                let name = count.first.object.as_deref().unwrap_or("?");
                format!("{} of {name}", thousands(count.affected.entry_count))
            };
            let names: Vec<String> = indexes.iter().map(of_index).collect();
            let noun = if affected.entry_count == 1 { "index entry points" } else { "index entries point" };
            let text = format!(
                "{} {noun} past the end of the table: {}",
                thousands(affected.entry_count),
                listed(&names)
            );
            let cause = self.cause_of_table(&table, &spaces);
            if let Some((rule, object)) = cause {
                let text = match spaces.contains_key(&table) {
                    true => {
                        format!("; {} point to rows of {table}", counted(affected.entry_count, "index entry"))
                    }
                    false => format!("; {text}"),
                };
                self.findings.attribute(&rule, Some(&object), affected, &text);
                continue;
            }
            match has_sound_index(plan, &table, &indexes) {
                true => indexes.into_iter().for_each(|count| self.report_index(count)),
                false => {
                    // That the map describes more blocks follows as well.
                    let map = rules::VISIBILITY_MAP.id;
                    let is_of_map = |finding: &Finding| {
                        finding.object.as_deref() == Some(&table) && finding.page.is_none()
                    };
                    self.findings.take_out(map, is_of_map);
                    self.report_short_table(plan, &table, &indexes, &text, affected);
                }
            }
        }
    }

    /// What was found about the file of a table, or about its tablespace.
    fn cause_of_table(&self, table: &str, spaces: &HashMap<String, Cause>) -> Option<Cause> {
        if let Some(cause) = spaces.get(table) {
            return Some(cause.clone());
        }
        let rule = [&rules::FILE_MISSING, &rules::SEGMENT_MISSING, &rules::PARTIAL_BLOCK, &rules::CATALOG]
            .into_iter()
            .map(|rule| rule.id)
            .find(|rule| {
                self.findings.objects_of(rule).any(|count| count.first.object.as_deref() == Some(table))
            });
        rule.map(|rule| (rule.to_owned(), table.to_owned()))
    }

    /// Relations in tablespaces that are not there, with the finding about the tablespace.
    fn lost_spaces(&self, plan: &Plan) -> HashMap<String, Cause> {
        let rule = rules::TABLESPACE.id;
        let mut found = HashMap::new();
        for (space, files) in &plan.out_of_reach {
            let link = format!("pg_tblspc/{space}");
            let object = self.findings.objects_of(rule).find(|count| count.first.file == link);
            let Some(object) = object.and_then(|count| count.first.object.clone()) else { continue };
            for relation in plan.relations.iter().filter(|relation| {
                relation.tablespace == *space && files.contains(&(relation.database, relation.file_number))
            }) {
                found.insert(relation.name.clone(), (rule.to_owned(), object.clone()));
            }
        }
        found
    }

    /// An index whose entries lead behind a table that ends where its other indexes say.
    fn report_index(&mut self, count: ObjectCount) {
        let mut finding = count.first;
        if count.found_count > 1 {
            finding.found = format!("{}; so in {} entries", finding.found, thousands(count.found_count));
        }
        self.findings.push_affecting(finding, count.affected);
    }

    fn report_short_table(
        &mut self,
        plan: &Plan,
        table: &str,
        indexes: &[ObjectCount],
        text: &str,
        affected: Affected,
    ) {
        let Some(first) = indexes.first().map(|count| &count.first) else { return };
        let number = plan.relations.iter().position(|relation| relation.name == table);
        let file = plan.first_files.iter().rfind(|file| {
            file.relation.map(|number| number as usize) == number
                && file.fork == Fork::Main
                && number.is_some()
        });
        let blocks = number.and_then(|number| plan.blocks.get(number)).copied().unwrap_or(0);
        let is_tree = |count: &ObjectCount| count.first.rule == rules::BTREE_TID.id;
        let rule = if indexes.iter().any(is_tree) { &rules::BTREE_TID } else { &rules::INDEX_TID };
        let shown = file.map_or(first.file.as_str(), |file| file.shown.as_str());
        let expected = format!("all rows that index entries point to, such as {}", first.found);
        let found = format!("the table ends after {}; {text}", counted(u64::from(blocks), "block"));
        let finding = file_finding(rule, shown, Some(table), expected, found);
        self.findings.push_affecting(finding, affected);
    }

    /// Adds rows without index entry, and links between blocks, to what was found about the index itself, and values
    /// without all their chunks to what was found about the TOAST table.
    pub(crate) fn fold_parts(&mut self, plan: &Plan) {
        let spaces = self.lost_spaces(plan);
        let without = rules::ROW_WITHOUT_ENTRY.id;
        let objects: Vec<ObjectCount> = self.findings.objects_of(without).cloned().collect();
        for count in objects {
            let Some(index) = count.first.object.clone() else { continue };
            let own = || Some((self.cause_in_index(&index)?, index.clone()));
            let Some((rule, object)) = spaces.get(&index).cloned().or_else(own) else { continue };
            if self.findings.remove(without, Some(&index)).is_none() {
                continue;
            }
            let rows = counted(count.affected.row_count, "row");
            let verb = if count.affected.row_count == 1 { "has" } else { "have" };
            let text = match spaces.contains_key(&index) {
                true => format!("; {rows} {verb} no entry in {index}"),
                false => format!("; {rows} {verb} no entry in it"),
            };
            self.findings.attribute(&rule, Some(&object), count.affected, &text);
        }
        self.fold_chunks(plan, &spaces);
        self.fold_keys(plan);
    }

    /// Adds keys that seem to stand twice in a unique index to what was found about its table: an entry of a row version that
    /// is lost looks like that of a visible row.
    fn fold_keys(&mut self, plan: &Plan) {
        let unique = rules::BTREE_UNIQUE.id;
        let lost = [&rules::ENTRY_WITHOUT_ROW, &rules::BTREE_TID].map(|rule| rule.id);
        let objects: Vec<ObjectCount> = self.findings.objects_of(unique).cloned().collect();
        for count in objects {
            let index = count
                .first
                .object
                .as_deref()
                .and_then(|name| plan.relations.iter().position(|relation| relation.name == name));
            let heap = index.and_then(|number| plan.trees.get(&(number as u32))?.heap);
            let Some(table) = heap.and_then(|heap| plan.relation(heap)) else { continue };
            let has = |rule: &&&str| {
                self.findings.objects_of(rule).any(|count| count.first.object.as_ref() == Some(&table.name))
            };
            let Some(rule) = lost.iter().find(has) else { continue };
            if self.findings.remove(unique, count.first.object.as_deref()).is_some() {
                let keys = counted(count.found_count, "key");
                let name = count.first.object.as_deref().unwrap_or("?");
                let text = format!("; {keys} of {name} appear twice because of that");
                self.findings.attribute(rule, Some(&table.name), Affected::default(), &text);
            }
        }
    }

    /// A rule about bytes of an index, or about a block that it lost.
    fn cause_in_index(&self, index: &str) -> Option<String> {
        let lost = self.findings.objects().find(|count| {
            let is_link = crate::RULES.role(&count.first.rule).rank == Rank::Link;
            is_link
                && count.first.object.as_deref() == Some(index)
                && count.first.found.starts_with(crate::finding::ZEROS)
        });
        self.findings.cause_in(index).or_else(|| lost.map(|count| count.first.rule.clone()))
    }

    fn fold_chunks(&mut self, plan: &Plan, spaces: &HashMap<String, Cause>) {
        let chunk = rules::TOAST_CHUNK.id;
        for table in plan.tables.values() {
            let owner = table.relation.name.as_str();
            let toast = table.toast_number.and_then(|number| plan.relation(number));
            let Some(toast) = toast.map(|relation| relation.name.as_str()) else { continue };
            if !self.findings.objects_of(chunk).any(|count| count.first.object.as_deref() == Some(owner)) {
                continue;
            }
            let without_row = rules::ENTRY_WITHOUT_ROW.id;
            let of_toast = |count: &&ObjectCount| count.first.object.as_deref() == Some(toast);
            let short = self.findings.objects_of(rules::BTREE_TID.id).find(of_toast);
            let lost = self.findings.objects_of(without_row).find(of_toast);
            let has_lost = lost.is_some();
            let lost_block = lost.filter(|count| count.first.found.contains("zeros"));
            let compared = short.or(lost_block).map(|count| count.first.rule.clone());
            // The row whose value lacks a chunk can be named: it is what a person looks for.
            if compared.is_none()
                && has_lost
                && let Some(entries) = self.findings.remove(without_row, Some(toast))
            {
                let entries = counted(entries.affected.entry_count, "index entry");
                let text = format!("; {entries} of {toast} without chunk");
                self.findings.attribute(chunk, Some(owner), Affected::default(), &text);
            }
            let own = || {
                let rule = self.findings.cause_in(toast).or_else(|| compared.clone())?;
                Some((rule, toast.to_owned()))
            };
            let Some((rule, object)) = spaces.get(toast).cloned().or_else(own) else { continue };
            let Some(count) = self.findings.remove(chunk, Some(owner)) else { continue };
            let rows = counted(count.found_count, "row");
            let text = format!("; {rows} of {owner} without all TOAST chunks");
            // Rows of the TOAST table are counted already where it is short or lost blocks: they are the same rows' values.
            let affected = if compared.is_some() { Affected::default() } else { count.affected };
            self.findings.attribute(&rule, Some(&object), affected, &text);
        }
    }
}

/// Whether an index of the table that has an entry for each row has none behind its end.
fn has_sound_index(plan: &Plan, table: &str, short: &[ObjectCount]) -> bool {
    let Some(number) = plan.relations.iter().position(|relation| relation.name == table) else {
        return false;
    };
    let is_short = |name: &str| short.iter().any(|count| count.first.object.as_deref() == Some(name));
    plan.trees.iter().any(|(index, tree)| {
        tree.heap == Some(number as u32)
            && tree.matching == Matching::Both
            && tree.blocks > 1
            && plan.relation(*index).is_some_and(|relation| !is_short(&relation.name))
    })
}
