//! Evaluation: one pass over the operations, no allocation once the stack has grown.

use super::function::Function;
use super::operation::{Expression, Operation};
use super::scope::Scope;
use crate::value::Value;

impl Expression {
    /// Returns the value; the error is pgbench's message.
    pub(crate) fn evaluate(&self, scope: &mut Scope<'_>) -> Result<Value, String> {
        scope.stack.clear();
        let mut at = 0;
        while let Some(operation) = self.operations.get(at) {
            at += 1;
            match *operation {
                Operation::Push(value) => scope.stack.push(value),
                Operation::Load(slot) => scope.stack.push(scope.variables.value(scope.names, slot)?),
                Operation::Call(function, count) => call(function, count, scope)?,
                Operation::AndRight(length) => at += left_side(scope, false, length)?,
                Operation::OrRight(length) => at += left_side(scope, true, length)?,
                Operation::Boolean => {
                    if !matches!(scope.top(), Value::Null) {
                        scope.top().boolean()?;
                    }
                }
                Operation::Unless(length) => {
                    if !scope.stack.pop().unwrap_or(Value::Null).is_true() {
                        at += length as usize;
                    }
                }
                Operation::Jump(length) => at += length as usize,
            }
        }
        Ok(scope.stack.pop().unwrap_or(Value::Null))
    }
}

fn call(function: Function, count: u8, scope: &mut Scope<'_>) -> Result<(), String> {
    if function == Function::Debug {
        // The value stays where it is.
        scope.debug(scope.top());
        return Ok(());
    }
    let from = scope.stack.len().saturating_sub(usize::from(count));
    let result = function.call(scope.stack.get(from..).unwrap_or_default(), scope.generator)?;
    scope.stack.truncate(from);
    scope.stack.push(result);
    Ok(())
}

/// Decides by the left side of AND or OR whether the right side is evaluated; returns how far to jump.
fn left_side(scope: &mut Scope<'_>, decides: bool, length: u32) -> Result<usize, String> {
    let left = scope.top();
    if left == Value::Null || left.boolean()? == decides {
        return Ok(length as usize);
    }
    scope.stack.pop();
    Ok(0)
}
