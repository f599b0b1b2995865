//! The operations of an expression.

use super::function::Function;
use crate::names::Slot;
use crate::value::Value;

/// An expression as operations in the order of their evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expression {
    pub(super) operations: Vec<Operation>,
}

/// One step of an evaluation. Jumps are relative, so that operands can change places.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Pushes a constant.
    Push(Value),
    /// Pushes a variable.
    Load(Slot),
    /// Replaces the arguments by the result.
    Call(Function, u8),
    /// The left side of AND: keeps false or null and jumps over the right side, removes true.
    AndRight(u32),
    /// The left side of OR: keeps true or null and jumps over the right side, removes false.
    OrRight(u32),
    /// The right side of AND and OR must be boolean or null.
    Boolean,
    /// Removes a condition and jumps where it is not true.
    Unless(u32),
    /// Jumps.
    Jump(u32),
}
