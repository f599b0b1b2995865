//! The outcome of a study: in sentences ([`verdict`](crate::summary::StudySummary::verdict)), as the [`Answer`] at the
//! head of a page, and as sections.

mod answer;
mod contrasts;
mod difference;
mod phrase;
mod sections;
pub(crate) mod verdict;

pub use answer::Answer;
pub use phrase::phrase;
pub(crate) use sections::{Destination, sections};
