//! Names rows by the key with which a person finds them, and shows values.

pub(super) mod code_page;
pub(super) mod columns;
pub(super) mod entries;
pub(super) mod folding;
mod order;
pub(super) mod rows;
pub(super) mod values;
