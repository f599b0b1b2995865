//! The scratch tables of a table's expressions: as few as the number of columns allows, each made in one statement.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::catalog::definitions::{Affinity, TableColumn, VIRTUAL_COLUMN, quoted};
use crate::catalog::expressions::{ColumnText, TableText, Vocabulary, names, vocabulary};
use crate::catalog::scratch::evaluation::{Evaluation, Part, ValueTest, Wish};
use crate::versions::{Columns, Dependence};
use formats::sqlite::{Collation, Encoding};

/// A table as far as its expressions need it.
pub(crate) struct ScratchTable<'a> {
    pub(crate) columns: &'a [TableColumn],
    pub(crate) text: &'a TableText,
    /// Columns in the order of the record.
    pub(crate) stored: &'a [usize],
    /// The column that is the rowid.
    pub(crate) alias: Option<usize>,
    pub(crate) is_strict: bool,
    pub(crate) encoding: Encoding,
}

/// What an expression takes: names in it, those in the generated columns among them too.
pub(super) struct Taken {
    names: HashSet<String>,
    /// The columns among the names.
    pub(super) columns: BTreeSet<usize>,
    vocabulary: Vocabulary,
}

/// The columns of a table by their names in small letters.
pub(super) struct ByName<'a> {
    columns: HashMap<String, usize>,
    texts: HashMap<String, &'a ColumnText>,
}

impl ScratchTable<'_> {
    pub(super) fn by_name(&self) -> ByName<'_> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(index, column)| (column.name.to_ascii_lowercase(), index));
        let texts = self.text.columns.iter().map(|text| (text.name.to_ascii_lowercase(), text));
        ByName { columns: columns.collect(), texts: texts.collect() }
    }

    pub(super) fn evaluation(
        &self,
        parts: &[Vec<usize>],
        wishes: &[Wish],
        taken: &[Taken],
        by_name: &ByName<'_>,
    ) -> Evaluation {
        let of_record: HashMap<usize, usize> =
            self.stored.iter().enumerate().map(|(place, column)| (*column, place)).collect();
        let (mut bound, mut inputs) = (Vec::new(), HashMap::new());
        for column in taken_columns(parts.iter().flatten(), taken) {
            let is_alias = self.alias == Some(column);
            let place = of_record.get(&column).copied();
            if self.is_put_in(column) && (is_alias || place.is_some()) {
                inputs.insert(column, bound.len());
                bound.push(place.filter(|_| !is_alias));
            }
        }
        let mut evaluation = Evaluation {
            encoding: self.encoding,
            parts: Vec::new(),
            bound,
            tests: Vec::new(),
            dependences: Vec::new(),
        };
        for (number, part) in parts.iter().enumerate() {
            let put_in =
                taken_columns(part.iter(), taken).into_iter().filter(|column| inputs.contains_key(column));
            let put_in: Vec<usize> = put_in.collect();
            let columns: Vec<&TableColumn> =
                put_in.iter().filter_map(|column| self.columns.get(*column)).collect();
            let named: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
            let places = vec!["?"; named.len()].join(", ");
            let insert = match named.as_slice() {
                [] => format!("INSERT INTO scratch{number} DEFAULT VALUES"),
                _ => format!("INSERT INTO scratch{number}({}) VALUES ({places})", named.join(", ")),
            };
            evaluation.parts.push(Part {
                making: self.create_table(number, part, (wishes, taken), by_name),
                insert,
                select: select(number, part),
                delete: format!("DELETE FROM scratch{number}"),
                inputs: put_in.iter().filter_map(|column| inputs.get(column).copied()).collect(),
            });
            let tests = part.iter().filter_map(|wish| wishes.get(*wish)?.test.clone());
            evaluation.tests.extend::<Vec<ValueTest>>(tests.collect());
            let dependences = part.iter().filter_map(|wish| taken.get(*wish)).map(|taken| {
                let inputs = taken.columns.iter().filter_map(|column| inputs.get(column).copied()).collect();
                Dependence::of(&taken.vocabulary, inputs, self.columns_taken(taken))
            });
            evaluation.dependences.extend(dependences);
        }
        evaluation
    }

    /// Whether a column of the scratch table gets a value: it is not computed there.
    fn is_put_in(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|column| column.hidden != VIRTUAL_COLUMN)
    }

    pub(super) fn taken_by(&self, wish: &Wish, by_name: &ByName<'_>) -> Taken {
        let stored_in = wish.stored_in.iter().map(|column| column.to_ascii_lowercase());
        let mut open: Vec<String> = names(&wish.expression).chain(stored_in).collect();
        let mut taken = Taken {
            names: HashSet::new(),
            columns: BTreeSet::new(),
            vocabulary: vocabulary(&wish.expression),
        };
        // Each name is taken up once.
        while let Some(name) = open.pop() {
            let column = by_name.columns.get(&name).copied();
            if let Some(column) = column.filter(|column| taken.columns.insert(*column)) {
                let is_computed = !self.is_put_in(column);
                let text = by_name.texts.get(&name).filter(|_| is_computed);
                if let Some(expression) = text.and_then(|text| text.generated.as_ref()) {
                    open.extend(names(expression));
                    taken.vocabulary.add(vocabulary(expression));
                }
            }
            taken.names.insert(name);
        }
        taken
    }

    /// The virtual columns of a result, for the definition of a scratch table.
    fn result_columns(&self, wish: &Wish, place: usize, by_name: &ByName<'_>) -> Vec<String> {
        let add =
            |name: &str, declared: &str, expression: &str| format!("{name} {declared} AS ({expression}\n)");
        let Some(name) = &wish.stored_in else {
            return vec![add(&result_name(place), "", &wish.expression)];
        };
        let column =
            by_name.columns.get(&name.to_ascii_lowercase()).and_then(|column| self.columns.get(*column));
        let declared = column.map(|column| self.declared_type(column)).unwrap_or_default();
        let typed = format!("\"fathom typed {place}\"");
        let compared = format!("{} COLLATE BINARY IS {typed}", quoted(name));
        vec![add(&typed, &declared, &wish.expression), add(&result_name(place), "", &compared)]
    }

    fn declared_type(&self, column: &TableColumn) -> String {
        // EVIDENCE: sqlite stricttables 2: ANY is no affinity there, and NUMERIC elsewhere
        let is_any = self.is_strict && column.declared_type.eq_ignore_ascii_case("ANY");
        let is_untyped = is_any || column.declared_type.is_empty();
        if is_untyped { String::new() } else { quoted(&column.declared_type) }
    }

    fn columns_taken(&self, taken: &Taken) -> Columns {
        let mut columns = Columns::default();
        for column in taken.columns.iter().filter_map(|column| self.columns.get(*column)) {
            let declared = column.declared_type.to_ascii_uppercase();
            columns.has_text |= Affinity::of(&declared) == Affinity::Text;
            columns.has_real |=
                column.hidden != 0 && ["REAL", "FLOA", "DOUB"].iter().any(|part| declared.contains(part));
        }
        columns
    }

    /// A column as it is declared, without constraints; an error when its collation is not built in.
    pub(super) fn column(&self, column: &TableColumn, by_name: &ByName<'_>) -> Result<String, String> {
        let text = by_name.texts.get(&column.name.to_ascii_lowercase());
        let collation = match text.and_then(|text| text.collation.as_ref()) {
            Some(name) if Collation::named(name).is_none() => {
                return Err(format!("collation {name} is defined by the application"));
            }
            Some(name) => format!(" COLLATE {name}"),
            None => String::new(),
        };
        let generated = match text.and_then(|text| text.generated.as_ref()) {
            Some(expression) if column.hidden == VIRTUAL_COLUMN => format!(" AS ({expression}\n)"),
            None if column.hidden == VIRTUAL_COLUMN => {
                return Err(format!("the expression of column {} was not found", column.name));
            }
            _ => String::new(),
        };
        Ok(format!("{} {}{collation}{generated}", quoted(&column.name), self.declared_type(column)))
    }

    /// The statement that makes the scratch table of some wishes, none of which has a column that cannot be made.
    pub(super) fn create_table(
        &self,
        number: usize,
        part: &[usize],
        (wishes, taken): (&[Wish], &[Taken]),
        by_name: &ByName<'_>,
    ) -> String {
        // A table needs one column that is not generated, and its rowid is not looked at.
        let mut columns = vec!["\"fathom row\"".to_owned()];
        let named =
            taken_columns(part.iter(), taken).into_iter().filter_map(|column| self.columns.get(column));
        columns.extend(named.filter_map(|column| self.column(column, by_name).ok()));
        for wish in part {
            let Some(asked) = wishes.get(*wish) else { continue };
            columns.extend(self.result_columns(asked, *wish, by_name));
        }
        format!("CREATE TABLE scratch{number}({});", columns.join(", "))
    }
}

fn taken_columns<'w>(wishes: impl Iterator<Item = &'w usize>, taken: &[Taken]) -> BTreeSet<usize> {
    wishes.filter_map(|wish| taken.get(*wish)).flat_map(|taken| &taken.columns).copied().collect()
}

pub(super) fn select(number: usize, wishes: &[usize]) -> String {
    let results: Vec<String> = wishes.iter().map(|wish| result_name(*wish)).collect();
    format!("SELECT {} FROM scratch{number}", results.join(", "))
}

fn result_name(wish: usize) -> String {
    format!("\"fathom result {wish}\"")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use formats::sqlite::Value;

    use super::*;
    use crate::catalog::expressions::table_text;
    use crate::catalog::scratch::Evaluator;
    use crate::plan::OwnedValue;

    fn columns(count: usize) -> Vec<TableColumn> {
        let column = |index| TableColumn {
            name: format!("c{index}"),
            declared_type: "INT".to_owned(),
            is_not_null: false,
            default: None,
            key_position: 0,
            hidden: 0,
        };
        (0..count).map(column).collect()
    }

    /// Results for a row with 7 in each column, and the statements that SQLite was given for the plan.
    fn computed(column_count: usize, expressions: Vec<String>) -> (Vec<Option<OwnedValue>>, u64) {
        let columns = columns(column_count);
        let text = table_text("CREATE TABLE t(c0 INT)").unwrap();
        let stored: Vec<usize> = (0..column_count).collect();
        let table = ScratchTable {
            columns: &columns,
            text: &text,
            stored: &stored,
            alias: None,
            is_strict: false,
            encoding: Encoding::Utf8,
        };
        let wishes =
            expressions.into_iter().map(|expression| Wish { expression, test: None, stored_in: None });
        let (evaluation, outcomes, statement_count) = table.counted_plan(wishes.collect());
        let evaluation = evaluation.unwrap();
        let mut results = Vec::new();
        let values = evaluation.bound.iter().map(|_| Value::Integer(7));
        Evaluator::new(&evaluation).unwrap().evaluate(&evaluation, values, &mut results).unwrap();
        let result = |outcome: Result<usize, String>| results.get(outcome.ok()?).cloned();
        (outcomes.into_iter().map(result).collect(), statement_count)
    }

    #[test]
    fn two_thousand_constraints_take_a_few_statements() {
        let expressions = (0..2000).map(|number| format!("c{} + {number}", number % 3)).collect();
        let (results, statement_count) = computed(3, expressions);
        let expected: Vec<_> = (0..2000).map(|number| Some(OwnedValue::Integer(7 + number))).collect();
        assert_eq!(results, expected);
        assert!(statement_count <= 10, "{statement_count} statements");
    }

    #[test]
    fn a_constraint_that_cannot_be_computed_is_found_by_halves() {
        let mut expressions: Vec<String> = (0..1000).map(|number| format!("c1 * {number}")).collect();
        expressions[640] = "no_such_function(c0)".to_owned();
        expressions[641] = "random()".to_owned();
        let (results, statement_count) = computed(2, expressions);
        let missing: Vec<usize> = (0..1000).filter(|index| results[*index].is_none()).collect();
        assert_eq!(missing, [640, 641]);
        assert_eq!(results[642], Some(OwnedValue::Integer(7 * 642)));
        assert!(statement_count < 100, "{statement_count} statements");
    }

    #[test]
    fn a_table_with_as_many_columns_as_sqlite_allows_is_computed() {
        let (results, _) = computed(2000, vec!["c0 + c1999".to_owned(), "c1000 > 7".to_owned()]);
        assert_eq!(results, [Some(OwnedValue::Integer(14)), Some(OwnedValue::Integer(0))]);
    }
}
