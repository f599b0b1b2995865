//! One statement: its text, its variables, and what becomes of its result.

use std::ops::Range;

use crate::names::{Names, Slot, continues_name, starts_name};
use crate::sql::expect::Expect;
use crate::variables::Variables;

/// A statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    text: String,
    variables: Vec<(Range<usize>, Slot)>,
    numbered: String,
    parameters: Vec<Slot>,
    store: Option<Store>,
    expect: Option<Expect>,
}

/// Where the result of a statement goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// `\aset`: the last row of each result of a combined query. `\gset`: the only row of its last result.
    pub is_aset: bool,
    /// Before the names of the columns; often empty.
    pub prefix: String,
}

impl Statement {
    /// Finds the variables of a statement: a colon and a name, in quotes and comments too, but not after `::`.
    pub(crate) fn new(text: String, names: &mut Names) -> Self {
        let bytes = text.as_bytes();
        let mut variables = Vec::new();
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b':')) {
            at += found;
            let name = at + 1;
            if bytes.get(name).copied().is_some_and(starts_name) {
                let length = bytes[name..].iter().take_while(|byte| continues_name(**byte)).count();
                variables.push((at..name + length, names.intern(&text[name..name + length])));
                at = name + length;
            } else {
                at += bytes[at..].iter().take_while(|byte| **byte == b':').count();
            }
        }
        let mut numbered = String::with_capacity(text.len());
        let mut copied = 0;
        for (index, (range, _)) in variables.iter().enumerate() {
            numbered.push_str(&text[copied..range.start]);
            numbered.push_str(&format!("${}", index + 1));
            copied = range.end;
        }
        numbered.push_str(&text[copied..]);
        let parameters = variables.iter().map(|(_, slot)| *slot).collect();
        Self { text, variables, numbered, parameters, store: None, expect: None }
    }

    pub(crate) fn set_store(&mut self, store: Store) {
        self.store = Some(store);
    }

    pub(crate) fn set_expect(&mut self, expect: Expect) {
        self.expect = Some(expect);
    }

    /// Returns the text as the script has it, with its semicolon.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text with $1, $2, ... for its variables: protocols extended and prepared.
    pub fn numbered(&self) -> &str {
        &self.numbered
    }

    /// Returns the variable of each parameter of [`numbered`](Self::numbered); a name that is there twice is two.
    ///
    /// [`Variables::write`] gives the text of a parameter; an undefined variable is a parameter that is NULL.
    pub fn parameters(&self) -> &[Slot] {
        &self.parameters
    }

    /// Returns where the result goes, if a `\gset` or `\aset` follows.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Returns what its rows have to be, if an `-- expect:` clause says so. Of a combined query that is its last result.
    pub fn expect(&self) -> Option<Expect> {
        self.expect
    }

    /// Appends the text with the values of its variables: protocol simple. Undefined variables stay as they are.
    ///
    /// Cost: copies of the text; no allocation where `out` has room.
    pub fn write(&self, variables: &Variables, out: &mut Vec<u8>) {
        let text = self.text.as_bytes();
        let mut copied = 0;
        for (range, slot) in &self.variables {
            out.extend_from_slice(&text[copied..range.start]);
            if !variables.write(*slot, out) {
                out.extend_from_slice(&text[range.clone()]);
            }
            copied = range.end;
        }
        out.extend_from_slice(&text[copied..]);
    }
}

impl Statement {
    /// Returns the character of [`text`](Self::text) that stands where `position` stands in what was sent: in what
    /// [`write`](Self::write) gives with these variables, or in [`numbered`](Self::numbered) without any. Both are counted
    /// from 1. Inside of a value it is the colon of the variable.
    pub fn position_of(&self, position: u32, sent: Option<&Variables>) -> u32 {
        let (mut passed, mut copied) = (1_usize, 0);
        let mut left = position.saturating_sub(1) as usize;
        let mut value = Vec::new();
        for (index, (range, slot)) in self.variables.iter().enumerate() {
            let before = self.text[copied..range.start].chars().count();
            if left < before {
                break;
            }
            (left, passed, copied) = (left - before, passed + before, range.end);
            let name = range.len();
            value.clear();
            let (length, is_replaced) = match sent {
                Some(variables) if variables.write(*slot, &mut value) => {
                    (String::from_utf8_lossy(&value).chars().count(), true)
                }
                Some(_) => (name, false),
                None => (format!("${}", index + 1).len(), true),
            };
            if left < length {
                return (passed + if is_replaced { 0 } else { left }) as u32;
            }
            (left, passed) = (left - length, passed + name);
        }
        u32::try_from(passed.saturating_add(left)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn variables_are_replaced_in_quotes_and_not_after_two_colons() {
        let mut names = Names::default();
        let text = "SELECT :a::int, ':b', :a + :c, x::a, ::a, a[1:2], :1";
        let statement = Statement::new(text.to_owned(), &mut names);
        assert_eq!(statement.numbered(), "SELECT $1::int, '$2', $3 + $4, x::a, ::a, a[1:2], :1");
        let mut variables = Variables::new(&names);
        for (name, value) in [("a", Value::Integer(-5)), ("b", Value::Double(0.5))] {
            variables.set(names.intern(name), value);
        }
        let mut out = Vec::new();
        statement.write(&variables, &mut out);
        let written = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(written, "SELECT -5::int, '0.5', -5 + :c, x::a, ::a, a[1:2], :1");
    }

    #[test]
    fn a_position_in_what_was_sent_is_found_in_the_text() {
        let mut names = Names::default();
        let text = "SÉLECT :long_name, :b, :c fehler";
        let statement = Statement::new(text.to_owned(), &mut names);
        let mut variables = Variables::new(&names);
        variables.set(names.intern("long_name"), Value::Integer(7));
        variables.set(names.intern("b"), Value::Integer(123_456_789_012));
        let mut out = Vec::new();
        statement.write(&variables, &mut out);
        let written = String::from_utf8_lossy(&out).into_owned();
        let place = |text: &str, what: &str| {
            let bytes = text.find(what).expect("it is there");
            text[..bytes].chars().count() as u32 + 1
        };
        for what in ["SÉL", ", :c", ":c", "c f", "fehler", "hler"] {
            assert_eq!(
                statement.position_of(place(&written, what), Some(&variables)),
                place(text, what),
                "{what}"
            );
        }
        assert_eq!(statement.position_of(place(&written, "456"), Some(&variables)), place(text, ":b"));
        for what in ["SÉL", "fehler"] {
            assert_eq!(
                statement.position_of(place(statement.numbered(), what), None),
                place(text, what),
                "{what}"
            );
        }
        assert_eq!(statement.position_of(place(statement.numbered(), "$3"), None), place(text, ":c"));
        assert_eq!(statement.position_of(u32::MAX, None), u32::MAX);
    }
}
