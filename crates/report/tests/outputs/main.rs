//! Every output of made-up studies, and what must hold for any study.

#![allow(clippy::unwrap_used)]

mod ceilings;
mod comparisons;
mod designs;
mod effects;
mod exports;
mod hostile;
mod latencies;
mod limits;
mod looks;
mod made_up;
mod own;
mod pages;
mod studies;
mod tables;
mod verdicts;
