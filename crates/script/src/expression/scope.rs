//! What an evaluation reads and changes.

use crate::names::Names;
use crate::random::Generator;
use crate::value::Value;
use crate::variables::Variables;

/// What an evaluation reads and changes.
pub(crate) struct Scope<'a> {
    pub(crate) names: &'a Names,
    pub(crate) variables: &'a Variables,
    pub(crate) generator: &'a mut Generator,
    /// Empty before and after an evaluation.
    pub(crate) stack: &'a mut Vec<Value>,
    /// What `debug` was called with.
    pub(crate) debugged: &'a mut Vec<Value>,
}

/// Values of `debug` that one command keeps.
const DEBUGGED_MAX: usize = 1000;

impl Scope<'_> {
    pub(super) fn debug(&mut self, value: Value) {
        if self.debugged.len() < DEBUGGED_MAX {
            self.debugged.push(value);
        }
    }

    pub(super) fn top(&self) -> Value {
        self.stack.last().copied().unwrap_or(Value::Null)
    }
}
