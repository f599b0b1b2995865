//! Catalogs that lost rows: one finding for a catalog, with the relations and large objects that miss their rows.

use std::collections::BTreeMap;

use check::rule::Rule;
use formats::postgres::file_name::Fork;
use results::check::Finding;
use results::object::{Affected, ObjectCount};
use results::wording::counted;

use crate::causes::logs::listed;
use crate::plan::Plan;
use crate::rules;
use crate::run::report::ReportBuilder;

/// The catalog of which a row is missed, where it is not the one in whose file others name it.
fn missed_catalog(finding: &Finding) -> Option<String> {
    let column = finding.expected.strip_prefix("a row with ")?.split(' ').next()?;
    let (catalog, _) = column.split_once('.')?;
    let (database, _) = finding.object.as_deref()?.split_once('.')?;
    Some(format!("{database}.pg_catalog.{catalog}"))
}

/// The first file of a relation by its name.
fn main_file(plan: &Plan, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let number = plan.relations.iter().position(|relation| is_wanted(&relation.name))?;
    let file = plan
        .first_files
        .iter()
        .find(|file| file.relation.is_some_and(|of| of as usize == number) && file.fork == Fork::Main);
    file.map(|file| file.shown.clone())
}

impl ReportBuilder<'_> {
    /// Makes one finding for each catalog of which several rows are missed, or adds them to the finding about the catalog's
    /// own file; and adds relations without file to the finding about the map that should name them.
    pub(crate) fn fold_catalogs(&mut self, plan: &Plan) {
        for (rule, noun) in [(&rules::CATALOG_AGREEMENT, "relation"), (&rules::LARGE_OBJECT, "large object")]
        {
            let mut catalogs: BTreeMap<(String, Option<String>), Vec<ObjectCount>> = BTreeMap::new();
            for count in self.findings.objects_of(rule.id) {
                let key = (count.first.file.clone(), missed_catalog(&count.first));
                catalogs.entry(key).or_default().push(count.clone());
            }
            for ((file, catalog), counts) in catalogs {
                let of_name = catalog.and_then(|name| main_file(plan, |relation| relation == name));
                let file = of_name.unwrap_or(file);
                self.fold_catalog(plan, rule, noun, &file, &counts);
            }
        }
        self.fold_maps();
    }

    fn fold_catalog(
        &mut self,
        plan: &Plan,
        rule: &'static Rule,
        noun: &str,
        file: &str,
        counts: &[ObjectCount],
    ) {
        let Some(first) = counts.first().map(|count| &count.first) else { return };
        let of_file = plan.first_files.iter().find(|of| of.shown == file && of.fork == Fork::Main);
        let relation =
            of_file.and_then(|of| plan.relation(of.relation?)).map(|relation| relation.name.clone());
        let name = relation.clone().unwrap_or_else(|| file.to_owned());
        let cause = self.cause_of_catalog(relation.as_deref(), file);
        if counts.len() < 2 && cause.is_none() {
            return;
        }
        let mut names: Vec<String> = counts.iter().filter_map(|count| count.first.object.clone()).collect();
        names.sort();
        for count in counts {
            self.findings.remove(rule.id, count.first.object.as_deref());
        }
        let verb = if counts.len() == 1 { "misses" } else { "miss" };
        let text = format!("{} {verb} rows in it: {}", counted(counts.len() as u64, noun), listed(&names));
        match cause {
            Some((rule, object)) => {
                let text = format!("; {text}");
                self.findings.attribute(&rule, object.as_deref(), Affected::default(), &text);
            }
            None => {
                let mut finding = first.clone();
                finding.file = file.to_owned();
                finding.expected = format!("all rows of {name}; {}", first.expected);
                finding.found = format!("{text}; the first: {}", first.found);
                finding.object = Some(name);
                self.findings.push(finding);
            }
        }
    }

    /// What was found about the file of a catalog, or about the catalogs of its database: rule and object.
    fn cause_of_catalog(&self, relation: Option<&str>, file: &str) -> Option<(String, Option<String>)> {
        let of_relation = relation.and_then(|name| {
            let compared = [&rules::ENTRY_WITHOUT_ROW, &rules::BTREE_TID, &rules::VISIBILITY_MAP];
            let compared = compared.into_iter().map(|rule| rule.id.to_owned()).find(|rule| {
                self.findings.objects_of(rule).any(|count| count.first.object.as_deref() == Some(name))
            });
            let own = self.findings.cause_in(name).filter(|rule| rule != rules::CATALOG_AGREEMENT.id);
            Some((own.or(compared)?, Some(name.to_owned())))
        });
        let of_database = || {
            let directory = file.rsplit_once('/')?.0;
            let rule = rules::CATALOG.id;
            let is_of_database = |count: &&ObjectCount| {
                let of = &count.first.file;
                of == directory || of.rsplit_once('/').is_some_and(|(above, _)| above == directory)
            };
            let found = self.findings.objects_of(rule).find(is_of_database)?;
            Some((rule.to_owned(), found.first.object.clone()))
        };
        of_relation.or_else(of_database)
    }

    /// A relation whose file number comes from a damaged map has no file by a wrong number.
    fn fold_maps(&mut self) {
        let map = rules::RELATION_MAP.id;
        let maps: Vec<ObjectCount> = self.findings.objects_of(map).cloned().collect();
        let missing = rules::FILE_MISSING.id;
        for count in maps {
            let directory = count.first.file.rsplit_once('/').map_or("", |(directory, _)| directory);
            let database = directory.rsplit('/').next().and_then(|oid| oid.parse::<u32>().ok()).unwrap_or(0);
            let prefix = format!("database {database} ");
            let objects: Vec<ObjectCount> = self.findings.objects_of(missing).cloned().collect();
            let mut affected = Affected::default();
            let mut names = Vec::new();
            for lost in objects.into_iter().filter(|lost| lost.first.file.starts_with(&prefix)) {
                if let Some(lost) = self.findings.remove(missing, lost.first.object.as_deref()) {
                    affected += lost.affected;
                    names.extend(lost.first.object);
                }
            }
            if !names.is_empty() {
                let text = format!("; no file for {}", listed(&names));
                self.findings.attribute(map, count.first.object.as_deref(), affected, &text);
            }
        }
    }
}
