//! Row numbers of what a results file holds.

use serde::{Deserialize, Serialize};

/// Row number of a study in its results file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StudyId(pub i64);

/// Row number of a baseline in its results file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IoTableId(pub i64);
