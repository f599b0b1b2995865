//! What is said, asked and refused before the first run of a study.

mod confirmation;
mod decisions;
mod designs;
mod permission;
