//! The core of the consistency checker: reads database files, verifies what their format requires, names what is damaged.
//! Engines are crates of their own and give a value of [`Engine`].
//!
//! ```text
//! anchor (header, log, locks) -> map (roots, inner pages, free list) -> one pass in physical order
//!   -> chains, unused pages, sums -> second pass over objects whose sums differ -> accounting -> report
//! ```
//!
//! Files are opened for reading only, always. A finding is made only after the page was read a second time with the
//! same bytes. Silence means something only when the accounting is complete: pages = clean + damaged + skipped +
//! unreadable + not reached, and bytes read = bytes expected.
//!
//! | module | what it has |
//! |---|---|
//! | [`rule`] | the table of all rules; `fathom explain` and docs/check/ come from it |
//! | [`options`] | level, workers, limits |
//! | [`findings`] | collecting findings under a cap, with the count kept |
//! | [`advice`] | causes before consequences, and next steps that are safe in the state that was found |
//! | [`matching`] | two sides that must state the same facts: the hash of a fact, sums, what has no counterpart |
//! | [`stopped`] | what is kept of a check that was stopped, so that it can be resumed |
//! | [`pass`] | one pass over files: claims, workers, stop, time limit, rate limit, counters |
//! | [`progress`] | how far a check is |
//! | [`decode`] | what a page is, by its number and by its bytes |
//! | [`drill`] | damage in a copy: what all engines have in common |
//! | [`engine`] | an engine as a value, what a path is, and what an engine can do |
//! | [`structure`] | how tables and indexes lie on their pages: what all engines have in common |

#![forbid(unsafe_code)]

pub mod advice;
pub mod decode;
pub mod drill;
pub mod engine;
pub mod evidence;
pub mod findings;
pub mod gaps;
pub mod holes;
pub mod matching;
pub mod options;
pub mod pass;
pub mod progress;
pub mod rule;
pub mod stopped;
pub mod structure;

pub use engine::Engine;
