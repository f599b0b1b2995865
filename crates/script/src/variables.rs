//! The variables of one client.

use std::io::Write;

use crate::names::{Names, Slot, is_variable_name};
use crate::value::Value;

#[derive(Clone, Debug, Default)]
enum Variable {
    #[default]
    Undefined,
    Value(Value),
    /// From a definition or a column: statements get the text as it is, expressions the value if it has one.
    Text {
        text: String,
        value: Option<Value>,
    },
}

/// The variables of one client: one place for each name of its program.
#[derive(Clone, Debug)]
pub struct Variables {
    all: Vec<Variable>,
}

impl Variables {
    /// Makes room for all names; nothing is defined.
    pub(crate) fn new(names: &Names) -> Self {
        Self { all: vec![Variable::default(); names.len()] }
    }

    /// Sets a variable; a slot of other names is ignored.
    pub fn set(&mut self, slot: Slot, value: Value) {
        if let Some(variable) = self.all.get_mut(slot.0 as usize) {
            *variable = Variable::Value(value);
        }
    }

    /// Sets a variable to the text of a definition or of a column. Reuses the memory of the text before.
    pub fn set_text(&mut self, slot: Slot, text: &str) {
        let Some(variable) = self.all.get_mut(slot.0 as usize) else { return };
        let parsed = Value::read(text).ok();
        if let Variable::Text { text: old, value } = variable {
            old.clear();
            old.push_str(text);
            *value = parsed;
        } else {
            *variable = Variable::Text { text: text.to_owned(), value: parsed };
        }
    }

    /// Stores a column of a result under `prefix` and its name, as `\gset` does; a null column has no text.
    ///
    /// A name that no script uses is not kept. The error is the message of a name that no variable may have.
    pub fn store(&mut self, names: &Names, prefix: &str, column: &str, text: &str) -> Result<(), String> {
        let joined;
        let name = if prefix.is_empty() {
            column
        } else {
            joined = format!("{prefix}{column}");
            &joined
        };
        if !is_variable_name(name) {
            return Err(format!("error storing into variable {name}"));
        }
        if let Some(slot) = names.slot(name) {
            self.set_text(slot, text);
        }
        Ok(())
    }

    /// Is the variable defined?
    pub fn is_defined(&self, slot: Slot) -> bool {
        !matches!(self.variable(slot), Variable::Undefined)
    }

    /// Returns the value in an expression; the error is pgbench's message.
    pub fn value(&self, names: &Names, slot: Slot) -> Result<Value, String> {
        match self.variable(slot) {
            Variable::Value(value) | Variable::Text { value: Some(value), .. } => Ok(*value),
            Variable::Undefined => Err(format!("undefined variable \"{}\"", names.name(slot))),
            Variable::Text { text, value: None } => Err(Value::read(text)
                .err()
                .flatten()
                .unwrap_or_else(|| format!("malformed variable \"{}\" value: \"{text}\"", names.name(slot)))),
        }
    }

    /// Appends the text that a statement gets; false, and nothing is written, for an undefined variable.
    pub fn write(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.variable(slot) {
            Variable::Undefined => return false,
            Variable::Text { text, .. } => out.extend_from_slice(text.as_bytes()),
            Variable::Value(Value::Integer(value)) => write_integer(*value, out),
            // Writing to a vector does not fail.
            Variable::Value(value) => drop(write!(out, "{value}")),
        }
        true
    }

    fn variable(&self, slot: Slot) -> &Variable {
        self.all.get(slot.0 as usize).unwrap_or(&Variable::Undefined)
    }
}

/// Appends the decimal digits without the machinery of formatting: each statement has some.
fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_with_all_their_digits() {
        for value in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_integer(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), value.to_string());
        }
    }

    #[test]
    fn a_column_is_stored_under_its_prefix_and_only_where_a_script_uses_it() {
        let mut names = Names::default();
        let slot = names.intern("x_i3");
        let mut variables = Variables::new(&names);
        assert_eq!(variables.store(&names, "x_", "i3", "3"), Ok(()));
        assert_eq!(variables.value(&names, slot), Ok(Value::Integer(3)));
        assert_eq!(variables.store(&names, "", "unused", "3"), Ok(()));
        let error = variables.store(&names, "", "?column?", "1");
        assert_eq!(error, Err("error storing into variable ?column?".to_owned()));
    }
}
