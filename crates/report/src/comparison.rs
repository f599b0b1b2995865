//! Two sides held against each other: what changed around them first, then every pair of configurations with its
//! difference, its certainty and where the waiting went.
//!
//! The view model of `fathom compare`; text, Markdown, HTML and JSON show nothing that is not here.

mod changed;
mod changes;
mod compared;
mod pair;
mod pairs;
mod plans;
mod sections;
mod sentences;
mod side;
mod studies;
mod studies_sections;
mod summary;
mod texts;
mod work;

pub use changed::{Changed, Part};
pub(crate) use changes::changes;
pub use compared::{Options, compare, compare_all};
pub use pair::{Pair, PlanState, WaitShare};
pub(crate) use pairs::direction;
pub(crate) use sections::{sections, verdict_words};
pub(crate) use side::restrict_to_cell;
pub use side::{Side, restrict};
pub use studies::{BestCase, InStudy, STUDIES_VERSION, StudiesRow, StudiesSummary, studies};
pub(crate) use studies_sections::studies_sections;
pub use summary::{COMPARISON_VERSION, ComparisonSummary, SideView};
pub use work::OtherWork;
